package continual

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fixture"
)

// A constant embedding makes every head the majority predictor m, whose figures follow from class counts alone: M[i][j]
// is the share of m among task j's held-out nodes. These were counted from the public labels; the paper prints nearly
// the same for RieGrace on Arxiv (75.4; 4.9 / −18.0) and Products (73.1; 4.1 / −4.9).
func TestMajorityOnPublicLabels(t *testing.T) {
	alone := func(labels string) (*datasets.Dataset, error) { // as a graph of one edge, which no figure depends on
		packed, err := os.ReadFile(labels)
		dir := t.TempDir()
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "labels.csv.gz"), packed, 0o600),
			os.WriteFile(filepath.Join(dir, "edges.csv"), []byte("0,1\n"), 0o600))
		require.NoError(t, err)
		return datasets.Open(dir, "", datasets.Options{TopologyOnly: true})
	}
	for _, tc := range []struct {
		name, file               string
		taskAP, classAP, classAF float64
		tasks                    int
		load                     func(path string) (*datasets.Dataset, error)
		large                    bool
	}{
		{"arxiv", "ogbn_arxiv/raw/node-label.csv.gz", 75.39, 4.91, -17.85, 20, alone, false},
		{"products", "ogbn_products/raw/node-label.csv.gz", 73.13, 4.10, -4.89, 23, alone, true},
		{"cora-full", "cora_full_topology.npz", 69.08, 2.12, -10.71, 35, func(path string) (*datasets.Dataset, error) {
			return datasets.Open(path, "", datasets.Options{TopologyOnly: true})
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.large && testing.Short() {
				t.Skip("2.4 million labels: not in -short")
			}
			ds, err := tc.load(fixture.RealFile(t, tc.file))
			require.NoError(t, err)
			stream, err := datasets.NewStream(ds, datasets.DefaultStreamOptions())
			require.NoError(t, err)
			require.Len(t, stream.Tasks, tc.tasks)
			r, err := Run(context.Background(), stream, &toyLearner{}, Options{Probes: []Probe{ProbePaper}})
			require.NoError(t, err)
			class, ok := r.Score(ClassIL, ProbePaper)
			require.True(t, ok)
			task, ok := r.Score(TaskIL, ProbePaper)
			require.True(t, ok)
			t.Logf("task-il AP %.2f, class-il AP %.2f AF %.2f", task.AP, class.AP, class.AF)
			require.InDelta(t, tc.taskAP, task.AP, 0.05)
			require.InDelta(t, 0, task.AF, 1e-12)
			require.InDelta(t, tc.classAP, class.AP, 0.05)
			require.InDelta(t, tc.classAF, class.AF, 0.05)
		})
	}
}
