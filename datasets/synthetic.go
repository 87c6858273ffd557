package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/fields"
)

// SyntheticOptions sets the generated citation-like graph. A zero field takes its default; for a Spread of 0 write −0,
// math.Copysign(0, -1).
type SyntheticOptions struct {
	Seed       uint64  // default 0
	Nodes      int     // at least 10 for each class; default 600
	Classes    int     // 1 to 65536; default 8
	Imbalance  float64 // size of the largest class over the smallest, in [1, 10]; default 3
	Degree     float64 // mean degree, above 0 and at most Nodes/(8·Classes); default 5
	Homophily  float64 // share of draws within a class, in (0, 1], before repeats are dropped; default 0.8
	Spread     float64 // standard deviation of the log of a node's attractiveness, in [0, 2]; default 0.8
	Vocabulary int     // feature columns, at least 8 for each class; default 256
	Words      int     // mean words a document, 1 to 10000; default 30
	Background float64 // share of words that tell nothing of the class, in (0, 1); default 0.55
}

// DefaultSyntheticOptions returns the settings of the default stream: 4 tasks of 2 classes, small enough for pure Go.
func DefaultSyntheticOptions() SyntheticOptions {
	return SyntheticOptions{Nodes: 600, Classes: 8, Imbalance: 3, Degree: 5, Homophily: 0.8, Spread: 0.8,
		Vocabulary: 256, Words: 30, Background: 0.55}
}

func (o SyntheticOptions) withDefaults() SyntheticOptions {
	return fields.Or(o, DefaultSyntheticOptions())
}

// Validate returns an error that names every field out of range.
func (o SyntheticOptions) Validate() error {
	o = o.withDefaults()
	classes := min(max(1, o.Classes), maxClasses)
	degree, words := float64(o.Nodes)/float64(8*classes), 4*topicsPerClass*classes
	bad := check.In("datasets: synthetic options")
	bad.That(o.Classes >= 1 && o.Classes <= maxClasses, "Classes", o.Classes, fmt.Sprintf("1 to %d", maxClasses))
	bad.That(o.Nodes >= 10*classes && o.Nodes <= math.MaxInt32, "Nodes", o.Nodes,
		fmt.Sprintf("at least 10 per class and at most %d", math.MaxInt32))
	bad.That(o.Imbalance >= 1 && o.Imbalance <= 10, "Imbalance", o.Imbalance, "1 to 10")
	bad.That(o.Degree > 0 && o.Degree <= degree, "Degree", o.Degree, "above 0 and at most Nodes/(8·Classes)")
	checkPlanted(bad, o.Homophily, o.Spread)
	bad.That(o.Vocabulary >= words && o.Vocabulary <= math.MaxInt32, "Vocabulary", o.Vocabulary,
		fmt.Sprintf("at least %d per class and at most %d", 4*topicsPerClass, math.MaxInt32))
	bad.That(o.Words >= 1 && o.Words <= 10000, "Words", o.Words, "1 to 10000")
	bad.That(o.Background > 0 && o.Background < 1, "Background", o.Background, "between 0 and 1")
	return bad.Err()
}

func checkPlanted(bad *check.List, homophily, spread float64) {
	bad.That(homophily > 0 && homophily <= 1, "Homophily", homophily, "above 0 and at most 1")
	bad.That(spread >= 0 && spread <= 2, "Spread", spread, "0 to 2")
}

// topicsPerClass is how many word topics belong to each class.
const topicsPerClass = 2

// Synthetic generates a graph like a small citation network: planted classes of unequal size; edges that prefer the
// same class, then the two related ones, between nodes of log-normal attractiveness (a degree-corrected block model);
// and word counts, partly from a background that all classes share, partly from the topics of the node's class, one of
// which the next class shares. Equal options give equal graphs. O(Nodes·Words + E log Nodes) time.
//
// At the default options and seeds 0 to 2, the converged probe of package continual finds 76 to 84 % Class-IL after the
// last task in the words alone, and 94 to 97 % in words propagated over two hops.
//
// It returns an error if an option is out of range, or if the graph does not fit into the memory that is free.
func Synthetic(opt SyntheticOptions) (*Dataset, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	if err := opt.room(); err != nil {
		return nil, err
	}
	labels := syntheticLabels(opt)
	sum := sha256.Sum256(fmt.Appendf(nil, citationName+" 1 %+v", opt))
	return &Dataset{
		Name:       opt.Name(),
		Graph:      graph.Graph{Adjacency: syntheticEdges(opt, labels), Features: syntheticWords(opt, labels)},
		Labels:     labels,
		NumClasses: opt.Classes,
		Checksum:   hex.EncodeToString(sum[:]),
		Synthetic:  true,
	}, nil
}

func (o SyntheticOptions) room() error {
	words := 16 + 8*topicsPerClass*float64(o.Classes) // a word: its share of the background, its place for each topic
	edges := o.Degree / 2                             // a node: an entry of a map, and one at either end
	return room(fmt.Sprintf("Nodes %d, Classes %d, Degree %g, Vocabulary %d and Words %d", o.Nodes, o.Classes, o.Degree,
		o.Vocabulary, o.Words),
		float64(o.Vocabulary)*words+float64(o.Nodes)*(8*float64(o.Words)+40*edges+32))
}

