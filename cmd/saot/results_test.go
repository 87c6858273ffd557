package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment/report"
)

// go generate ./cmd/saot writes what is made of the code and of results: references, chosen specs, tables, pictures.
//
//go:generate go test . -count 1 -run TestReference|TestPresets|TestChosenSpecs|Documents -update
var update = flag.Bool("update", false, "write what tests compare with the code and with results")

// Where a document has <!-- saot table … --> or <!-- saot tune … --> and <!-- end -->, what stands between is what the
// command prints, without headings and legends that the document has already.
func TestDocuments(t *testing.T) {
	t.Chdir("../..")
	block := regexp.MustCompile(`(?s)(<!-- saot ((?:table|tune) [^>]*) -->\n)(.*?)(<!-- end -->)`)
	tables := 0
	for _, path := range documents(t) {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		var document said
		after := block.ReplaceAllStringFunc(string(before), func(text string) string {
			part := block.FindStringSubmatch(text)
			stdout := told(t, strings.Fields(part[2])...)
			tables++
			return part[1] + document.once(stdout) + part[4]
		})
		assert.NoError(t, golden.SameText(path, after, *update), "go generate ./cmd/saot writes the tables")
	}
	require.Positive(t, tables)
}

// said holds the heading and the legend that a document has already.
type said struct {
	heading string // of the block before, if it has one table
	legend  string // of the first block
}

// once returns a block without its heading if the block before has the same, and with a pointer for the legend if the
// first block has the same.
func (s *said) once(block string) string {
	body := strings.TrimRight(block, "\n")
	paragraphs := strings.Split(body, "\n\n")
	before := s.heading
	if s.heading = ""; strings.Count(block, "### ") == 1 {
		s.heading = paragraphs[0]
	}
	if legend := &paragraphs[len(paragraphs)-1]; s.legend == "" {
		s.legend = *legend
	} else if *legend == s.legend {
		*legend = "Legend as under the first table of this page."
	}
	if before != "" && before == s.heading {
		paragraphs = paragraphs[1:]
	}
	return strings.Join(paragraphs, "\n\n") + block[len(body):]
}

func documents(t *testing.T) []string {
	top, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	below, err := filepath.Glob("docs/*/*.md")
	require.NoError(t, err)
	return append(top, below...)
}

// Where a document has <!-- saot figures … --name NAME --out FOLDER -->, the command draws the picture that the next
// line shows, except for rounding. With -update it draws it into the document's folder.
func TestPicturesOfDocuments(t *testing.T) {
	t.Chdir("../..")
	block := regexp.MustCompile(`<!-- saot (figures .* --name (\S+)) --out (\S+) -->\n!\[[^\]]*\]\(([^)]*)\)`)
	drawn := 0
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, part := range block.FindAllStringSubmatch(string(text), -1) {
			args, name, folder := part[1], part[2], part[3]
			shown := filepath.Join(filepath.Dir(path), part[4])
			require.Equal(t, filepath.Join(folder, name+".png"), shown)
			if !*update {
				folder = t.TempDir()
			}
			told(t, append(strings.Fields(args), "--out", folder)...)
			requireSamePicture(t, shown, filepath.Join(folder, name+".png"))
			drawn++
		}
	}
	require.Positive(t, drawn)
	requireDiagrams(t)
	refused(t, exitFailure, "progress-cora-ml-class-il-converged", "figures", "results/saot-l.jsonl.gz", "--name",
		"figure9", "--out", t.TempDir())
}

// requireDiagrams draws the diagram of each <!-- saot overview … --figure FILE --> that the next line shows.
func requireDiagrams(t *testing.T) {
	t.Helper()
	block := regexp.MustCompile(`<!-- saot (overview .*) --figure (\S+) -->\n!\[[^\]]*\]\(([^)]*)\)`)
	drawn := 0
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, part := range block.FindAllStringSubmatch(string(text), -1) {
			args, file := part[1], part[2]
			shown := filepath.Join(filepath.Dir(path), part[3])
			require.Equal(t, file, filepath.ToSlash(shown))
			if !*update {
				file = filepath.Join(t.TempDir(), filepath.Base(file))
			}
			told(t, append(strings.Fields(args), "--figure", file)...)
			requireSamePicture(t, shown, file)
			drawn++
		}
	}
	require.Positive(t, drawn)
}

