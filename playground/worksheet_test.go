package playground

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The states on the worksheet of docs/teaching.md show the figures that its answers name.
func TestWorksheet(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "teaching.md"))
	require.NoError(t, err)
	b := open(t)
	figure := func(name string) string {
		return b.Text(`document.querySelector('[data-figure=` + name + `]').textContent`)
	}
	for _, row := range []struct {
		states []string
		figure string
		shown  []string
	}{
		{[]string{"transport.html#preset=moons&solver=exact", "transport.html#preset=moons&eps=0.01"}, "cost",
			[]string{"0.241", "0.246"}},
		{[]string{"transport.html#preset=outlier", "transport.html#preset=outlier&rho=0.1"}, "mass",
			[]string{"1", "0.739"}},
		{[]string{"gromov.html#preset=ring&sigma=0"}, "structures", []string{"0.444"}},
		{[]string{"gromov.html#preset=path&sigma=0"}, "right", []string{"0.6"}},
		{[]string{"gromov.html#preset=features&sigma=0", "gromov.html#preset=features&sigma=0.5"}, "right",
			[]string{"0.714", "1"}},
	} {
		line := regexp.MustCompile(`(?m)^\| .` + regexp.QuoteMeta(row.states[0]) + "`.*$").FindString(string(text))
		require.NotEmpty(t, line, row.states[0])
		for i, state := range row.states {
			_, fragment, _ := strings.Cut(state, "#")
			require.Contains(t, line, "#"+fragment+"`")
			require.Contains(t, line, row.shown[i])
			b.at(t, state)
			require.Equal(t, row.shown[i], figure(row.figure), state)
		}
	}
}
