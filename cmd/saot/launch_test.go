package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/experiment"
)

const launchSpec = `about: for tests
runs:
- datasets: [synthetic]
  methods: [saot]
  seeds: [0, 1, 2, 3]
  probes: [converged]
  set: {epochs: 2, encoder.hidden: 16, encoder.out: 8, points: 32}
`

func TestLaunchRefuses(t *testing.T) {
	t.Setenv("SAOT_DATA", "")
	spec := filepath.Join(t.TempDir(), "s.yaml")
	write(t, spec, launchSpec)
	own := filepath.Join(t.TempDir(), "own.yaml")
	write(t, own, strings.Replace(launchSpec, "[synthetic", "[graphs/own.npz, synthetic", 1))
	real := filepath.Join(t.TempDir(), "real.yaml")
	write(t, real, strings.Replace(launchSpec, "[synthetic", "[cora-ml, synthetic", 1))
	kubernetes := []string{"--launcher", "kubernetes", "--output", "-", "--image", "i", "--claim", "c", "--out",
		"/saot/s"}
	for _, c := range []struct {
		name  string
		args  []string
		words []string
	}{
		{"unknown launcher", []string{"--launcher", "pbs"}, []string{`"pbs"`, "slurm"}},
		{"slurm's flag for local", []string{"--partition", "gpu"}, []string{"--launcher local", "--partition"}},
		{"slurm's flag for kubernetes", append(kubernetes, "--sbatch=--qos=low"), []string{"--sbatch"}},
		{"kubernetes' flag for slurm", []string{"--launcher", "slurm", "--image", "i"},
			[]string{"--launcher slurm", "--image"}},
		{"memory", []string{"--launcher", "slurm", "--memory", "3"}, []string{"--memory"}},
		{"negative", []string{"--launcher", "slurm", "--mem", "-1"}, []string{"--mem"}},
		{"short", []string{"--launcher", "slurm", "--time", "90s", "--dry-run"}, []string{"5m0s"}},
		{"no such run", []string{"--launcher", "slurm", "--only", "4"}, []string{"run 4", "0 to 3"}},
		{"index without only", []string{"--index", "0"}, []string{"--only"}},
		{"index beyond only", []string{"--only", "1,2", "--index", "2"}, []string{"--index is 2", "has 2"}},
		{"no output", []string{"--launcher", "kubernetes", "--image", "i", "--claim", "c", "--out", "/saot/s"},
			[]string{"--output"}},
		{"no image", []string{"--launcher", "kubernetes", "--claim", "c", "--out", "/saot/s", "--output", "-"},
			[]string{"image"}},
		{"no claim", []string{"--launcher", "kubernetes", "--image", "i", "--out", "/saot/s", "--output", "-"},
			[]string{"no claim: name a", "--claim"}},
		{"claim at the root", append(kubernetes, "--claim", "c:/"), []string{`mount is "/": want an absolute path`}},
		{"claim at a relative path", append(kubernetes, "--claim", "c:lab"), []string{`mount is "lab"`}},
		{"unknown engine", []string{"--launcher", "slurm", "--engine", "abacus"}, []string{`unknown engine "abacus"`}},
		{"out next to the mount", append(kubernetes, "--out", "/saotx/s"), []string{"/saotx/s", "below /saot"}},
		{"out is the mount of another path", append(kubernetes, "--claim", "c:/lab"), []string{"below /lab"}},
		{"dataset of this machine", append(kubernetes, own),
			[]string{filepath.FromSlash("graphs/own.npz is of this machine"), "below /saot"}},
		{"data of this machine", append(kubernetes, "--data", "graphs"), []string{"--data is graphs", "below /saot"}},
		{"no data", append(kubernetes, real), []string{"cora-ml is read from files", "--data"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, stdout, stderr := call(t, append([]string{"sweep", spec}, c.args...)...)
			require.Equal(t, exitUsage, status, stderr)
			require.Empty(t, stdout)
			for _, w := range c.words {
				require.Contains(t, stderr, w)
			}
		})
	}
}

func TestSlurmDryRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Slurm takes no backslashes in names")
	}
	t.Setenv("SAOT_DATA", "")
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "out")
	write(t, spec, launchSpec)
	dry := func(more ...string) string {
		stdout := told(t, append([]string{"sweep", spec, "--out", out, "--launcher", "slurm", "--dry-run"}, more...)...)
		require.NoDirExists(t, out)
		return stdout
	}
	require.Contains(t, launchHelp, fmt.Sprintf("%d times the time and %v times the memory", experiment.TimeFactor,
		experiment.MemoryFactor))
	all := dry()
	require.Contains(t, all, "#SBATCH --array=0-3\n")
	require.Contains(t, all, "#SBATCH --ntasks=1\n")
	require.Regexp(t, `--time=0-00:15:00\n#SBATCH --mem=1024M\n`, all) // the least: the runs are small
	require.NotContains(t, all, "--engine")                            // nodes may have faster ones than this machine

	some := dry("--only", "1,3", "--workers", "1", "--engine", "go", "--time", "36h", "--mem", "2.5", "--gpus", "2",
		"--sbatch=--qos=low", "--retry-failed", "--keep-model")
	require.Contains(t, some, "#SBATCH --array=1,3%1\n")
	// 2.5e9 bytes in MiB
	require.Contains(t, some,
		"#SBATCH --time=1-12:00:00\n#SBATCH --mem=2385M\n#SBATCH --gpus-per-task=2\n#SBATCH --qos=low\n")
	require.Contains(t, some, "--engine go --retry-failed --keep-model --only")
}

func TestKubernetesOutput(t *testing.T) {
	t.Setenv("SAOT_DATA", "/of/this/machine")
	dir := t.TempDir()
	spec, manifest := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "job.yaml")
	write(t, spec, launchSpec)
	arguments := []string{"sweep", spec, "--out", "/lab/s", "--launcher", "kubernetes", "--image", "i", "--claim",
		"c:/lab", "--output"}
	stdout := told(t, append(arguments, manifest)...)
	require.Contains(t, stdout, "4 runs")
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	require.Contains(t, string(text), "completions: 4\n")
	require.Contains(t, string(text), "parallelism: 4\n")
	require.NotContains(t, string(text), "/of/this/machine")
	require.NotContains(t, string(text), "activeDeadlineSeconds")
	stdout = told(t, append(arguments, "-", "--workers", "3", "--data", "/lab/graphs", "--dataset", "synthetic:300",
		"--retry-failed", "--keep-model")...)
	require.Contains(t, stdout, "parallelism: 3\n")
	require.Contains(t, stdout, `"--dataset","synthetic:300"`)
	require.Contains(t, stdout, `"--data","/lab/graphs"`)
	require.Contains(t, stdout, `"--retry-failed","--keep-model"`)
}

// What a pod does: the run at its index of the list.
func TestSweepIndex(t *testing.T) {
	binary := build(t)
	folder := t.TempDir()
	spec, dir := filepath.Join(folder, "s.yaml"), filepath.Join(folder, "out")
	write(t, spec, launchSpec)
	out, err := exec.Command(binary, "sweep", spec, "--out", dir, "--engine", "go", "--only", "1,3", "--index",
		"1").CombinedOutput()
	require.NoError(t, err, string(out))
	s, err := experiment.OpenSweep(dir)
	require.NoError(t, err)
	require.Len(t, s.Runs, 4)
	for i, r := range s.Runs {
		state, err := s.State(i)
		require.NoError(t, err)
		require.Equal(t, r.Seed == 3, state == experiment.Done, r.Name())
	}
	for _, path := range []string{folder, dir} {
		status, _, stderr := call(t, "table", path)
		require.Zero(t, status, stderr)
		require.Equal(t, "3 runs in "+dir+" are not done: saot status "+dir+"\n", stderr)
	}
	told(t, "status", dir)
	stdout := told(t, "sweep", spec, "--out", dir, "--launcher", "slurm", "--dry-run")
	require.Equal(t, 1, strings.Count(stdout, "#SBATCH --array=0-2\n"), stdout)
}
