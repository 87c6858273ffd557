package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment/rank"
)

// Blocks says what the tests of an overview take as one block of a comparison.
type Blocks int

const (
	// BySeed takes each seed of each stream. Seeds of one stream are alike, so the tests find more than they should
	// for streams that were not run.
	BySeed Blocks = iota
	// ByStream takes the mean over the seeds of each stream: what Demšar (2006) recommends, with little power for few
	// streams.
	ByStream
)

// Overview compares methods over streams by the ranks of AP.
type Overview struct {
	Setting continual.Setting `json:"setting"`
	Probe   continual.Probe   `json:"probe"`
	Blocks  []Block           `json:"blocks"`
	Methods []Ranked          `json:"methods"` // by mean rank
	Pairs   []Duel            `json:"pairs"`   // one method against each other one, in their order

	ChiSquare          float64 `json:"friedman_chi_square"`
	P                  float64 `json:"friedman_p"`
	CriticalDifference float64 `json:"critical_difference"` // of mean ranks, Nemenyi at 0.05

	Left     []string `json:"left_out,omitempty"` // what is not compared, and why
	Programs []string `json:"programs,omitempty"` // that made the runs, where they are several; see Mixed
}

// Block is one comparison of all methods.
type Block struct {
	Stream string `json:"stream"`
	Seed   string `json:"seed"` // "" for the mean over seeds
}

// Ranked is a method with its mean ranks, 1 for the best.
type Ranked struct {
	Method   string             `json:"method"`
	MeanRank float64            `json:"mean_rank"`
	AP       float64            `json:"ap"`      // mean over blocks, percent
	Streams  map[string]float64 `json:"streams"` // mean rank on each
}

// Duel compares a method with another one over all blocks.
type Duel struct {
	Method     string  `json:"method"`
	Against    string  `json:"against"`
	Difference float64 `json:"difference"` // mean of AP, points
	Effect     float64 `json:"effect"`     // matched-pairs rank-biserial correlation
	Wilcoxon   float64 `json:"wilcoxon_p"` // signed-rank test, two-sided
	Holm       float64 `json:"holm_p"`     // the same, corrected for the number of pairs
	Nemenyi    float64 `json:"nemenyi_p"`  // of the mean ranks, corrected for all pairs
}

// NewOverview compares the methods that a probe scores. First, streams on which fewer than half of the methods ran are
// left out. Next, methods are left out that lack one of the remaining streams, or that have on one of them fewer than
// half of the seeds of the most common set there, if two methods or more have that set. Last, on each stream, seeds
// that not all methods have are left out. Pairs compares the named method, or the one with the best mean rank if name
// is "", with each other method.
//
// It returns an error if fewer than two methods or two blocks remain, if the method named is not among them, if a
// method ran with several settings on a stream, and where Across does.
func NewOverview(groups []*Group, s continual.Setting, p continual.Probe, by Blocks, name string) (*Overview, error) {
	if err := comparableAcross(groups); err != nil {
		return nil, err
	}
	o := &Overview{Setting: s, Probe: p}
	cells, methods, ran, err := o.cells(groups)
	if err != nil {
		return nil, err
	}
	streams := o.complete(cells, ran, &methods)
	var values [][]float64
	if len(methods) > 0 {
		values = o.values(cells, methods, streams, by)
	}
	if len(methods) < 2 || len(values) < 2 {
		left := ""
		if len(o.Left) > 0 {
			left = ". " + strings.TrimSuffix(strings.Join(o.Left, " "), ".")
		}
		return nil, fmt.Errorf("experiment: %d methods on %d blocks can be compared: want two of each%s",
			len(methods), len(values), left)
	}
	f, err := rank.NewFriedman(values)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	o.ChiSquare, o.P = f.ChiSquare, f.P
	o.CriticalDifference = rank.CriticalDifference(len(methods), len(values), significant)
	o.rank(methods, values, f.MeanRanks)
	return o, o.duels(cmp.Or(name, o.Methods[0].Method), methods, values)
}

// cells returns AP by method and stream, the methods in the order of tables, and how many of them ran on each stream.
func (o *Overview) cells(groups []*Group) (cells map[string]map[string]Cell, methods []string, ran map[string]int,
	err error) {
	cells, methods, ran, err = byMethod(groups, &Column{Setting: o.Setting, Probe: o.Probe})
	if err != nil {
		return nil, nil, nil, err
	}
	if len(cells) == 0 {
		return nil, nil, nil, errors.New("experiment: no run has a score under this setting and probe")
	}
	var without []string
	for _, g := range groups {
		if cells[g.Method] == nil && !slices.Contains(without, g.Method) {
			without = append(without, g.Method)
		}
	}
	if len(without) > 0 {
		o.Left = append(o.Left,
			fmt.Sprintf("%s: no figure under the %s.", strings.Join(without, ", "), o.Probe.Label()))
	}
	return cells, methods, ran, nil
}

