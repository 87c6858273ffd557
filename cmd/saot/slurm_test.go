//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment"
)

// startSlurm starts a cluster of this machine alone, in a folder, with a key, sockets and ports of its own, so that it
// has nothing to do with a cluster that the machine may be part of. It returns the environment that Slurm's commands
// find it by. The test is skipped where Slurm or Munge is not installed.
func startSlurm(t *testing.T) (environment []string) {
	if testing.Short() {
		t.Skip("-short: starts Slurm")
	}
	if runtime.GOOS != "linux" {
		t.Skip("Slurm runs on Linux")
	}
	programs := map[string]string{}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sinfo", "sbatch", "squeue", "scancel", "scontrol"} {
		path, err := exec.LookPath(name)
		if err != nil {
			path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
		}
		if err != nil {
			t.Skipf("%s is not installed: Debian has it in slurm-wlm and munge", name)
		}
		programs[name] = path
	}
	dir, err := os.MkdirTemp("", "slurm") // t.TempDir is too long for a socket's path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	key := make([]byte, 128)
	_, _ = rand.Read(key)
	require.NoError(t, os.WriteFile(in("munge.key"), key, 0o400))
	require.NoError(t, os.Chmod(dir, 0o711))
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")
	me, err := user.Current()
	require.NoError(t, err)
	write(t, in("slurm.conf"), fmt.Sprintf(`ClusterName=saot
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=%[2]s
SlurmdUser=%[2]s
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
AuthType=auth/munge
AuthInfo=socket=%[5]s/munge.socket
StateSaveLocation=%[5]s/state
SlurmdSpoolDir=%[5]s/spool
SlurmctldPidFile=%[5]s/slurmctld.pid
SlurmdPidFile=%[5]s/slurmd.pid
SlurmctldLogFile=%[5]s/slurmctld.log
SlurmdLogFile=%[5]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=5
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, me.Username, freePort(t), freePort(t), dir))
	require.NoError(t, os.Mkdir(in("state"), 0o755))
	require.NoError(t, os.Mkdir(in("spool"), 0o755))
	for _, name := range os.Environ() {
		// of a cluster that the test itself may run on
		if !strings.HasPrefix(name, "SLURM") && !strings.HasPrefix(name, "SBATCH") {
			environment = append(environment, name)
		}
	}
	environment = append(environment, "SLURM_CONF="+in("slurm.conf"))

	// Programs pass on that SIGINT is ignored, as it is in the background of a shell, and bash could not trap it.
	// Notify undoes that.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	t.Cleanup(func() { signal.Stop(caught) })
	daemon := func(name string, args ...string) {
		cmd := exec.Command(programs[name], args...)
		cmd.Env = environment
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		log, err := os.Create(in(name + ".out"))
		require.NoError(t, err)
		cmd.Stdout, cmd.Stderr = log, log
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
			_ = log.Close()
			if t.Failed() {
				for _, file := range []string{name + ".out", name + ".log"} {
					text, _ := os.ReadFile(in(file))
					t.Logf("%s:\n%s", file, text)
				}
			}
		})
	}
	daemon("munged", "--foreground", "--force", "--socket="+in("munge.socket"), "--key-file="+in("munge.key"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"))
	require.Eventually(t, func() bool { _, err := os.Stat(in("munge.socket")); return err == nil }, 20*time.Second,
		50*time.Millisecond)
	daemon("slurmctld", "-D", "-f", in("slurm.conf"))
	daemon("slurmd", "-D", "-f", in("slurm.conf"))
	require.Eventually(t, func() bool {
		cmd := exec.Command(programs["sinfo"], "--noheader", "--format=%T")
		cmd.Env = environment
		out, err := cmd.Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	}, time.Minute, 200*time.Millisecond, "the node did not come up")
	return environment
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// cluster is a command line on the test's Slurm.
type cluster struct {
	*testing.T
	environment []string
	folder      string // where commands are given
}

func (c *cluster) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = c.environment, c.folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *cluster) do(name string, args ...string) string {
	c.Helper()
	out, err := c.try(name, args...)
	require.NoError(c, err, out)
	return out
}

// job returns the number in what "saot sweep --launcher slurm" says.
func (c *cluster) job(said string) (id string) {
	_, err := fmt.Sscanf(said, "submitted job %s", &id)
	require.NoError(c, err, said)
	return strings.TrimSuffix(id, ":")
}

// wait returns when no task of the job is left in the queue. A task that was queued again waits some seconds, not
// Slurm's two minutes: until then nodes take it for the one that was revoked.
func (c *cluster) wait(job string) {
	requeued := map[string]time.Time{}
	require.Eventually(c, func() bool {
		out, err := c.try("squeue", "--noheader", "--array", "--jobs="+job, "--format=%i %t %r")
		for line := range strings.Lines(out) {
			if task, reason, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(reason, "BeginTime") {
				if requeued[task].IsZero() {
					requeued[task] = time.Now()
				}
				if time.Since(requeued[task]) < 4*time.Second {
					continue
				}
				_, _ = c.try("scontrol", "update", "JobId="+task, "StartTime=now")
			}
		}
		return err != nil && strings.Contains(out, "Invalid job id") || err == nil && strings.TrimSpace(out) == ""
	}, 4*time.Minute, 300*time.Millisecond)
}

func (c *cluster) outputs(dir string) string {
	files, err := filepath.Glob(filepath.Join(strings.ReplaceAll(dir, `"`, `?`), "slurm-*.out"))
	require.NoError(c, err)
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(c, err)
		fmt.Fprintf(&all, "%s:\n%s", filepath.Base(f), text)
	}
	return all.String()
}

