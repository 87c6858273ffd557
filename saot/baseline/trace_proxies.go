package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/saot-go/saot/datasets/graph"
	"github.com/saot-go/saot/internal/cluster"
	"github.com/saot-go/saot/internal/packed"
	"github.com/saot-go/saot/internal/seed"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/engine"
)

type traceMemory struct {
	Graph      *graph.Graph // the proxies, which stand first, and the nodes around them
	Proxies    int
	Similarity float64             // mean cosine similarity of the proxies right after the task was learned
	Encoder    packed.Map[float32] // the slow encoder then; nil where it is not kept, and of the task learned last
}

// keep chooses a task's proxies by the fast encoder's embeddings and returns what is stored of it.
func (l *trace) keep(ctx context.Context, task int, g *graph.Graph, z *continual.Embedding) (*traceMemory, error) {
	wide := make([]float64, len(z.Data))
	for i, v := range z.Data {
		wide[i] = float64(v)
	}
	proxies, err := l.progressive(ctx, mat.NewDense(z.Rows, z.Cols, wide), seed.Stream(l.seed, "proxies", task))
	if err != nil {
		return nil, err
	}
	nodes := around(&g.Adjacency, proxies, l.slow.Config.Depth(), l.Buffer, seed.Stream(l.seed, "subgraph", task))
	return &traceMemory{Graph: g.Induced(nodes), Proxies: len(proxies)}, nil
}

// smallShare is the share of all nodes below which a cluster is not halved (TRACE's public code).
const smallShare = 0.2

// progressive chooses node proxies by progressive clustering: k-means of all nodes into K clusters, whose compactness
// is the mean distance of its nodes to its center. If the variance of the compactness is below the threshold, the node
// nearest to each center is a proxy. Otherwise that holds for clusters no looser than the mean, and a looser one of n_c
// of all N nodes is clustered in turn, into K' = max(2, round(K·n_c/N)), unless K' is 2 and n_c/N below 0.2, or there
// would be more than Proxies. K is the number of clusters that it is one of, as in TRACE's public code.
func (s *TRACESettings) progressive(ctx context.Context, z *mat.Dense, rng *rand.Rand) (proxies []int32, err error) {
	type part struct {
		nodes []int32
		k     int
	}
	n, _ := z.Dims()
	queue := []part{{consecutive(n), min(s.Clusters, s.Proxies, n)}}
	for total := queue[0].k; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		clusters, loose, err := divide(ctx, z, p.nodes, p.k, s.Variance, rng)
		if err != nil {
			return nil, err
		}
		for i, c := range clusters {
			share := float64(len(c.nodes)) / float64(n)
			k := max(2, int(math.RoundToEven(float64(p.k)*share)))
			if !loose[i] || k == 2 && share < smallShare || total+k-1 > s.Proxies {
				proxies = append(proxies, c.proxy)
				continue
			}
			queue = append(queue, part{c.nodes, k})
			total += k - 1
		}
	}
	return proxies, nil
}

type nodeCluster struct {
	nodes []int32
	proxy int32 // the node nearest to the center
}

// divide clusters some rows of the embeddings, and says which clusters are loose: none if the variance of the
// compactness is below the threshold, otherwise those above its mean.
func divide(ctx context.Context, z *mat.Dense, nodes []int32, k int, threshold float64, rng *rand.Rand) (
	clusters []nodeCluster, loose []bool, err error) {
	_, cols := z.Dims()
	rows := mat.NewDense(len(nodes), cols, nil)
	for i, v := range nodes {
		rows.SetRow(i, z.RawRowView(int(v)))
	}
	assign, centers, err := cluster.KMeans(ctx, rows, k, rng)
	if err != nil {
		return nil, nil, err
	}
	clusters = make([]nodeCluster, k)
	nearest, compactness := slices.Repeat([]float64{math.Inf(1)}, k), make([]float64, k)
	for i, c := range assign {
		d := floats.Distance(rows.RawRowView(i), centers.RawRowView(c), 2)
		clusters[c].nodes = append(clusters[c].nodes, nodes[i])
		compactness[c] += d
		if d < nearest[c] {
			clusters[c].proxy, nearest[c] = nodes[i], d
		}
	}
	for c := range clusters {
		compactness[c] /= float64(len(clusters[c].nodes))
	}
	mean, variance := stat.PopMeanVariance(compactness, nil)
	for _, c := range compactness {
		loose = append(loose, variance >= threshold && c > mean)
	}
	return clusters, loose, nil
}

