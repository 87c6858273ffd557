package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/parallel"
)

// ScaledOptions sets a generated graph of any size, up to that of ogbn-products and beyond. A zero field takes its
// default; for a Spread of 0 write −0, math.Copysign(0, -1). The name of the dataset is "synthetic:NODES", followed by
// settings such as ",degree=50,classes=46": see ParseScaled.
type ScaledOptions struct {
	Nodes     int     // enough for 5 in the smallest class
	Seed      uint64  // default 0
	Classes   int     // 1 to 65536; default 20, or fewer for at least 100 nodes per class
	Degree    float64 // mean degree with repeats, in (0, half of the smallest class]; default 10, or the most
	Imbalance float64 // size of the largest class over the smallest, in [1, 1e5]; default 10
	Homophily float64 // share of draws within a class, in (0, 1], before repeats are dropped; default 0.8
	Spread    float64 // standard deviation of the log of a node's attractiveness, in [0, 2]; default 0.8
	Columns   int     // dense features, 1 to 65536; default 64
	Signal    float64 // distance of a class's center from 0, in deviations of its nodes, in (0, 100]; default 1.2
}

func (o *ScaledOptions) settings() []setting {
	return []setting{{"seed", &o.Seed}, {"classes", &o.Classes}, {"degree", &o.Degree}, {"imbalance", &o.Imbalance},
		{"homophily", &o.Homophily}, {"spread", &o.Spread}, {"columns", &o.Columns}, {"signal", &o.Signal}}
}

// maxClasses bounds the classes of a generated graph.
const maxClasses = 1 << 16

func (o ScaledOptions) withDefaults() ScaledOptions {
	o = fields.Or(o, ScaledOptions{
		Classes: max(2, min(20, o.Nodes/100)), Imbalance: 10, Homophily: 0.8, Spread: 0.8, Columns: 64, Signal: 1.2,
	})
	degree := 10.0
	if o.Classes >= 1 && o.Classes <= min(o.Nodes, maxClasses) { // or the sizes alone might fill the memory
		degree = min(degree, float64(max(2, slices.Min(o.sizes())))/2)
	}
	return fields.Or(o, ScaledOptions{Degree: degree})
}

// Validate returns an error that names every field out of range.
func (o ScaledOptions) Validate() error {
	o = o.withDefaults()
	bad := check.In("datasets: scaled synthetic options")
	bad.That(o.Nodes >= 1 && o.Nodes <= math.MaxInt32, "Nodes", o.Nodes, fmt.Sprintf("1 to %d", math.MaxInt32))
	bad.That(o.Classes >= 1 && o.Classes <= maxClasses, "Classes", o.Classes, fmt.Sprintf("1 to %d", maxClasses))
	bad.That(o.Imbalance >= 1 && o.Imbalance <= 1e5, "Imbalance", o.Imbalance, "1 to 100000")
	checkPlanted(bad, o.Homophily, o.Spread)
	bad.That(o.Columns >= 1 && o.Columns <= 1<<16, "Columns", o.Columns, fmt.Sprintf("1 to %d", 1<<16))
	bad.That(o.Signal > 0 && o.Signal <= 100, "Signal", o.Signal, "above 0 and at most 100")
	bad.That(o.Degree > 0 && o.Degree <= float64(o.Nodes), "Degree", o.Degree, "above 0 and at most Nodes")
	if bad.Err() != nil {
		return bad.Err()
	}
	smallest := slices.Min(o.sizes())
	bad.That(smallest >= 5, "Nodes", o.Nodes,
		fmt.Sprintf("5 in the smallest of %d classes, which gets %d with Imbalance %g",
			o.Classes, smallest, o.Imbalance))
	bad.That(smallest < 5 || o.Degree <= float64(smallest)/2, "Degree", o.Degree,
		fmt.Sprintf("at most half the nodes of the smallest class, which has %d", smallest))
	return bad.Err()
}

// The names of generated datasets: the small one, and what begins those of scaled ones.
const (
	syntheticName = "synthetic"
	scaledPrefix  = syntheticName + ":"
)

// ParseScaled reads a name such as "synthetic:100000" or "synthetic:2449029,degree=50.5,classes=46,imbalance=1000": the
// number of nodes, then other fields of ScaledOptions, in lower case and any order. Its error says what is wrong with
// the name; Validate checks the values.
func ParseScaled(name string) (ScaledOptions, error) {
	var o ScaledOptions
	rest, ok := strings.CutPrefix(name, scaledPrefix)
	if !ok {
		return o, fmt.Errorf("datasets: %q does not begin with %s", name, scaledPrefix)
	}
	parts := strings.Split(rest, ",")
	var err error
	if o.Nodes, err = strconv.Atoi(parts[0]); err != nil || o.Nodes < 1 {
		return o, fmt.Errorf("datasets: %s: %q is not a number of nodes: write %s100000", name, parts[0], scaledPrefix)
	}
	err = readSettings(name, parts[1:], o.settings())
	return o, err
}

