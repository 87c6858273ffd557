package plotting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/saot-go/saot/saot/continual"
)

func TestZZ(t *testing.T) {
	var all []Method
	for _, name := range []string{"saot", "saot-cosine", "saot-mse", "saot-barlow", "saot-no-distill", "random", "propagated-pca"} {
		var rs []*continual.Result
		for s := range 3 {
			r, err := continual.ReadResult(fmt.Sprintf("../docs/results/amazon-computers-%s-s%d/result.json", name, s))
			require.NoError(t, err)
			rs = append(rs, r)
		}
		m, err := NewMethod(name, rs, continual.ClassIL, continual.ProbeConverged)
		require.NoError(t, err)
		all = append(all, m)
		f, err := LossTerms(rs[0], CurveOptions{Title: name})
		if err != nil { t.Log(name, err); continue }
		require.NoError(t, f.Save("/tmp/real-loss-"+name+".png"))
	}
	f, err := MethodMatrices(all, MatrixOptions{Columns: 4})
	require.NoError(t, err)
	require.NoError(t, f.Save("/tmp/real-matrices.png"))
	f, err = TradeOff(all, "amazon-computers, class-il")
	require.NoError(t, err)
	require.NoError(t, f.Save("/tmp/real-tradeoff.png"))
	require.NoError(t, f.Save("/tmp/real-tradeoff.pdf"))
	for _, m := range []Measure{AP, AF} {
		f, err = OverTasks(all, m, CurveOptions{Title: "amazon-computers"})
		require.NoError(t, err)
		require.NoError(t, f.Save("/tmp/real-"+m.String()+".png"))
		require.NoError(t, f.Save("/tmp/real-"+m.String()+".svg"))
	}
}