// around returns the nodes within a number of hops of some, say proxies: these first, then hop by hop. Of a hop that
// exceeds the limit, as many as fit are drawn at random. On a directed graph, hops go against the edges, to the nodes
// that messages come from.
func around(a *graph.Adjacency, some []int32, hops, limit int, rng *rand.Rand) []int32 {
	nodes, taken := slices.Clone(some), map[int32]bool{}
	for _, v := range some {
		taken[v] = true
	}
	for front := nodes; hops > 0; hops-- {
		var next []int32
		for _, v := range front {
			for _, u := range a.Neighborhood(int(v)) {
				if !taken[u] {
					taken[u] = true
					next = append(next, u)
				}
			}
		}
		if room := limit - len(nodes); len(next) > room {
			rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
			return append(nodes, next[:room]...)
		}
		nodes, front = append(nodes, next...), next
	}
	return nodes
}

// newStored returns the padded sizes of stored subgraphs. One serves the whole run, as large as a subgraph of any task
// may be if it has 1.5 times the task's edges per node, because XLA compiles a step of a GAT for 15 seconds.
func (l *trace) newStored() *encoder.Buckets {
	var size encoder.Size
	for _, s := range l.stream.Sizes {
		size = size.Max(encoder.Size{}.Plus(s, min(l.Buffer, s.Nodes), 1.5))
	}
	size.Nodes = max(size.Nodes, l.Proxies)
	return encoder.NewBuckets(l.engine, l.Epochs, []encoder.Size{size})
}

// room returns the padded size of all stored subgraphs. It depends on them alone, so a resumed run has the same.
func (l *trace) room() (size encoder.Size) {
	for _, m := range l.memories {
		s := l.stored.SizeOf(m.Graph)
		s.Nodes = max(s.Nodes, l.Proxies)
		size = l.stored.Fit(s).Max(size) // a subgraph with more edges than expected widens it
	}
	return size
}

func (l *trace) upload(m *traceMemory, size encoder.Size) (*storedBatch, error) {
	b, err := encoder.NewBatch(m.Graph, size)
	if err != nil {
		return nil, err
	}
	share := make([]float32, l.Proxies)
	for i := range m.Proxies {
		share[i] = 1 / float32(m.Proxies)
	}
	return &storedBatch{Batch: b, share: tensors.FromFlatDataAndDimensions(share, len(share), 1)}, nil
}

// similarity returns the mean cosine similarity of a task's proxies by the slow encoder, on the clean subgraph.
func (l *trace) similarity(m *traceMemory) (float64, error) {
	p, err := l.upload(m, l.room())
	if err != nil {
		return 0, err
	}
	defer p.release()
	z, projected, err := l.slow.Forward(p.Batch)
	if err != nil {
		return 0, err
	}
	defer engine.Release(z, projected)
	var mean float64
	err = tensors.ConstFlatData(z, func(flat []float32) { mean = meanSimilarity(flat[:m.Proxies*l.Out], l.Out) })
	return mean, err
}

// meanSimilarity returns (1/n²)·Σ_ij cos(z_i, z_j), i = j included, of n rows of cols columns, which is the squared
// length of the mean of the normalized rows. A task's retention R_τ is this figure of its proxies over that right after
// the task was learned.
func meanSimilarity(z []float32, cols int) float64 {
	mean, n := make([]float64, cols), len(z)/cols
	for i := range n {
		row := z[i*cols : (i+1)*cols]
		norm := 1e-12
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		for c, v := range row {
			mean[c] += float64(v) / math.Sqrt(norm) / float64(n)
		}
	}
	return floats.Dot(mean, mean)
}
