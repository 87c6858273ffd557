//go:build unix

package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSlurmScript(t *testing.T) {
	script, err := SlurmScript(Job{
		Name: "table2", Numbers: []int{0, 1, 2, 5, 7, 8}, Workers: 4, CPUs: 8, GPUs: 1,
		Demand:  Demand{Time: 26*time.Hour + time.Second, Memory: 3 << 30},
		Command: []string{"/opt/saot", "sweep", "/shared/the runs/spec-1.yaml", "--out", "/shared/the runs"},
	}, SlurmOptions{Dir: "/shared/the runs", WorkDir: "/home/me", Partition: "gpu", Account: "lab 3",
		Extra: []string{"--qos=low"}})
	require.NoError(t, err)
	committed(t, "slurm.sh", script)
}

func TestSlurmScriptRefuses(t *testing.T) {
	good := SlurmOptions{Dir: "/d", WorkDir: "/w"}
	for _, c := range []struct {
		time   time.Duration
		change func(*SlurmOptions)
		word   string
	}{
		{time.Minute, func(*SlurmOptions) {}, "5m0s or more"},
		{0, func(o *SlurmOptions) { o.Dir = "d" }, "absolute"},
		{0, func(o *SlurmOptions) { o.Dir = "/d\n" }, "line break"},
		{0, func(o *SlurmOptions) { o.Dir = `/d\e` }, "backslash"},
		{0, func(o *SlurmOptions) { o.Extra = []string{"--qos=a\n--x"} }, "line break"},
	} {
		o := good
		c.change(&o)
		_, err := SlurmScript(Job{Numbers: []int{0}, Demand: Demand{Time: c.time}}, o)
		require.ErrorContains(t, err, c.word)
	}
}

func TestRanges(t *testing.T) {
	require.Equal(t, "0-3,7", ranges([]int{0, 1, 2, 3, 7}))
	require.Equal(t, "4", ranges([]int{4}))
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var numbers, back []int
		for n := range 30 {
			if r.IntN(3) > 0 {
				numbers = append(numbers, n)
			}
		}
		for word := range strings.SplitSeq(ranges(numbers), ",") {
			first, last, found := strings.Cut(word, "-")
			if !found {
				last = first
			}
			a, err1 := strconv.Atoi(first)
			b, err2 := strconv.Atoi(last)
			require.NoError(t, err1)
			require.NoError(t, err2)
			for ; a <= b; a++ {
				back = append(back, a)
			}
		}
		require.Equal(t, numbers, back)
	}
}

func TestSlurmTime(t *testing.T) {
	require.Equal(t, "0-00:01:00", slurmTime(time.Second))
	require.Equal(t, "0-23:59:00", slurmTime(24*time.Hour-time.Minute))
	require.Equal(t, "2-01:30:00", slurmTime(49*time.Hour+30*time.Minute))
}

// awkward are words that a shell could read otherwise.
var awkward = []string{"", " ", "a b", "it's", `"`, `\`, `\\'`, "$HOME", "$(date)", "`date`", "*", "~", "!1", "a;b",
	"a&b", "#", "a\nb", "é", "-n", "{a,b}", "a=b", "100%"}

func bash(t *testing.T) string {
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	return path
}

func TestQuoteIsWhatBashReads(t *testing.T) {
	out, err := exec.Command(bash(t), "-c", `printf '%s\0' `+quoteAll(awkward)).Output()
	require.NoError(t, err)
	require.Equal(t, strings.Join(awkward, "\x00")+"\x00", string(out))
}

