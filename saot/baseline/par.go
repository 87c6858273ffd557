package baseline

import (
	"context"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/partition"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// ParSettings are those of graph partitioning, SS-GCNs' second pretext task.
type ParSettings struct {
	PretextSettings
	Parts int `json:"parts" range:"[2,)" help:"number of parts of a balanced partition to classify"`
}

// parDefaults have 14 parts, the most frequent of the reference's recipes, which searches 8 to 16.
func parDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	return &ParSettings{PretextSettings: pretextDefaults(recipe, 1000, p), Parts: 14}
}

func init() {
	method.Register(method.Definition{Name: "gcn-par", Paper: "GCN-Par", Kind: method.SelfSupervised, Order: 4,
		Summary:  "SS-GCNs' graph partitioning pretext (You et al. 2020)",
		Defaults: parDefaults, New: newPar,
		Load: func(s method.Settings) method.Load { return s.(*ParSettings).load() }})
}

// Validate lists every field out of range.
func (s *ParSettings) Validate() error {
	return s.check(check.In("baseline: gcn-par").Ranges(s), 2).Err()
}

// newPar is the learner that tells the parts of a balanced partition of the graph apart (You et al. 2020, "graph
// partitioning"), by the loss of sorting. Diagnostic of the report: "cut", the share of edges between parts.
func newPar(b method.Build) (continual.Method, error) {
	s := *b.Settings.(*ParSettings)
	return newPretext(b, "gcn-par", s.PretextSettings, sorting{groups: s.Parts,
		sort: func(ctx context.Context, g *graph.Graph, rng *rand.Rand) ([]int, map[string]float64, error) {
			part, err := partition.Nodes(ctx, &g.Adjacency, s.Parts, rng)
			if err != nil {
				return nil, nil, err
			}
			cut := 0.0
			for i := range part {
				for _, j := range g.Adjacency.Neighborhood(i) {
					if part[i] != part[j] {
						cut += 1 / float64(len(g.Adjacency.Neighbors))
					}
				}
			}
			return part, map[string]float64{"cut": cut}, nil
		}})
}