// readSettings reads what follows in a name: settings as name=value, each once.
func readSettings(name string, parts []string, left []setting) error {
	var names []string
	for _, s := range left {
		names = append(names, s.name)
	}
	for _, part := range parts {
		key, value, _ := strings.Cut(part, "=")
		k := slices.IndexFunc(left, func(s setting) bool { return s.name == key })
		if k < 0 {
			last := len(names) - 1
			return fmt.Errorf("datasets: %s: %q is unknown or comes twice: choose %s or %s, each as name=value", name,
				key, strings.Join(names[:last], ", "), names[last])
		}
		if err := left[k].read(value); err != nil {
			return fmt.Errorf("datasets: %s: %w", name, err)
		}
		left = slices.Delete(left, k, k+1)
	}
	return nil
}

func scaledEntry(name string) (Entry, error) {
	opt, err := ParseScaled(name)
	if err != nil {
		return Entry{}, err
	}
	full := opt.withDefaults()
	return Entry{
		Name: opt.Name(), Title: "generated graph", License: "none needed",
		True: Stats{Nodes: int64(full.Nodes), Columns: full.Columns, Classes: full.Classes, Tasks: full.Classes / 2},
	}, opt.Validate()
}

// Name returns the name that ParseScaled reads: the size, and the fields that differ from their defaults.
func (o ScaledOptions) Name() string {
	full, plain := o.withDefaults(), ScaledOptions{Nodes: o.Nodes}.withDefaults()
	return scaledPrefix + strconv.Itoa(o.Nodes) + changedSettings(full.settings(), plain.settings())
}

// sizes returns the classes' sizes, smallest first: a geometric progression from 1 to Imbalance.
func (o ScaledOptions) sizes() []int {
	weight := make([]float64, o.Classes)
	for rank := range weight {
		weight[rank] = math.Pow(o.Imbalance, float64(rank)/float64(max(1, o.Classes-1)))
	}
	sizes := make([]int, o.Classes)
	before := 0
	for rank, share := range cumulate(weight) {
		end := int(math.Round(share * float64(o.Nodes)))
		sizes[rank], before = end-before, end
	}
	return sizes
}

// Scaled generates a graph of any size. Planted classes have unequal sizes, in random order. Nodes·Degree/2 edges are
// drawn: one end by attractiveness (log-normal), the other by attractiveness within the same class with probability
// Homophily, else within the class before or after it; repeats and self-loops are dropped. Features are dense: a random
// center of length Signal for each class, and a standard normal for each node about it. Equal options give equal graphs
// on any number of cores.
//
// O(Nodes·Columns + edges) time; memory of the result and 8 bytes per edge. Every draw takes constant time, by alias
// tables (Walker 1977), and edges are sorted by counting.
//
// It returns an error if an option is out of range, or if the graph does not fit into the memory that is free.
func Scaled(opt ScaledOptions) (*Dataset, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if err := opt.room(); err != nil {
		return nil, err
	}
	labels := scaledLabels(opt)
	sum := sha256.Sum256(fmt.Appendf(nil, "synthetic-scaled 1 %+v", opt))
	ds := &Dataset{
		Name:       opt.Name(),
		Labels:     labels,
		NumClasses: opt.Classes,
		Checksum:   hex.EncodeToString(sum[:]),
		Synthetic:  true,
	}
	ds.Graph.Adjacency = newBlockModel(opt, labels).edges(func(chunk int) *rand.Rand {
		return generator(opt.Seed, fmt.Sprintf("scaled/edges/%d", chunk))
	})
	ds.Graph.Features = gaussianFeatures(labels, opt)
	return ds, nil
}

func (o ScaledOptions) room() error {
	edges := o.Degree / 2 // a node: a pair of ends while they are drawn, then an entry at either end
	return room(fmt.Sprintf("Nodes %d, Columns %d and Degree %g", o.Nodes, o.Columns, o.Degree),
		float64(o.Nodes)*(4*float64(o.Columns)+16*edges+32))
}