// syntheticLabels gives the class sizes a geometric progression from 1 to Imbalance; classes and nodes are in random
// order.
func syntheticLabels(opt SyntheticOptions) []int32 {
	rng := generator(opt.Seed, "synthetic/labels")
	weight := make([]float64, opt.Classes)
	for rank, c := range rng.Perm(opt.Classes) {
		weight[c] = math.Pow(opt.Imbalance, float64(rank)/float64(max(1, opt.Classes-1)))
	}
	edge := cumulate(weight)
	labels := make([]int32, opt.Nodes)
	for i := range labels {
		labels[i] = int32(edge.at((float64(i) + 0.5) / float64(opt.Nodes)))
	}
	rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

// syntheticEdges draws edges until there are Nodes·Degree/2 different ones: one end by attractiveness, the other by
// attractiveness within the same class with probability Homophily, else within the class before or after it.
func syntheticEdges(opt SyntheticOptions, labels []int32) graph.Adjacency {
	rng := generator(opt.Seed, "synthetic/edges")
	all := make([]float64, opt.Nodes)
	members := make([][]int32, opt.Classes)
	weight := make([][]float64, opt.Classes)
	for i, c := range labels {
		all[i] = math.Exp(opt.Spread * rng.NormFloat64())
		members[c] = append(members[c], int32(i))
		weight[c] = append(weight[c], all[i])
	}
	anyone := cumulate(all)
	within := make([]cumulative, opt.Classes)
	for c := range within {
		within[c] = cumulate(weight[c])
	}

	want := int(math.Round(float64(opt.Nodes) * opt.Degree / 2))
	seen := make(map[[2]int32]bool, want)
	var src, dst []int32
	for tries := 0; len(src) < want && tries < 20*want; tries++ { // the bound only matters for an extreme Spread
		i := int32(anyone.draw(rng))
		c := labels[i]
		var j int32
		if opt.Classes == 1 || rng.Float64() < opt.Homophily {
			j = members[c][within[c].draw(rng)]
		} else {
			// the class before or after, which shares a topic
			other := (int(c) + 1 + rng.IntN(2)*(opt.Classes-2)) % opt.Classes
			j = members[other][within[other].draw(rng)]
		}
		pair := [2]int32{min(i, j), max(i, j)}
		if i != j && !seen[pair] {
			seen[pair] = true
			src, dst = append(src, i), append(dst, j)
		}
	}
	a, _ := graph.Build(opt.Nodes, graph.Coordinates{Src: src, Dst: dst}, false)
	return a
}

// syntheticWords draws the words of each node. The vocabulary has a Zipf background; a topic is a few random words. A
// class uses its own topics and one of the next class equally often.
func syntheticWords(opt SyntheticOptions, labels []int32) graph.Features {
	rng := generator(opt.Seed, "synthetic/words")
	zipf := make([]float64, opt.Vocabulary)
	for w := range zipf {
		zipf[w] = 1 / float64(w+1)
	}
	background := cumulate(zipf)
	topics := make([][]int, opt.Classes*topicsPerClass)
	for t := range topics {
		topics[t] = rng.Perm(opt.Vocabulary)[:opt.Vocabulary/8]
	}

	out := graph.Features{Rows: opt.Nodes, Cols: opt.Vocabulary, Offsets: make([]int64, opt.Nodes+1)}
	for i, c := range labels {
		length := 1 + int(float64(opt.Words)*rng.ExpFloat64()*0.5+float64(opt.Words)*0.5)
		words := make([]int, length)
		for k := range words {
			if rng.Float64() < opt.Background {
				words[k] = background.draw(rng)
				continue
			}
			own := int(c) * topicsPerClass
			topic := topics[(own+rng.IntN(topicsPerClass+1))%len(topics)]
			words[k] = topic[rng.IntN(len(topic))]
		}
		slices.Sort(words)
		for k := 0; k < length; {
			first := k
			for k++; k < length && words[k] == words[first]; k++ {
			}
			out.Columns = append(out.Columns, int32(words[first]))
			out.Values = append(out.Values, float32(k-first))
		}
		out.Offsets[i+1] = int64(len(out.Values))
	}
	return out
}

// cumulative is a discrete distribution: entry i is the probability of all items up to i.
type cumulative []float64

func cumulate(weight []float64) cumulative {
	sum := 0.0
	c := make(cumulative, len(weight))
	for i, w := range weight {
		sum += w
		c[i] = sum
	}
	for i := range c {
		c[i] /= sum
	}
	return c
}

func (c cumulative) draw(rng *rand.Rand) int { return c.at(rng.Float64()) }

// at returns the item at a quantile in [0, 1).
func (c cumulative) at(q float64) int {
	return min(sort.Search(len(c), func(i int) bool { return c[i] > q }), len(c)-1)
}
