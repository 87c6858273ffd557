package symbolic

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/sbinet/npyio"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/engine"
	"github.com/saot-go/saot/saot/transport"
)

// BenchmarkPeers is our side of bench/peers/peers.py, which sets SAOT_PEERS to a folder with cost-M.npy and
// target-M.npy in float32. On the engine that GOMLX_BACKEND names, or the best present, it measures the plan at ε = 0.2
// after 50 sweeps, and the plan with the gradient of KL(target‖plan) in the cost, in both forms; plan-M.npy and
// gradient-M.npy hold what came out.
func BenchmarkPeers(b *testing.B) {
	folder := os.Getenv("SAOT_PEERS")
	if folder == "" {
		b.Skip("SAOT_PEERS is not set: run bench/peers/peers.py")
	}
	e, err := engine.Open(os.Getenv("GOMLX_BACKEND"))
	require.NoError(b, err)
	for _, m := range []int{256, 512, 1024, 2048} {
		b.Run(fmt.Sprintf("M=%d/%s", m, e.Info().Name), func(b *testing.B) {
			file := func(name string) string { return filepath.Join(folder, fmt.Sprintf("%s-%d.npy", name, m)) }
			cost, target := readMatrix(b, file("cost"), m), readMatrix(b, file("target"), m)
			var runs []func() time.Duration
			for _, domain := range []transport.Domain{transport.KernelDomain, transport.LogDomain} {
				cfg := transport.DefaultSinkhorn()
				cfg.Domain, cfg.Tolerance = domain, 0 // the peers do not stop early either
				plan := compileFor(b, e, func(in []*graph.Node) []*graph.Node {
					plan, marginalError := Sinkhorn(in[0], cfg)
					return []*graph.Node{plan, marginalError}
				}, onEngine(cost, m))
				gradient := compileFor(b, e, func(in []*graph.Node) []*graph.Node {
					plan, marginalError := Sinkhorn(in[0], cfg)
					loss := KLPlanLoss(in[1], plan, in[0], cfg.Epsilon)
					return []*graph.Node{graph.Gradient(loss, in[0])[0], marginalError}
				}, onEngine(cost, m), onEngine(target, m))
				if domain == transport.KernelDomain {
					writeMatrix(b, file("plan"), plan()[0])
					writeMatrix(b, file("gradient"), gradient()[0])
				}
				runs = append(runs, timed(plan), timed(gradient))
			}
			t := best(b, runs...)
			for i, unit := range []string{"plan-ms", "gradient-ms", "log-plan-ms", "log-gradient-ms"} {
				b.ReportMetric(milliseconds(t[i]), unit)
			}
		})
	}
}

// onEngine makes a tensor of a square matrix.
func onEngine(x []float32, m int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(x, m, m)
}

func readMatrix(b *testing.B, name string, m int) []float32 {
	b.Helper()
	data, err := os.ReadFile(name)
	require.NoError(b, err)
	var x []float32
	require.NoError(b, npyio.Read(bytes.NewReader(data), &x))
	require.Len(b, x, m*m, name)
	return x
}

func writeMatrix(b *testing.B, name string, x *tensors.Tensor) {
	b.Helper()
	f, err := os.Create(name)
	require.NoError(b, err)
	require.NoError(b, npyio.Write(f, tensors.MustCopyFlatData[float32](x)))
	require.NoError(b, f.Close())
}
