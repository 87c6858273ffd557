package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/parallel"
)

// A stand-in has the edges and labels of a benchmark and generated features, for benchmarks whose features are not at
// hand. It is a dataset of its own, as figures on it say nothing of figures on the benchmark: Synthetic is set, a note
// says what is generated, and it never bears the benchmark's name.

func standIns(benchmarks []Entry) []Entry {
	of := func(name string) Entry {
		return benchmarks[slices.IndexFunc(benchmarks, func(e Entry) bool { return e.Name == name })]
	}
	cora, arxiv := of("cora-full"), of("ogbn-arxiv")
	cora.Name, cora.StandIn = "corafull-topology", cora.Name
	cora.Title = "stand-in: CoraFull's edges and labels, generated features"
	cora.Files = []File{{Name: "cora_full_topology.npz", Copies: []Copy{{
		"cd28734e6e354fbdc917af999b51d889f97ff106672559bffd0ab4005771b1c5",
		"AM-GCN's copy of graph2gauss's data, without features",
		"1642de6935133b6ec58629d54298bb761955bf46e4fe246b7b0f27c1f8529df8"}}}}
	cora.Note = "a stand-in, not CoraFull: the features are a topic model's, 8,710 wide, 8 to 182 non-zeros per " +
		"row, L2 norm 1. Where cora_full_topology.npz is absent, edges and labels are taken from cora_full.npz."
	arxiv.Name, arxiv.StandIn, arxiv.Recipe = "arxiv-topology", arxiv.Name, RecipeArxivStandIn
	arxiv.Title = "stand-in: ogbn-arxiv's edges and labels, generated features"
	arxiv.Note = "a stand-in, not ogbn-arxiv: the 128 features of a node are drawn about a center of its class, " +
		"mixed with its neighbors'. The folder ogbn_arxiv may lack node-feat.csv.gz."
	arxiv.Files = slices.Clone(arxiv.Files)
	arxiv.Files[0].Copies = []Copy{{
		"685768f9670113b134a4533cb1bdc7e829227986f3a7a0aee2b5dffd8b30507c",
		"OGB's folder without features",
		"895acd2a31fba153fa8ae8b0e8bcc61fef138e25a60df67bcf5d23a92ba8427f"}}
	all := []Entry{cora, arxiv}
	for k := range all {
		all[k].Paper, all[k].Appendix, all[k].PaperName = Stats{}, Stats{}, "" // the paper has no figures of these
	}
	return all
}

// openStandIn reads the graph and the labels that a stand-in takes over, and generates its features.
func (s Store) openStandIn(e Entry, opt Options) (*Dataset, error) {
	ds, err := s.topology(e, opt.Direction)
	if err != nil {
		return nil, err
	}
	ds.Name, ds.Synthetic = e.Name, true
	ds.Checksum, ds.Content = e.standInSum(ds.Checksum), e.standInSum(ds.Content)
	ds.Notes = append(ds.Notes, fmt.Sprintf("the features are generated: this is a stand-in for %s, "+
		"and figures on it are not figures on %s", e.StandIn, e.StandIn))
	if opt.TopologyOnly {
		return ds, nil
	}
	undirected := *ds // the features are the same whichever way the edges are read
	undirected.Graph.Adjacency = ds.Graph.Adjacency.Undirected()
	if ds.Graph.Features, err = e.standInFeatures(&undirected); err != nil {
		return nil, err
	}
	return ds, ds.Graph.Features.NormalizeInPlace(opt.Normalization)
}

// standInSum is the checksum or the content of a stand-in, given that of what it was made from. The generated features
// do not enter: their last bits depend on the kind of CPU.
func (e Entry) standInSum(of string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "stand-in 1 %s %s 0", e.Name, of))
	return hex.EncodeToString(sum[:])
}

// topology reads the own files of a stand-in, or else those of the benchmark.
func (s Store) topology(e Entry, direction Direction) (*Dataset, error) {
	path := s.find(e)
	if path == "" {
		of, err := Lookup(e.StandIn)
		if err != nil {
			return nil, err
		}
		if path = s.find(of); path == "" {
			return nil,
				fmt.Errorf("datasets: %s needs %s, %s: fetch %s with %s; "+
					"or set the environment variable SAOT_DATA or --data to the folder that holds one: %w",
					e.Name, alternatives(e, of), s.without("of which none is"), of.Files[0].Name, s.getting(of),
					fs.ErrNotExist)
		}
		e = of
	}
	ds, err := e.Layout.load(path, Options{TopologyOnly: true, Direction: direction})
	if err != nil {
		return nil, err
	}
	return ds, s.compare(e, path, ds)
}

func alternatives(e, of Entry) string {
	words := []string{e.Files[0].Name, of.Files[0].Name}
	if of.Folder != "" {
		words = append(words, "the folder "+of.Folder)
	}
	return strings.Join(slices.Compact(words), " or ")
}

func (e Entry) standInFeatures(ds *Dataset) (graph.Features, error) {
	rng := generator(0, "stand-in/"+e.Name)
	switch e.Name {
	case "corafull-topology":
		return documents(ds, rng), nil
	case "arxiv-topology":
		return mixedFeatures(ds, rng), nil
	}
	return graph.Features{}, fmt.Errorf("datasets: %s has no features to generate", e.Name)
}