// clusterSpec is of runs that last long enough to be interrupted.
const clusterSpec = `about: for tests
runs:
- datasets: [synthetic]
  methods: [saot]
  seeds: [0, 1, 2]
  probes: [converged]
  set: {epochs: 40, encoder.hidden: 16, encoder.out: 8, points: 32}
`

func TestSweepOnSlurm(t *testing.T) {
	environment := startSlurm(t)
	binary := build(t)
	c := &cluster{T: t, environment: environment, folder: t.TempDir()}
	spec := filepath.Join(c.folder, "a spec.yaml")
	write(t, spec, clusterSpec)
	undisturbed := filepath.Join(c.folder, "undisturbed")
	c.do(binary, "sweep", spec, "--out", undisturbed, "--engine", "go")
	want, err := experiment.OpenSweep(undisturbed)
	require.NoError(t, err)

	dir := filepath.Join(c.folder, `it's a "sweep" of $HOME at 100%a`)
	launch := []string{"sweep", "a spec.yaml", "--out", filepath.Base(dir), "--engine", "go", "--launcher", "slurm",
		"--mem", "1"}

	out := c.do(binary, append(launch, "--dry-run")...)
	require.Contains(t, out, "#SBATCH --array=0-2\n")
	require.NoDirExists(t, dir)

	job := c.job(c.do(binary, launch...))
	require.Contains(t, c.do(binary, "status", dir), "0 of 3 runs done")
	require.Contains(t, c.do(binary, launch...), "no run is left to launch")
	write(t, spec, strings.ReplaceAll(clusterSpec, "40", "41")) // of no effect on what is queued

	// Task 0 is told that its time runs out, task 1 queued again from outside, as by preemption; task 2 is left alone.
	s, err := experiment.OpenSweep(dir)
	require.NoError(t, err)
	folder := func(seed int) string {
		for i, r := range s.Runs {
			if int(r.Seed) == seed {
				return s.Folder(i)
			}
		}
		return ""
	}
	begun := func(seed int) {
		require.Eventually(t, func() bool {
			_, n, err := continual.ReadIdentity(folder(seed))
			return err == nil && n >= 1
		}, time.Minute, time.Millisecond, "run %d did not begin:\n%s", seed, c.outputs(dir))
	}
	begun(0)
	c.do("scancel", "--batch", "--signal=INT", job+"_0")
	begun(1)
	c.do("scontrol", "requeue", job+"_1")
	c.wait(job)

	require.Contains(t, c.do(binary, "status", dir), "3 of 3 runs done", c.outputs(dir))
	require.Contains(t, c.outputs(dir), "run 0 was interrupted before its time limit and is queued again")
	require.Len(t, s.Runs, 3)
	for i := range want.Runs {
		result, expected := scores(t, folder(int(want.Runs[i].Seed))), scores(t, want.Folder(i))
		require.Equal(t, expected.Scores, result.Scores, "seed %d", want.Runs[i].Seed)
		if want.Runs[i].Seed < 2 {
			require.Equal(t, 1, result.Resumed, "run %d was to be interrupted:\n%s", want.Runs[i].Seed, c.outputs(dir))
		}
	}

	write(t, spec, clusterSpec)
	require.Contains(t, c.do(binary, launch...), "no run is left to launch")

	// A canceled task stays canceled, and the same command launches what is left.
	write(t, spec, strings.ReplaceAll(clusterSpec, "[0, 1, 2]", "[0, 3]"))
	out = c.do(binary, launch...)
	require.Contains(t, out, ": 1 runs;")
	job = c.job(out)
	s, err = experiment.OpenSweep(dir)
	require.NoError(t, err)
	begun(3)
	c.do("scancel", job)
	c.wait(job)
	state, err := c.try(binary, "status", dir)
	require.Error(t, err, "a run is halted")
	require.Contains(t, state, "halted")
	require.Contains(t, state, "3 of 4 runs done")
	c.wait(c.job(c.do(binary, launch...)))
	require.Contains(t, c.do(binary, "status", dir), "4 of 4 runs done", c.outputs(dir))
	t.Log(c.outputs(dir))
}

