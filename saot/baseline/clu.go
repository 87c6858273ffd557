package baseline

import (
	"context"
	"math/rand/v2"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/check"
	"github.com/saot-go/saot/internal/cluster"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/method"
)

// CluSettings are those of node clustering, SS-GCNs' first pretext task.
type CluSettings struct {
	PretextSettings
	// The reference has 200 clusters and names each by the nearest class, with labels.
	Clusters int `json:"clusters" range:"[2,)" help:"number of feature clusters to classify"`
}

func cluDefaults(recipe datasets.Recipe, p method.Preset) method.Settings {
	return &CluSettings{PretextSettings: pretextDefaults(recipe, 1000, p), Clusters: 10}
}

func init() {
	method.Register(method.Definition{Name: "gcn-clu", Paper: "GCN-Clu", Kind: method.SelfSupervised, Order: 3,
		Summary:  "SS-GCNs' node clustering pretext (You et al. 2020)",
		Defaults: cluDefaults, New: newClu,
		Load: func(s method.Settings) method.Load { return s.(*CluSettings).load() }})
}

// Validate lists every field out of range.
func (s *CluSettings) Validate() error {
	return s.check(check.In("baseline: gcn-clu").Ranges(s), 2).Err()
}

// newClu is the learner that tells clusters of feature rows apart (You et al. 2020, "node clustering"), by the loss of
// sorting. Diagnostic of the report: "spread", the nodes' mean squared distance from the centers of their clusters.
func newClu(b method.Build) (continual.Method, error) {
	s := *b.Settings.(*CluSettings)
	return newPretext(b, "gcn-clu", s.PretextSettings, sorting{groups: s.Clusters,
		sort: func(ctx context.Context, g *graph.Graph, rng *rand.Rand) ([]int, map[string]float64, error) {
			x := g.Features.Matrix()
			assign, centers, err := cluster.KMeans(ctx, x, s.Clusters, rng)
			if err != nil {
				return nil, nil, err
			}
			spread := 0.0
			for i, c := range assign {
				spread += cluster.SquaredDistance(x.RawRowView(i), centers.RawRowView(c)) / float64(len(assign))
			}
			return assign, map[string]float64{"spread": spread}, nil
		}})
}