// complete drops streams and methods until all methods have all streams, with at least half of the seeds that most
// methods have there. A method of few seeds would leave few blocks for all.
func (o *Overview) complete(cells map[string]map[string]Cell, ran map[string]int,
	methods *[]string) (streams []string) {
	for stream, n := range ran {
		if 2*n >= len(cells) {
			streams = append(streams, stream)
			continue
		}
		o.Left = append(o.Left, fmt.Sprintf("%s: %d of %d methods ran there.", stream, n, len(cells)))
	}
	slices.Sort(streams)
	leave := func(why string, lacks func(m, stream string) bool) {
		*methods = slices.DeleteFunc(*methods, func(m string) bool {
			where := slices.DeleteFunc(slices.Clone(streams), func(stream string) bool { return !lacks(m, stream) })
			if len(where) > 0 {
				o.Left = append(o.Left, fmt.Sprintf("%s: %s on %s.", m, why, strings.Join(where, ", ")))
			}
			return len(where) > 0
		})
	}
	leave("no runs", func(m, stream string) bool { return cells[m][stream].N == 0 })
	most := map[string][]uint64{} // only where two methods or more have the same seeds
	for _, stream := range streams {
		var all [][]uint64
		for _, m := range *methods {
			all = append(all, cells[m][stream].Seeds)
		}
		common, first := commonSeeds(all), true
		for _, seeds := range all {
			if slices.Equal(seeds, common) && !first {
				most[stream] = common
			}
			first = first && !slices.Equal(seeds, common)
		}
	}
	leave("fewer than half of the seeds that most methods have", func(m, stream string) bool {
		has := 0
		for _, seed := range most[stream] {
			if slices.Contains(cells[m][stream].Seeds, seed) {
				has++
			}
		}
		return 2*has < len(most[stream])
	})
	slices.Sort(o.Left)
	return streams
}

// values returns AP with a row for each block and a column for each method, and fills Blocks.
func (o *Overview) values(cells map[string]map[string]Cell, methods, streams []string, by Blocks) (rows [][]float64) {
	for _, stream := range streams {
		seeds, lacking := sharedSeeds(cells, methods, stream)
		if len(seeds) == 0 {
			o.Left = append(o.Left, stream+": no seed that all methods have.")
			continue
		}
		if len(lacking) > 0 {
			o.Left = append(o.Left, fmt.Sprintf("%s: seeds that not all methods have (%s).", stream, seedList(lacking)))
		}
		mean := make([]float64, len(methods))
		for _, seed := range seeds {
			row := make([]float64, len(methods))
			for j, m := range methods {
				c := cells[m][stream]
				i, _ := slices.BinarySearch(c.Seeds, seed)
				row[j] = c.Values[i]
				mean[j] += row[j] / float64(len(seeds))
			}
			if by == BySeed {
				rows, o.Blocks = append(rows, row), append(o.Blocks, Block{stream, fmt.Sprint(seed)})
			}
		}
		if by == ByStream {
			rows, o.Blocks = append(rows, mean), append(o.Blocks, Block{Stream: stream})
		}
	}
	return rows
}

// sharedSeeds returns the seeds of a stream that all methods have, and those that only some have, both ascending.
func sharedSeeds(cells map[string]map[string]Cell, methods []string, stream string) (shared, lacking []uint64) {
	ran := map[uint64]int{}
	for _, m := range methods {
		for _, seed := range cells[m][stream].Seeds {
			ran[seed]++
		}
	}
	for _, seed := range slices.Sorted(maps.Keys(ran)) {
		if ran[seed] == len(methods) {
			shared = append(shared, seed)
		} else {
			lacking = append(lacking, seed)
		}
	}
	return shared, lacking
}

// rank fills Methods, by mean rank.
func (o *Overview) rank(methods []string, values [][]float64, meanRanks []float64) {
	for j, m := range methods {
		r := Ranked{Method: m, MeanRank: meanRanks[j], Streams: map[string]float64{}}
		count := map[string]float64{}
		for i, row := range values {
			r.AP += row[j] / float64(len(values))
			r.Streams[o.Blocks[i].Stream] += rank.Of(row)[j]
			count[o.Blocks[i].Stream]++
		}
		for stream := range r.Streams {
			r.Streams[stream] /= count[stream]
		}
		o.Methods = append(o.Methods, r)
	}
	slices.SortStableFunc(o.Methods, func(a, b Ranked) int { return cmp.Compare(a.MeanRank, b.MeanRank) })
}

// duels compares a method with all others.
func (o *Overview) duels(name string, methods []string, values [][]float64) error {
	column := func(method string) (out []float64) {
		j := slices.Index(methods, method)
		for _, row := range values {
			out = append(out, row[j])
		}
		return out
	}
	at := slices.IndexFunc(o.Methods, func(r Ranked) bool { return r.Method == name })
	if at < 0 {
		return fmt.Errorf("experiment: %s is not among the methods compared: choose one of %s", name,
			strings.Join(methods, ", "))
	}
	one := o.Methods[at]
	var ps []float64
	for k, other := range o.Methods {
		if k == at {
			continue
		}
		a, b := column(name), column(other.Method)
		w, err := rank.NewWilcoxon(a, b)
		if err != nil {
			return fmt.Errorf("experiment: %w", err)
		}
		o.Pairs = append(o.Pairs, Duel{
			Method: name, Against: other.Method, Difference: stat.Mean(a, nil) - stat.Mean(b, nil),
			Effect: w.Effect, Wilcoxon: w.P,
			Nemenyi: rank.Nemenyi(math.Abs(other.MeanRank-one.MeanRank), len(methods), len(values)),
		})
		ps = append(ps, w.P)
	}
	for i, p := range rank.Holm(ps) {
		o.Pairs[i].Holm = p
	}
	return nil
}

// Streams returns the streams that are compared, in order.
func (o *Overview) Streams() (out []string) {
	for _, b := range o.Blocks {
		if len(out) == 0 || out[len(out)-1] != b.Stream {
			out = append(out, b.Stream)
		}
	}
	return out
}
