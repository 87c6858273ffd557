package report

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
	_ "github.com/saot-go/saot/saot/method/all"
)

// real returns committed runs on Cora-ML.
func real(t *testing.T, only ...string) []*experiment.Group {
	groups, err := experiment.Collect([]string{"../../../results/ablations.jsonl.gz"})
	require.NoError(t, err)
	groups, err = experiment.Select(groups, append([]string{"dataset=cora-ml"}, only...))
	require.NoError(t, err)
	return groups
}

func names(pictures []Picture) (all []string) {
	for _, p := range pictures {
		all = append(all, p.Name)
	}
	return all
}

func TestPicturesOfRealRuns(t *testing.T) {
	pictures, err := Pictures(real(t))
	require.NoError(t, err)
	all := names(pictures)
	for _, want := range []string{"figure2-cora-ml-class-il-paper", "figure2-cora-ml-task-il-converged",
		"figure4-cora-ml-class-il-converged",
		"progress-cora-ml-class-il-converged", "loss-cora-ml", "marginal-error-cora-ml"} {
		require.Contains(t, all, want)
	}
	seen := map[string]bool{}
	for _, name := range all {
		require.False(t, seen[name], "%s is there twice: a file would be overwritten", name)
		seen[name] = true
	}
}

// made returns runs of settings with invented figures: AP is what the function says.
func made(t *testing.T, spec string, ap func(r experiment.Run) float64) []*experiment.Group {
	s, err := experiment.ParseSpec("made.yaml", []byte(spec))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, r := range s.Runs {
		config, err := json.Marshal(&r.Settings)
		require.NoError(t, err)
		v := ap(r)
		result := &continual.Result{Schema: continual.ResultSchema, Method: r.Method, Config: config, Seed: r.Seed,
			Dataset: continual.DatasetInfo{Name: r.Dataset, Tasks: 2},
			Machine: continual.Machine{Processor: "Xeon", Threads: 2},
			Scores: []continual.Score{{Setting: continual.ClassIL, Probe: continual.ProbeConverged, AP: v, AF: -1,
				Matrix: continual.Matrix{{v + 1}, {v, v}}}},
			Tasks: []continual.TaskReport{{Seconds: 1, LastLoss: []continual.Term{{Name: "total", Value: 1},
				{Name: "part", Value: 0.5}}}, {Task: 1, Seconds: 2}},
			Evaluations: []continual.Evaluation{{Structure: &continual.Structure{EffectiveRank: 9,
				DistanceDrift: []float64{0}, PlanDrift: []float64{0}}},
				{Task: 1, Structure: &continual.Structure{EffectiveRank: 8, DistanceDrift: []float64{0.25, 0},
					PlanDrift: []float64{0.125, 0}}}}}
		require.NoError(t, os.MkdirAll(dir+"/"+r.Name(), 0o755))
		require.NoError(t, result.WriteFile(dir+"/"+r.Name()+"/result.json"))
	}
	groups, err := experiment.Collect([]string{dir})
	require.NoError(t, err)
	return groups
}

// Each setting is varied along a line on which all others stay: a grid of two settings gives two figures, and the
// points of one do not stray into the other.
func TestSensitivityFollowsOneSetting(t *testing.T) {
	groups := made(t, `
runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0, 0.5, 1]}}
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {buffer: [0, 100]}}
- {datasets: [uai], methods: [majority], seeds: [0, 1]}
`, func(r experiment.Run) float64 { return 50 + 10*r.Of.(*saot.Config).Alpha + float64(r.Seed) })
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	all := names(pictures)
	require.Contains(t, all, "figure3-alpha-uai-class-il-converged")
	require.Contains(t, all, "buffer-uai-class-il-converged")
	for _, name := range []string{"drift-distance-uai", "drift-plan-uai", "effective-rank-uai"} {
		require.Contains(t, all, name)
	}
	require.Len(t, line(experiment.Families(groups)[0], "alpha"), 3)
	on := line(experiment.Families(groups)[0], "buffer")
	require.Len(t, on, 3, "0, 100 and the default of 200")
	require.Equal(t, "0", on[0].Settings["buffer"])
	require.Equal(t, "200", on[2].Settings["buffer"])
	_, caption := svgOf(t, pictures, "figure3-alpha-uai-class-il-converged")
	require.Contains(t, caption, " Drawn are 6 of the 10 runs of saot.")
}