func requireSamePicture(t *testing.T, shown, drawn string) {
	t.Helper()
	got, err := os.ReadFile(drawn)
	require.NoError(t, err)
	require.NoError(t, golden.SamePicture(shown, got),
		"go generate ./cmd/saot draws it")
}

// The page of results is for reading: its tables of all methods are behind links.
func TestResultsAreShort(t *testing.T) {
	text, err := os.ReadFile("../../docs/results.md")
	require.NoError(t, err)
	require.Less(t, len(strings.Fields(string(text))), 2500)
}

// The paper's rows need no folder; with a folder, they are those of its methods, in every format.
func TestTableFlags(t *testing.T) {
	stdout := told(t, "table", "--paper")
	require.Contains(t, stdout, "| TRACE | 71.2 ± 0.2 |")
	stdout = told(t, "table", "--paper", "../../results/ablations.jsonl.gz", "--format", "csv")
	require.Contains(t, stdout, "CoraFull-CL,saot-cosine,w/ Cosine,class-il")
	require.NotContains(t, stdout, "trace")
	stdout = told(t, "table", "--paper", "--mixed", "../../results/chosen.jsonl.gz", "../../results/tune/uai.jsonl.gz")
	require.NotContains(t, stdout, "programs", "the table holds no runs")
	status, stdout, stderr := call(t, "table", "--paper", "../../results/chosen.jsonl.gz", "--only",
		"method=majority")
	require.Equal(t, exitFailure, status)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "the paper has results for none of the methods that were run")

	stdout = told(t, "table", "../../results/ablations.jsonl.gz", "--only", "method=saot-mse", "--only", "dataset=uai",
		"--format", "html")
	require.Contains(t, stdout, `<th scope="row">saot-mse</th>`)
	require.NotContains(t, stdout, "cora-ml")

	refused(t, exitUsage, "md, csv, latex, html", "table", "../../results/ablations.jsonl.gz", "--format", "pdf")
	refused(t, exitFailure, "no run has split=00", "table", "../../results/ablations.jsonl.gz", "--only", "split=00")
}

// The untrained encoder on corafull-topology has many rows in which the paper probe gave up at once, by its epochs in
// the file.
func TestSummaryNotes(t *testing.T) {
	found, err := continual.ReadResults("../../results/probes.jsonl.gz")
	require.NoError(t, err)
	const random = "corafull-topology-random-s0-"
	i := slices.IndexFunc(found, func(s continual.Stored) bool { return strings.HasPrefix(s.Folder, random) })
	require.GreaterOrEqual(t, i, 0)
	r := found[i].Result
	var out strings.Builder
	require.NoError(t, summarize(&out, r, "runs/random"))
	require.Contains(t, out.String(),
		"note: the paper probe of class-il stopped before it had learned, after 31 of 35 tasks (first after 4).")

	r.Scores = r.Scores[2:]
	out.Reset()
	require.NoError(t, summarize(&out, r, "runs/random"))
	require.NotContains(t, out.String(), "note:")

	r.Dataset.Notes = []string{"class 4 was removed", "7 of 9 stored adjacency entries: mirrored",
		"2 of 8 edges join tasks"}
	out.Reset()
	require.NoError(t, summarize(&out, r, "runs/random"))
	require.Contains(t, out.String(), "\nnote on the data: class 4 was removed\n\nrun folder")
	require.Equal(t, r.Dataset.Notes, runAsJSON(r, "runs/random").Notes)
}

func TestFiguresStayInTheirFolder(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"../out", "a/b", "/out"} {
		err := savePictures(t.Context(), io.Discard, []report.Picture{{Name: name}}, folder, "png")
		require.ErrorContains(t, err, "leads out of the folder "+folder)
	}
}