func scaledLabels(opt ScaledOptions) []int32 {
	rng := generator(opt.Seed, "scaled/labels")
	class := rng.Perm(opt.Classes)
	labels := make([]int32, 0, opt.Nodes)
	for rank, size := range opt.sizes() {
		labels = append(labels, slices.Repeat([]int32{int32(class[rank])}, size)...)
	}
	rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

type blockModel struct {
	opt     ScaledOptions
	members [][]int32 // nodes of each class
	within  []alias   // by attractiveness, among a class's members
	class   alias     // by the attractiveness of its members together
}

func newBlockModel(opt ScaledOptions, labels []int32) *blockModel {
	m := &blockModel{opt: opt, members: membersByClass(labels, opt.Classes), within: make([]alias, opt.Classes)}
	rng := generator(opt.Seed, "scaled/attractiveness")
	together := make([]float64, opt.Classes)
	for c := range opt.Classes {
		weight := make([]float64, len(m.members[c]))
		for k := range weight {
			weight[k] = math.Exp(opt.Spread * rng.NormFloat64())
			together[c] += weight[k]
		}
		m.within[c] = newAlias(weight)
	}
	m.class = newAlias(together)
	return m
}

// chunkEdges are drawn from one random stream, so that the graph does not depend on the number of cores.
const chunkEdges = 1 << 15

// edges draws all edges, chunks of them in parallel.
func (m *blockModel) edges(rng func(chunk int) *rand.Rand) graph.Adjacency {
	want := int(math.Round(float64(m.opt.Nodes) * m.opt.Degree / 2))
	pairs := make(graph.PairList, 2*want)
	parallelChunks(want, chunkEdges, func(chunk, first, end int) {
		r := rng(chunk)
		for k := first; k < end; k++ {
			pairs[2*k], pairs[2*k+1] = m.draw(r)
		}
	})
	a, _ := graph.Build(m.opt.Nodes, pairs, false)
	return a
}

func (m *blockModel) draw(rng *rand.Rand) (i, j int32) {
	c := m.class.draw(rng)
	other := c
	if classes := m.opt.Classes; classes > 1 && rng.Float64() >= m.opt.Homophily {
		other = (c + 1 + rng.IntN(2)*(classes-2)) % classes // the class after or before
	}
	return m.member(c, rng), m.member(other, rng)
}

func (m *blockModel) member(class int, rng *rand.Rand) int32 {
	return m.members[class][m.within[class].draw(rng)]
}

// alias is a discrete distribution with draws in constant time: item k is kept with probability keep[k], else replaced
// by other[k] (Walker 1977; tables built in linear time as in Vose 1991).
type alias struct {
	keep  []float32
	other []int32
}

func newAlias(weight []float64) alias {
	n := len(weight)
	a := alias{keep: make([]float32, n), other: make([]int32, n)}
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	scaled := make([]float64, n) // mean 1
	queue := make([]int32, n)    // items below the mean grow from the front, others from the back
	low, high := 0, n
	for k, w := range weight {
		scaled[k] = w * float64(n) / sum
		if scaled[k] < 1 {
			queue[low] = int32(k)
			low++
		} else {
			high--
			queue[high] = int32(k)
		}
	}
	for low > 0 && high < n {
		poor, rich := queue[low-1], queue[high]
		a.keep[poor], a.other[poor] = float32(scaled[poor]), rich
		low--
		if scaled[rich] -= 1 - scaled[poor]; scaled[rich] < 1 { // now it is poor itself
			high++
			queue[low] = rich
			low++
		}
	}
	for _, k := range slices.Concat(queue[:low], queue[high:]) { // what rounding left over
		a.keep[k], a.other[k] = 1, k
	}
	return a
}

// draw takes one random number: its product with n has the item above the point and the toss below it.
func (a alias) draw(rng *rand.Rand) int {
	item, toss := bits.Mul64(rng.Uint64(), uint64(len(a.keep)))
	if float32(toss>>40)/(1<<24) < a.keep[item] {
		return int(item)
	}
	return int(a.other[item])
}

// chunkRows are drawn from one random stream.
const chunkRows = 1 << 10

func gaussianFeatures(labels []int32, opt ScaledOptions) graph.Features {
	center := centers(opt.Classes, opt.Columns, opt.Signal, generator(opt.Seed, "scaled/centres"))
	out := graph.Features{Rows: len(labels), Cols: opt.Columns, Dense: make([]float32, len(labels)*opt.Columns)}
	parallelChunks(len(labels), chunkRows, func(chunk, first, end int) {
		rng := generator(opt.Seed, fmt.Sprintf("scaled/features/%d", chunk))
		for i := first; i < end; i++ {
			_, row := out.Row(i)
			for k, mean := range center[labels[i]] {
				row[k] = mean + float32(rng.NormFloat64())
			}
		}
	})
	return out
}

func centers(n, columns int, distance float64, rng *rand.Rand) [][]float32 {
	out := make([][]float32, n)
	for c := range out {
		out[c] = make([]float32, columns)
		square := 0.0
		for k := range out[c] {
			v := rng.NormFloat64()
			out[c][k] = float32(v)
			square += v * v
		}
		for k := range out[c] {
			out[c][k] *= float32(distance / math.Sqrt(square))
		}
	}
	return out
}

// parallelChunks cuts n items into chunks of equal size, the last perhaps smaller, and deals them out to all cores.
func parallelChunks(n, size int, work func(chunk, first, end int)) {
	chunks := (n + size - 1) / size
	parallel.Rows(chunks, n*64, func(first, end int) {
		for c := first; c < end; c++ {
			work(c, c*size, min(n, (c+1)*size))
		}
	})
}