// A line that is not at the method's defaults says where it is.
func TestSensitivityNamesItsLine(t *testing.T) {
	pictures, err := Pictures(made(t, `
runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], set: {scaling: literal}, grid: {alpha: [0, 0.5, 1]}}
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0, 1]}}
`, func(experiment.Run) float64 { return 60 }))
	require.NoError(t, err)
	svg, caption := svgOf(t, pictures, "figure3-alpha-uai-class-il-converged")
	require.Contains(t, svg, ">saot, scaling literal</text>")
	require.Contains(t, caption, " Drawn are 6 of the 10 runs of saot, scaling literal.")
}

// So does a line that has all runs of its method.
func TestSensitivityNamesWhatItHolds(t *testing.T) {
	pictures, err := Pictures(made(t,
		"runs:\n- {datasets: [uai], methods: [saot], seeds: [0], set: {scaling: literal}, grid: {alpha: [0, 1]}}\n",
		func(experiment.Run) float64 { return 60 }))
	require.NoError(t, err)
	svg, _ := svgOf(t, pictures, "figure3-alpha-uai-class-il-converged")
	require.Contains(t, svg, ">saot, scaling literal</text>")
}

// A budget is of each class or task, which is no size of a buffer.
func TestBudgetIsNoBuffer(t *testing.T) {
	pictures, err := Pictures(made(t,
		"runs:\n- {datasets: [uai], methods: [er-gnn], seeds: [0, 1], grid: {budget: [10, 20]}}\n",
		func(experiment.Run) float64 { return 60 }))
	require.NoError(t, err)
	svg, _ := svgOf(t, pictures, "figure3-budget-uai-class-il-converged")
	require.Contains(t, svg, ">budget</text>")
	require.NotContains(t, svg, "nodes)")
}

// Figure 2 has the paper's form where TRACE and SAOT were run, and no picture drops them for want of room.
func TestFigure2HasTRACEAndSAOT(t *testing.T) {
	groups := made(t, `
runs:
- {datasets: [uai, cora-ml], methods: [self-supervised, ours, controls], seeds: [0]}
- {datasets: [coauthor-cs], methods: [trace], seeds: [0]}
`, func(experiment.Run) float64 { return 60 })
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	i := slices.Index(names(pictures), "figure2-paper-class-il-converged")
	require.NotEqual(t, -1, i)
	svg, err := pictures[i].Figure.SVG()
	require.NoError(t, err)
	for _, text := range []string{"TRACE, after task", "SAOT, after task", "cora-ml", "uai"} {
		require.Contains(t, string(svg), text)
	}
	require.NotContains(t, string(svg), "coauthor-cs", "SAOT was not run on it")
	papers, _, err := PaperPictures(groups, continual.ProbeConverged)
	require.NoError(t, err)
	k := slices.Index(names(papers), "paper-figure2")
	require.NotEqual(t, -1, k)
	paper, err := papers[k].Figure.SVG()
	require.NoError(t, err)
	require.Equal(t, string(paper), string(svg), "one form")
}

func TestForemostKeepsOneOfSAOTAndOfTRACE(t *testing.T) {
	var groups []*experiment.Group
	for _, label := range []string{"a", "b", "c", "saot, alpha 1", "saot, alpha 2", "saot-mse", "trace, k 1", "trace"} {
		method, _, _ := strings.Cut(label, ",")
		groups = append(groups, &experiment.Group{Method: method, Label: label})
	}
	some, note := foremost(groups, 4)
	require.Equal(t, []*experiment.Group{groups[0], groups[1], groups[3], groups[7]}, some)
	require.Equal(t, " 4 of 8 methods.", note)
	some, note = foremost(groups[3:5], 1)
	require.Equal(t, groups[3:4], some, "a sweep of saot takes no more room than there is")
	require.Equal(t, " 1 of 2 methods.", note)
	all, note := foremost(groups, 8)
	require.Equal(t, groups, all)
	require.Empty(t, note)
}

// Curves of a sweep say nothing that figure3 does not say better.
func TestSweepsAreNotDrawnOverTasks(t *testing.T) {
	sixty := func(experiment.Run) float64 { return 60 }
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot], seeds: [0], grid: {alpha: [0, 1], beta: [0, 1]}}\n",
		sixty)
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	require.Contains(t, names(pictures), "figure3-alpha-uai-class-il-converged")
	require.NotContains(t, names(pictures), "progress-uai-class-il-converged")
	require.NotContains(t, names(pictures), "figure4-uai-class-il-converged")
	other := made(t, "runs:\n- {datasets: [uai], methods: [gbt], seeds: [0]}\n", sixty)
	pictures, err = Pictures(append(groups, other...))
	require.NoError(t, err)
	require.Contains(t, names(pictures), "progress-uai-class-il-converged")
	require.Contains(t, names(pictures), "figure4-uai-class-il-converged")
}