// What the error about runs of several versions advises works as it is written, and a report takes them mixed.
func TestAdviceAboutVersions(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: what a shell makes of the advice is not known")
	}
	t.Chdir(t.TempDir())
	for seed, version := range []string{"v0.1.0", "v0.2.0"} {
		dir := filepath.Join("runs", version)
		writeResult(t, filepath.Join(dir, "result.json"), "saot", uint64(seed),
			fmt.Sprintf(`{"seed": %d, "dataset": "uai", "method": "saot", "features": "l2"}`, seed), 80, -3)
		edit(t, dir, func(r *continual.Result) { r.Versions = continual.Versions{Module: version, Commit: "c0ffee"} })
	}
	status, _, stderr := call(t, "table", "runs")
	require.Equal(t, exitFailure, status)
	advice := regexp.MustCompile(`--only ('[^']+'|\S+)`).FindAllString(stderr, -1)
	require.Len(t, advice, 2, stderr)
	for _, flags := range advice {
		words, err := exec.CommandContext(t.Context(), bash, "-c", `printf '%s\n' `+flags).Output()
		require.NoError(t, err)
		args := append([]string{"table", "runs"}, strings.Split(strings.TrimSpace(string(words)), "\n")...)
		stdout := told(t, args...)
		require.Contains(t, stdout, "| saot | 1 |")
	}
	require.Contains(t, stderr, "--mixed")
	status, _, _ = call(t, "report", "runs")
	require.Equal(t, exitFailure, status)
	told(t, "report", "runs", "--mixed")
	page, err := os.ReadFile("report.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "All rows: the runs are of several programs: saot v0.1.0")

	for k, rate := range []string{"0.1", "0.2"} { // two settings, each by a version of its own
		dir := filepath.Join("tuned", rate)
		writeResult(t, filepath.Join(dir, "result.json"), "saot", 0, `{"seed": 0, "dataset": "uai", "method": "saot", `+
			`"features": "l2", "settings": {"learning_rate": `+rate+`}}`, 80+float64(k), -3)
		edit(t, dir, func(r *continual.Result) {
			r.Versions.Module = "v" + rate
			r.Scores[0].Fits = [][]continual.Fit{{{Valid: 70}}, {{Valid: 70 + float64(k)}}}
		})
	}
	_, _, stderr = call(t, "tune", "tuned")
	require.Contains(t, stderr, "differ in version")
	_, stdout, stderr := call(t, "tune", "tuned", "--mixed")
	require.Empty(t, stderr)
	require.Contains(t, stdout, "# The runs are of several programs: saot v0.1")
}

// What is made of a sweep that is not done says so. The spec of tune, which is kept, has the same as a comment.
func TestResultsOfAnUnfinishedSweep(t *testing.T) {
	t.Chdir(t.TempDir())
	for k, rate := range []string{"0.1", "0.2"} {
		dir := filepath.Join("runs", rate)
		writeResult(t, filepath.Join(dir, "result.json"), "saot", 0, `{"seed": 0, "dataset": "uai", "method": "saot", `+
			`"features": "l2", "settings": {"learning_rate": `+rate+`}}`, 80+float64(k), -3)
		edit(t, dir, func(r *continual.Result) {
			r.Scores[0].Fits = [][]continual.Fit{{{Valid: 70}}, {{Valid: 70 + float64(k)}}}
		})
		write(t, filepath.Join(dir, "config.json"), `{"method": "saot"}`)
	}
	require.NoError(t, os.MkdirAll("runs/bert", 0o755))
	write(t, "runs/bert/config.json", `{"model_type": "bert"}`) // of another program
	line := filepath.FromSlash("1 runs in runs are not done: saot run --resume runs/waits continues it\n")
	for _, waits := range []bool{false, true} {
		if waits {
			require.NoError(t, os.Mkdir("runs/waits", 0o755))
			write(t, "runs/waits/config.json", `{"method": "saot"}`)
		}
		for _, args := range [][]string{{"table", "runs"}, {"tune", "runs"}, {"figures", "runs"}, {"report", "runs"},
			{"pack", "runs", "-o", "all.jsonl.gz"}} {
			status, stdout, stderr := call(t, args...)
			require.Zero(t, status, stderr)
			require.Equal(t, waits, stderr == line, "%s: %s", args, stderr)
			require.Equal(t, waits && args[0] == "tune", strings.Contains(stdout, "# "+line), stdout)
		}
	}
	_, _, stderr := call(t, "table", "all.jsonl.gz")
	require.Empty(t, stderr)
}