// Runs the script as Slurm would, with a program and a scontrol that write down how they are called.
func TestSlurmScriptInBash(t *testing.T) {
	shell := bash(t)
	// Bash cannot trap a signal that it was started to ignore, as one in the background of a shell is. Notify undoes
	// that.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT)
	defer signal.Stop(caught)
	for _, c := range []struct {
		name     string
		sent     syscall.Signal // to the script, once the program runs; to the program too where it is TERM
		restarts string
		end      string // how the program ends, on TERM if there is a signal
		status   int
		requeued bool
	}{
		{"done", 0, "", "exit 0", 0, false},
		{"failed", 0, "", "exit 1", 1, false},
		{"the run alone was interrupted", 0, "", "exit 130", 130, false},
		{"time runs out", syscall.SIGINT, "", "sleep 0.2; exit 130", 130, true},
		{"time runs out for the tenth time", syscall.SIGINT, "9", "exit 130", 130, true},
		{"time runs out for the eleventh time", syscall.SIGINT, "10", "exit 130", 130, false},
		{"time runs out as the run ends", syscall.SIGINT, "", "exit 0", 0, false},
		{"canceled", syscall.SIGTERM, "", "exit 130", 130, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's $HOME")
			require.NoError(t, os.Mkdir(dir, 0o755))
			program := filepath.Join(dir, "the saot")
			wait := c.end
			if c.sent != 0 {
				// at most 10 s
				wait = fmt.Sprintf("trap '%s' TERM; echo >ready; for i in {1..200}; do sleep 0.05; done", c.end)
			}
			executable(t, program, `printf '%s\n' "$PWD" "$@" >called; echo $$ >pid; `+wait)
			executable(t, filepath.Join(dir, "scontrol"), `echo "$@" >requeued`)
			script, err := SlurmScript(Job{Numbers: []int{3}, Command: append([]string{program}, awkward...)},
				SlurmOptions{Dir: dir, WorkDir: dir})
			require.NoError(t, err)
			file := filepath.Join(dir, SlurmFile(script))
			require.NoError(t, os.WriteFile(file, script, 0o600))

			cmd := exec.CommandContext(t.Context(), shell, file)
			cmd.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_JOB_ID=77",
				"SLURM_RESTART_COUNT="+c.restarts,
				"PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
			var out strings.Builder
			cmd.Stdout = &out
			require.NoError(t, cmd.Start())
			if c.sent != 0 {
				require.Eventually(t, func() bool { return exists(dir, "ready") }, 20*time.Second, 10*time.Millisecond)
				require.NoError(t, cmd.Process.Signal(c.sent))
				if c.sent == syscall.SIGTERM {
					pid, err := os.ReadFile(filepath.Join(dir, "pid"))
					require.NoError(t, err)
					n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
					require.NoError(t, err)
					require.NoError(t, syscall.Kill(n, c.sent))
				}
			}
			_ = cmd.Wait()
			require.Equal(t, c.status, cmd.ProcessState.ExitCode())
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			require.NoError(t, err)
			require.Equal(t, strings.Join(append(append([]string{dir}, awkward...), "--only", "3"), "\n")+"\n",
				string(called))
			requeued, _ := os.ReadFile(filepath.Join(dir, "requeued"))
			if c.requeued {
				require.Equal(t, "requeue 77_3\n", string(requeued))
			} else {
				require.Empty(t, requeued)
			}
			require.Equal(t, c.restarts == "10", strings.Contains(out.String(),
				"run 3 was queued again 10 times already: the same sweep command launches it\n"), out.String())
		})
	}
}

func executable(t *testing.T, path, script string) {
	require.NoError(t, os.WriteFile(path, []byte("#!"+bash(t)+"\n"+script+"\n"), 0o755))
}

func TestSubmit(t *testing.T) {
	bash(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct{ sbatch, job, word string }{
		{"echo 12", "12", ""},
		{"echo '12;north'", "12", ""},
		{"echo no", "", `"no\n"`},
		{"echo 'Invalid job array specification' >&2; exit 1", "", "MaxArraySize"},
		{"echo 'Invalid account' >&2; exit 1", "", "Invalid account"},
	} {
		executable(t, filepath.Join(dir, "sbatch"), c.sbatch)
		job, err := Submit(t.Context(), "slurm.sh")
		require.Equal(t, c.job, job)
		if c.word != "" {
			require.ErrorContains(t, err, c.word)
		} else {
			require.NoError(t, err)
		}
	}
	// Stopped by a signal, it says so, not only that sbatch was killed.
	executable(t, filepath.Join(dir, "sbatch"), "kill -USR1 $PPID; exec sleep 60")
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGUSR1)
	defer stop()
	_, err := Submit(ctx, "slurm.sh")
	require.ErrorIs(t, err, context.Canceled)
	t.Setenv("PATH", "")
	_, err = Submit(t.Context(), "slurm.sh")
	require.ErrorContains(t, err, "submit slurm.sh where Slurm is")
}