// Drawing random weights takes a few milliseconds, which is no learning. The page has all days of a group's runs.
func TestUntrainedIsNotInTheTradeOff(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, gbt, random], seeds: [0, 1]}\n",
		func(experiment.Run) float64 { return 60 })
	random := groups[slices.IndexFunc(groups, func(g *experiment.Group) bool { return g.Method == "random" })]
	for seed, r := range random.Runs {
		r.Tasks[0].Seconds, r.Tasks[1].Seconds = 0.001, 0.0126
		r.Finished = time.Date(2026, time.May, 1+int(seed), 0, 0, 0, 0, time.UTC)
	}
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	svg, _ := svgOf(t, pictures, "figure4-uai-class-il-converged")
	require.Contains(t, svg, ">gbt</text>")
	require.NotContains(t, svg, ">random</text>")
	require.Equal(t, "2026-05-01, 2026-05-02", environment(random).Finished)
}

// svgOf returns the picture of a name as text.
func svgOf(t *testing.T, pictures []Picture, name string) (svg, caption string) {
	i := slices.Index(names(pictures), name)
	require.NotEqual(t, -1, i, name)
	data, err := pictures[i].Figure.SVG()
	require.NoError(t, err)
	return string(data), pictures[i].Caption
}

// Many methods are drawn in part, with SAOT among them, and the caption says so.
func TestPicturesOfManyMethodsAreDrawnInPart(t *testing.T) {
	pictures, err := Pictures(made(t, `
runs:
- {datasets: [uai], methods: [self-supervised, ours], seeds: [0]}
- {datasets: [uai], methods: [gbt], seeds: [0], grid: {learning_rate: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}}
`, func(experiment.Run) float64 { return 60 }))
	require.NoError(t, err)
	for name, room := range map[string]string{"drift-distance-uai": " 7 of ", "effective-rank-uai": " 7 of ",
		"progress-uai-class-il-converged": " 7 of ", "figure4-uai-class-il-converged": " 15 of "} {
		svg, caption := svgOf(t, pictures, name)
		require.Contains(t, svg, ">saot</text>", name)
		require.Contains(t, caption, room, name)
	}
	_, caption := svgOf(t, pictures, "figure4-uai-class-il-converged")
	require.Contains(t, caption, "mean and standard deviation over seeds. A dashed line joins")
	svg, _ := svgOf(t, pictures, "drift-distance-uai")
	require.Contains(t, svg, ">uai, seed")
	require.Contains(t, svg, ">no change</text>", "the axis of a drift has its 0")
}

// The note tells the seeds of what is drawn, and a method with fewer of them says so.
func TestSeedsOfWhatIsDrawn(t *testing.T) {
	pictures, err := Pictures(made(t, `
runs:
- {datasets: [uai], methods: [saot], seeds: [0, 1], grid: {alpha: [0.5, 1]}}
- {datasets: [uai], methods: [gbt], seeds: [0]}
- {datasets: [uai], methods: [majority], seeds: [7, 8]}
`, func(experiment.Run) float64 { return 60 }))
	require.NoError(t, err)
	for name, note := range map[string]string{
		"figure3-alpha-uai-class-il-converged": ">uai, Class-IL, converged probe, seeds 0, 1</text>",
		"progress-uai-class-il-converged":      ">uai, Class-IL, converged probe, seeds 0, 1, 7, 8</text>",
		"effective-rank-uai":                   ">uai, seeds 0, 1, 7, 8</text>",
	} {
		svg, _ := svgOf(t, pictures, name)
		require.Contains(t, svg, note, name)
	}
	for _, name := range []string{"progress-uai-class-il-converged", "figure4-uai-class-il-converged",
		"figure2-uai-class-il-converged", "effective-rank-uai"} {
		svg, _ := svgOf(t, pictures, name)
		require.Contains(t, svg, ">gbt (n = 1, seeds 0)</text>", name)
		require.Contains(t, svg, ">majority (n = 2, seeds 7, 8)</text>", name)
	}
}

// A probe's pictures have the runs that it scored.
func TestRunsWithoutAProbeAreNotInItsPictures(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, gbt], seeds: [0, 1]}\n",
		func(experiment.Run) float64 { return 60 })
	for _, g := range groups {
		score := g.Runs[1].Scores[0]
		score.Probe = continual.ProbePaper
		g.Runs[1].Scores = append(g.Runs[1].Scores, score)
	}
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	svg, _ := svgOf(t, pictures, "progress-uai-class-il-paper")
	require.Contains(t, svg, ">uai, Class-IL, paper probe, seed 1</text>")
	svg, _ = svgOf(t, pictures, "progress-uai-class-il-converged")
	require.Contains(t, svg, ">uai, Class-IL, converged probe, seeds 0, 1</text>")
}