// The topic model of corafull-topology. Its constants are fitted to the 44 known rows of CoraFull (classes 68 and 69,
// from the repository of TRACE): 8 to 182 non-zeros per row, their number with log-mean 3.96 and log-deviation 0.51;
// the two most frequent words in half of the rows; TF-IDF weights, a row summing to 0.58 to 0.96 of the most that its
// norm of 1 allows, 0.83 on average.
const (
	documentColumns = 8710
	leastWords      = 8
	mostWords       = 182
	logWords        = 3.96 // mean of the log of the number of words
	logWordsSpread  = 0.51
	zipfShift       = 10  // the word of rank r, from 0, is drawn in proportion to 1/(r + 1 + zipfShift)
	topicWords      = 300 // words of a topic
	topicShare      = 0.2 // share of draws from topics rather than the background
	classesPerField = 5   // classes share the topic of a field with others; a paper speaks of both alike
	cited           = 0.3 // share of the topic's draws that follow a neighbor's class
	again           = 0.3 // chance that a word is said once more
)

// documents draws the words of every node and weighs them by TF-IDF, tf·ln((N+1)/df), in rows of L2 norm 1. Words come
// from a Zipf background that all classes share, from the topic of the class or field of the node, or from that of a
// neighbor. O(non-zeros · log columns) time.
func documents(ds *Dataset, rng *rand.Rand) graph.Features {
	m := newTopicModel(ds, rng)
	n := ds.Graph.NumNodes()
	out := graph.Features{Rows: n, Cols: documentColumns, Offsets: make([]int64, n+1)}
	frequency := make([]int, documentColumns)
	for i := range n {
		for _, w := range m.words(i, rng) {
			out.Columns = append(out.Columns, w.column)
			out.Values = append(out.Values, float32(w.count))
			frequency[w.column]++
		}
		out.Offsets[i+1] = int64(len(out.Values))
	}
	for k, c := range out.Columns {
		out.Values[k] *= float32(math.Log(float64(n+1) / float64(frequency[c])))
	}
	for i := range n {
		_, row := out.Row(i)
		graph.L2.Scale(row)
	}
	return out
}

type topicModel struct {
	ds         *Dataset
	background cumulative
	column     []int     // of the background's words by rank
	topics     [][]int32 // of the classes, then of the fields
	field      []int     // of each class, among the topics
}

func newTopicModel(ds *Dataset, rng *rand.Rand) *topicModel {
	zipf := make([]float64, documentColumns)
	for r := range zipf {
		zipf[r] = 1 / float64(r+1+zipfShift)
	}
	fields := (ds.NumClasses + classesPerField - 1) / classesPerField
	m := &topicModel{ds: ds, background: cumulate(zipf), column: rng.Perm(documentColumns),
		topics: make([][]int32, ds.NumClasses+fields), field: make([]int, ds.NumClasses)}
	for t := range m.topics {
		m.topics[t] = make([]int32, topicWords)
		for k, c := range rng.Perm(documentColumns)[:topicWords] {
			m.topics[t][k] = int32(c)
		}
	}
	for k, c := range rng.Perm(ds.NumClasses) {
		m.field[c] = ds.NumClasses + k/classesPerField
	}
	return m
}

type word struct {
	column int32
	count  int
}

// words draws the words of a node, ascending. It draws the number of different words first, then words until there are
// that many.
func (m *topicModel) words(i int, rng *rand.Rand) []word {
	want := min(mostWords, max(leastWords, int(math.Round(math.Exp(logWords+logWordsSpread*rng.NormFloat64())))))
	count := make(map[int32]int, want)
	for len(count) < want { // there are many more columns, so this ends
		w := m.word(i, rng)
		for count[w]++; rng.Float64() < again; count[w]++ {
		}
	}
	out := make([]word, 0, want)
	for c, k := range count {
		out = append(out, word{c, k})
	}
	slices.SortFunc(out, func(a, b word) int { return int(a.column - b.column) })
	return out
}

func (m *topicModel) word(i int, rng *rand.Rand) int32 {
	if rng.Float64() >= topicShare {
		return int32(m.column[m.background.draw(rng)])
	}
	class := m.ds.Labels[i]
	if near := m.ds.Graph.Adjacency.Neighborhood(i); len(near) > 0 && rng.Float64() < cited {
		class = m.ds.Labels[near[rng.IntN(len(near))]]
	}
	topic := m.topics[class]
	if rng.IntN(2) == 0 {
		topic = m.topics[m.field[class]]
	}
	return topic[rng.IntN(len(topic))]
}

// The features of arxiv-topology.
const (
	mixedColumns = 128
	mixedSignal  = 1.75 // distance of a class's center from the origin, in standard deviations of a node about it
	mixedShare   = 0.5  // weight of the neighbors' mean against the node's own draw
)

// mixedFeatures draws y_i = center of the class + a standard normal for every node, and returns x_i = y_i + ½·mean of y
// over the neighbors of i, as texts resemble those that they cite; all divided by the square root of the width. Dense.
// O(edges · columns) time.
func mixedFeatures(ds *Dataset, rng *rand.Rand) graph.Features {
	n := ds.Graph.NumNodes()
	center := centers(ds.NumClasses, mixedColumns, mixedSignal, rng)
	own := graph.Features{Rows: n, Cols: mixedColumns, Dense: make([]float32, n*mixedColumns)}
	for i, c := range ds.Labels {
		_, row := own.Row(i)
		for k, mean := range center[c] {
			row[k] = (mean + float32(rng.NormFloat64())) / float32(math.Sqrt(mixedColumns))
		}
	}
	out := graph.Features{Rows: n, Cols: mixedColumns, Dense: slices.Clone(own.Dense)}
	parallel.Rows(n, len(own.Dense), func(first, end int) {
		for i := first; i < end; i++ {
			_, row := out.Row(i)
			near := ds.Graph.Adjacency.Neighborhood(i)
			for _, j := range near {
				_, other := own.Row(int(j))
				for k, v := range other {
					part := float32(mixedShare / float32(len(near)) * v) // rounded: no processor fuses the two
					row[k] += part
				}
			}
		}
	})
	return out
}
