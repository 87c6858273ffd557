package datasets

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/fixture"
)

// realFile returns the path of a real data file, or skips the test.
var realFile = fixture.RealFile

// Figures as published with the data sets; stored entries per row of Coauthor-CS: 59.6.
func TestRealStreams(t *testing.T) {
	for _, tc := range []struct {
		name, file                                   string
		nodes, edges, features, classes, tasks, used int
	}{
		{"coauthor-cs", "ms_academic_cs.npz", 18333, 81894, 6805, 15, 7, 14},
		{"amazon-computers", "amazon_electronics_computers.npz", 13752, 245861, 767, 10, 5, 10},
		{"uai", "uai.npz", 3067, 28308, 4973, 19, 9, 18},
		{"cora-ml", "cora_ml.npz", 2995, 8158, 2879, 7, 3, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Dir(realFile(t, tc.file))
			ds, err := Open(tc.name, dir, Options{Normalization: graph.Raw})
			require.NoError(t, err)
			require.Equal(t, []int{tc.nodes, tc.edges, tc.features, tc.classes},
				[]int{ds.Graph.NumNodes(), ds.Graph.Adjacency.NumEdges(), ds.Graph.Features.Cols, ds.NumClasses})
			require.Len(t, ds.Checksum, 64)
			checkAdjacency(t, &ds.Graph.Adjacency)
			checkSparse(t, &ds.Graph.Features)
			if tc.name == "coauthor-cs" {
				require.InDelta(t, 59.6, float64(len(ds.Graph.Features.Values))/float64(tc.nodes), 0.05)
			}
			s, err := NewStream(ds, DefaultStreamOptions())
			require.NoError(t, err)
			require.Len(t, s.Tasks, tc.tasks)
			require.Equal(t, tc.used, s.NumClasses)
			for _, task := range s.Tasks {
				require.Len(t, task.Classes, 2)
				checkPartition(t, &task)
				checkAdjacency(t, &task.Graph.Adjacency)
			}
		})
	}
}

// cora_full_topology.npz holds real labels and edges and no features.
func TestCoraFullTopology(t *testing.T) {
	path := realFile(t, "cora_full_topology.npz")
	_, err := LayoutNPZ.load(path, Options{})
	require.ErrorContains(t, err, `cora_full_topology.npz: no x (or features, attr_matrix`)

	ds, err := LayoutNPZ.load(path, Options{TopologyOnly: true})
	require.NoError(t, err)
	require.Equal(t, 63421, ds.Graph.Adjacency.NumEdges())
	// Class sizes in label order, counted from DGL's CoraFull.
	want := []int{257, 52, 243, 378, 63, 305, 404, 663, 240, 342, 141, 223, 102, 521, 341, 138, 115, 111, 80, 435, 420,
		254, 414, 196, 334, 315,
		284, 783, 113, 466, 221, 376, 154, 855, 576, 84, 293, 163, 125, 564, 280, 205, 94, 53, 129, 370, 122, 74, 557,
		285, 72, 625, 501, 650,
		99, 473, 324, 928, 212, 301, 116, 220, 165, 291, 147, 91, 137, 84, 15, 29}
	require.Equal(t, want, classSizes(ds))
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, s.Tasks, 35)
	last := s.Tasks[34] // as in DGL's CoraFull: 44 nodes, 52 undirected edges; 29 and 15 split 17/6/6 and 9/3/3
	require.Equal(t, []int{44, 52}, []int{len(last.Nodes), last.Graph.Adjacency.NumEdges()})
	require.Equal(t, []int{26, 9, 9}, []int{len(last.Split.Train), len(last.Split.Valid), len(last.Split.Test)})
}

// loadOGBLabels reads OGB's node-label.csv.gz, which lies in a folder raw, into a dataset without edges and features.
func loadOGBLabels(path string) (*Dataset, error) {
	b := fileBundle(path)
	labels, err := readClasses(b, filepath.Base(path), tableSpec[int32]{rows: -1})
	if err != nil {
		return nil, err
	}
	sum, err := file.SHA256(path)
	ds := &Dataset{Name: b.name() + "-labels", Checksum: sum}
	ds.Graph.Adjacency.Offsets = make([]int64, len(labels)+1)
	ds.Graph.Features.Rows = len(labels)
	ds.setLabels(labels)
	return ds, err
}

func TestOGBArxivLabels(t *testing.T) {
	ds, err := loadOGBLabels(realFile(t, "ogbn_arxiv/raw/node-label.csv.gz"))
	require.NoError(t, err)
	require.Equal(t, "ogbn-arxiv-labels", ds.Name)
	// Class sizes in label order as OGB publishes them.
	require.Equal(t, []int{565, 687, 4839, 2080, 5862, 4958, 1618, 589, 6232, 2820, 7869, 750, 29, 2358, 597, 403,
		27321, 515, 749, 2877, 2076,
		393, 1903, 2834, 22187, 1257, 4605, 4801, 21406, 416, 11814, 2828, 411, 1271, 7867, 127, 3524, 2369, 1507,
		2029}, classSizes(ds))
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, s.Tasks, 20)
}

func TestOGBProductsLabels(t *testing.T) {
	path := realFile(t, "ogbn_products/raw/node-label.csv.gz")
	if testing.Short() {
		t.Skip("2.4 million labels: not in short mode")
	}
	ds, err := loadOGBLabels(path)
	require.NoError(t, err)
	require.Equal(t, 2449029, ds.Graph.NumNodes())
	require.Equal(t, 47, ds.NumClasses)
	sizes := classSizes(ds)
	slices.Sort(sizes)
	require.Equal(t, []int{1, 6, 9}, sizes[:3])
	s, err := NewStream(ds, DefaultStreamOptions())
	require.NoError(t, err)
	require.Len(t, s.Tasks, 23)
	require.Equal(t, 46, s.NumClasses)
	require.Contains(t, fmt.Sprint(s.Notes), "removed: it has 1 nodes")
}

func classSizes(ds *Dataset) []int {
	sizes := make([]int, ds.NumClasses)
	for _, c := range ds.Labels {
		sizes[c]++
	}
	return sizes
}

func BenchmarkLoadCoauthorCS(b *testing.B) {
	path := realFile(b, "ms_academic_cs.npz")
	for b.Loop() {
		if _, err := LayoutNPZ.load(path, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