// A drift is the mean over the tasks before the newest, and over seeds.
func TestDriftIsTheMeanOfEarlierTasks(t *testing.T) {
	run := func(scale float64) *continual.Result {
		drift := func(values ...float64) *continual.Structure {
			for i := range values {
				values[i] *= scale
			}
			return &continual.Structure{PlanDrift: values, EffectiveRank: 10 * scale}
		}
		return &continual.Result{Dataset: continual.DatasetInfo{Tasks: 3}, Evaluations: []continual.Evaluation{
			{Structure: drift(0)}, {Task: 1, Structure: drift(0.125, 0)}, {Task: 2, Structure: drift(0.25, 0.5, 0)}}}
	}
	g := &experiment.Group{Runs: map[uint64]*continual.Result{0: run(1), 1: run(3)}}
	s, ok := drifted(func(st *continual.Structure) []float64 { return st.PlanDrift }).mean(g)
	require.True(t, ok)
	require.Equal(t, []float64{2, 3}, s.X)
	require.Equal(t, []float64{0.25, 0.75}, s.Y)
	s, ok = ranks.mean(g)
	require.True(t, ok)
	require.Equal(t, []float64{20, 20, 20}, s.Y)
}

// A dataset's name may have characters that a system keeps from files; a run's folder leaves them out too.
func TestPicturesHaveNamesOfFiles(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: ['synthetic:400,degree=5'], methods: [saot, gbt], seeds: [0]}\n",
		func(experiment.Run) float64 { return 60 })
	pictures, err := Pictures(groups)
	require.NoError(t, err)
	require.Contains(t, names(pictures), "progress-synthetic-400-degree5-class-il-converged")
	require.Contains(t, names(pictures), "loss-synthetic-400-degree5")
	require.NotContains(t, strings.Join(names(pictures), ""), ":")
}

func TestNothingToDraw(t *testing.T) {
	_, err := Pictures(nil)
	require.ErrorContains(t, err, "nothing to draw")
}

// The page holds its tables, pictures and a spec, and asks for nothing.
func TestPage(t *testing.T) {
	page, err := Page(`<Cora-ML> & "others"`, real(t, "method=saot"), nil)
	require.NoError(t, err)
	text := string(page)
	require.Contains(t, text, "<title>&lt;Cora-ML&gt; &amp; &#34;others&#34;</title>")
	require.Contains(t, text, `<table class="saot-table">`)
	require.Contains(t, text, "learning_rate: 0.001")
	require.Greater(t, strings.Count(text, `src="data:image/png;base64,`), 3)
	require.NotRegexp(t, regexp.MustCompile(`(?i)(src|href)="?(https?:)?//|<script|@import|url\(`), text)
	_, spec, found := strings.Cut(text, "<pre>")
	require.True(t, found)
	spec, _, _ = strings.Cut(spec, "</pre>")
	parsed, err := experiment.ParseSpec("report.yaml", []byte(strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(spec)))
	require.NoError(t, err)
	require.Len(t, parsed.Runs, 3)
}

// Runs whose split comes from a file are on the page. Its spec leaves them out, and the page says so.
func TestPageOfASplitFile(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, majority], seeds: [0]}\n",
		func(experiment.Run) float64 { return 60 })
	groups[0].Settings["split_hash"] = "0123456789abcdef"
	page, err := Page("a page", groups, nil)
	require.NoError(t, err)
	_, spec, found := strings.Cut(string(page), "<pre>")
	require.True(t, found)
	spec, _, _ = strings.Cut(spec, "</pre>")
	require.Contains(t, spec, "majority")
	require.NotContains(t, spec, "saot")
	require.Contains(t, string(page), "A spec cannot describe the runs of 1 methods and settings")
	require.Contains(t, string(page), "<td>Xeon, 2 threads</td>")
	groups[1].Settings["split_hash"] = "0123456789abcdef"
	page, err = Page("a page", groups, nil)
	require.NoError(t, err)
	require.NotContains(t, string(page), "report.yaml")
	require.Contains(t, string(page), "A spec cannot describe the runs of 2 methods and settings")
}

// Runs of a learner that this program does not know are on the page. Its spec leaves them out.
func TestPageOfAnotherProgram(t *testing.T) {
	groups := made(t, "runs:\n- {datasets: [uai], methods: [saot, majority], seeds: [0]}\n",
		func(experiment.Run) float64 { return 60 })
	groups[0].First().Config = json.RawMessage(`{"width": 3}`)
	page, err := Page("a page", groups, nil)
	require.NoError(t, err)
	require.Contains(t, string(page), "methods:\n  - majority")
	require.Contains(t, string(page), "A spec cannot describe the runs of 1 methods and settings")
}