// Runs that a job still has in the queue are not launched a second time, however the spec numbers them by now.
func TestLaunchLeavesOutTheQueue(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "out")
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	program := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!"+shell+"\n"+script+"\n"), 0o755))
	}
	launch := func(seeds string) (array, stdout, stderr string) {
		write(t, spec, strings.Replace(launchSpec, "[0, 1, 2, 3]", seeds, 1))
		_ = os.Remove(filepath.Join(dir, "array"))
		status, stdout, stderr := call(t, "sweep", spec, "--out", out, "--launcher", "slurm")
		require.Zero(t, status, stderr)
		data, _ := os.ReadFile(filepath.Join(dir, "array"))
		return strings.TrimSpace(string(data)), stdout, stderr
	}
	program("sbatch", "grep -o 'array=.*' \"$2\" >"+dir+"/array; echo 12")
	array, _, _ := launch("[0, 1, 2]")
	require.Equal(t, "array=0-2", array)
	first, err := filepath.Glob(filepath.Join(out, "slurm-*.sh"))
	require.NoError(t, err)
	require.Len(t, first, 1)
	text, err := os.ReadFile(first[0])
	require.NoError(t, err)

	program("sbatch", "grep -o 'array=.*' \"$2\" >"+dir+"/array; echo 13")
	program("squeue", `[ "$*" = "--noheader --array --jobs=12 --format=%F %K" ] && printf '12 1\n12 2\n'`)
	array, _, said := launch("[1, 0, 4]")
	require.Equal(t, "array=1-2", array, "of the queued seeds 1 and 2 the first is run 0 now")
	require.Contains(t, said, "1 runs are in the queue and not launched again: scancel 12 takes them out")
	scripts, err := filepath.Glob(filepath.Join(out, "slurm-*.sh"))
	require.NoError(t, err)
	require.Len(t, scripts, 2, "sbatch may still read the first")
	again, err := os.ReadFile(first[0])
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))

	program("squeue", `printf '12 0\n12 1\n12 2\n'`)
	array, stdout, stderr := launch("[0, 1, 2]")
	require.Empty(t, array, stderr)
	require.Contains(t, stdout, "no run is left to launch")

	program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
	array, _, _ = launch("[0, 1, 2]")
	require.Equal(t, "array=0-2", array)

	program("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1")
	refused(t, exitFailure, "Unable to contact slurm controller", "sweep", spec, "--out", out, "--launcher", "slurm")

	// A job that cannot be noted would be launched again next time.
	const jobs = "slurm-jobs.jsonl"
	out = filepath.Join(dir, "other")
	program("squeue", "exit 1")
	program("sbatch", "mkdir '"+filepath.Join(out, jobs)+"'; echo 14")
	status, stdout, stderr := call(t, "sweep", spec, "--out", out, "--launcher", "slurm")
	require.Equal(t, exitFailure, status)
	require.Contains(t, stdout, "submitted job 14")
	require.Contains(t, stderr, jobs)
}
