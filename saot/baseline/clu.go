package baseline

import (
	"math/rand/v2"

	"github.com/saot-go/saot/datasets/graph"

	"github.com/saot-go/saot/internal/cluster"
	"github.com/saot-go/saot/saot/continual"
)

// CluSettings are those of node clustering, SS-GCNs' first pretext task.
type CluSettings struct {
	PretextSettings
	Clusters int `json:"clusters"` // 10; the reference has as many as classes, which no label-free method knows
}

func cluDefaults(dataset string, p Preset) Settings {
	return &CluSettings{PretextSettings: pretextDefaults(dataset, 1000, p), Clusters: 10}
}

// Validate lists every field out of range.
func (s *CluSettings) Validate() error {
	r := s.validate("gcn-clu")
	r.check(s.Clusters >= 2, "clusters", s.Clusters, "2 or more")
	return r.err()
}

// newClu is the learner that tells clusters of feature rows apart (You et al. 2020, "node clustering"), by the loss of
// sorting. Departure: the reference maps 200 clusters of k-means to the classes of the nearest labelled nodes. Here the
// clusters are the targets, as no label may be used. Diagnostic of the report: "spread", the clusters' mean squared distance
// from their centres.
func newClu(b Build) (continual.Learner, error) {
	s := *b.Settings.(*CluSettings)
	return newPretext(b, "gcn-clu", s.PretextSettings, sorting{groups: s.Clusters,
		sort: func(g *graph.Graph, rng *rand.Rand) ([]int, map[string]float64) {
			x := dense(&g.Features)
			assign, centres := cluster.KMeans(x, s.Clusters, rng)
			spread := 0.0
			for i, c := range assign {
				spread += cluster.SquaredDistance(x.RawRowView(i), centres.RawRowView(c)) / float64(len(assign))
			}
			return assign, map[string]float64{"spread": spread}
		}})
}
