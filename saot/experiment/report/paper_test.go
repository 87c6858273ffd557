package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// The committed results suffice for the paper's figures, as wide as two columns of print.
func TestPaperPictures(t *testing.T) {
	var groups []*experiment.Group
	for _, path := range []string{"chosen", "quick/fig3", "quick/buffer-class-il"} {
		some, err := experiment.Collect([]string{"../../../results/" + path + ".jsonl.gz"})
		require.NoError(t, err)
		groups = append(groups, some...)
	}
	pictures, lacks, err := PaperPictures(groups, continual.ProbeConverged)
	require.NoError(t, err)
	require.Empty(t, lacks)
	require.Equal(t, []string{"paper-figure2", "paper-figure3", "paper-figure4", "paper-buffer-class-il",
		"paper-buffer-task-il"}, names(pictures))
	for _, p := range pictures {
		width, height := p.Figure.Size()
		require.InDelta(t, plotting.TextWidth, width, 0.5, p.Name)
		require.Less(t, height, 648.0, p.Name) // of a page's text
	}
}

// What runs a figure lacks is said, with the sweep that makes them.
func TestPaperPicturesSayWhatLacks(t *testing.T) {
	pictures, lacks, err := PaperPictures(real(t), continual.ProbeConverged)
	require.ErrorContains(t, err, "trace")
	require.Empty(t, pictures)
	require.Len(t, lacks, 5)
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, trace, gbt], seeds: [0, 1]}\n",
		func(experiment.Run) float64 { return 60 })
	pictures, lacks, err = PaperPictures(groups, continual.ProbeConverged)
	require.NoError(t, err)
	require.Equal(t, []string{"paper-figure2", "paper-figure4"}, names(pictures))
	require.Len(t, lacks, 3)
	require.Contains(t, lacks[0], "saot sweep full/fig3")
	require.Contains(t, lacks[1], "saot sweep full/buffer-class-il")
}

func TestPaperPicturesMarkFewerSeeds(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, trace], seeds: [0, 1]}\n"+
		"- {datasets: [uai], methods: [gbt], seeds: [0]}\n", func(experiment.Run) float64 { return 60 })
	pictures, _, err := PaperPictures(groups, continual.ProbeConverged)
	require.NoError(t, err)
	svg, _ := svgOf(t, pictures, "paper-figure4")
	require.Contains(t, svg, ">gbt (n = 1)</text>")
	require.NotContains(t, svg, "saot (n")
}

// The ring stands at the value of one weight at which the other was varied.
func TestPaperStudiesMarkTheChosenValues(t *testing.T) {
	groups := made(t, `runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0, 0.5, 2]}}
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {beta: [0, 0.5, 1, 2]}}
`, func(r experiment.Run) float64 { return 60 })
	v := views(groups)[0]
	alpha, beta := v.study("alpha"), v.study("beta")
	require.Equal(t, "1", beta[0].Settings["alpha"])
	require.Equal(t, "0.5", alpha[0].Settings["beta"])
	require.Len(t, beta, 4)
	onAlpha, onBeta, err := v.weights(alpha, beta)
	require.NoError(t, err)
	require.Equal(t, []float64{1}, onAlpha.Chosen)
	require.Equal(t, []float64{0.5}, onBeta.Chosen)
}

// Datasets with more tasks come first.
func TestPaperPicturesBeginWithMostTasks(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [cora-ml, uai], methods: [saot], seeds: [0]}\n",
		func(experiment.Run) float64 { return 60 })
	for _, g := range groups {
		if g.Dataset == "uai" {
			g.Runs[0].Dataset.Tasks = 5
		}
	}
	var order []string
	for _, v := range mostTasksFirst(groups, continual.ClassIL, continual.ProbeConverged) {
		order = append(order, v.dataset)
	}
	require.Equal(t, []string{"uai", "cora-ml"}, order)
}

// A method of several settings is drawn at its defaults under its name. Where none of them are the defaults, and none
// has more seeds, it is left out, and that is said.
func TestPaperPicturesOfSeveralSettings(t *testing.T) {
	sixty := func(experiment.Run) float64 { return 60 }
	v := views(made(t, `runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1, 2], grid: {alpha: [0]}}
- {datasets: [uai], methods: [saot, trace], seeds: [0, 1]}
`, sixty))[0]
	g, unclear := v.usual("saot")
	require.Empty(t, unclear)
	require.Equal(t, "1", g.Settings["alpha"])
	v = views(made(t, `runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0]}}
- {datasets: [uai], methods: [saot], seeds: [0, 1, 2], grid: {alpha: [0.5]}}
`, sixty))[0]
	g, unclear = v.usual("saot")
	require.Empty(t, unclear)
	require.Equal(t, "0.5", g.Settings["alpha"], "the one with the most seeds")

	pictures, lacks, err := PaperPictures(made(t, `runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0, 0.5]}}
- {datasets: [uai], methods: [gbt, trace], seeds: [0, 1]}
`, sixty), continual.ProbeConverged)
	require.NoError(t, err)
	require.Equal(t, []string{"paper-figure4"}, names(pictures))
	svg, _ := svgOf(t, pictures, "paper-figure4")
	require.NotContains(t, svg, ">saot</text>")
	const why = "saot ran with 2 settings on uai: choose with --only"
	require.Contains(t, lacks, "class-il, converged probe: figure 2: "+why)
	require.Contains(t, lacks, "class-il, converged probe: figure 4: "+why)
}
