package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/saot-go/saot/internal/shell"
)

// SlurmFile returns the name of a script in the folder of a sweep that is launched on Slurm. The name contains the
// script's hash, because two launches may use the same folder at once.
func SlurmFile(script []byte) string { return "slurm-" + shortHash(script) + ".sh" }

// SlurmOptions are what a cluster's Slurm asks for.
type SlurmOptions struct {
	Dir       string // where the tasks' output goes, absolute
	WorkDir   string // where the tasks run, absolute: relative paths in specs count from there
	Partition string
	Account   string
	Extra     []string // further options of sbatch, such as --gres=gpu:1, verbatim
}

// slurmWarning is how long before its time limit a task is told to stop. It then queues itself again, unless it has
// been queued again slurmRequeues times; Slurm counts preemptions too. Each time it finishes at least one more task of
// the stream, unless the limit is too short for one.
const (
	slurmWarning  = 60 * time.Second // Slurm rounds it to up to twice that
	slurmRequeues = 10
	slurmLeast    = 5 * time.Minute
)

// SlurmScript returns the script of an array job whose tasks do the runs, for sbatch. A task is numbered like its run.
// Slurm queues it again when it was preempted or its node failed; when its time runs out it stops its run and queues
// itself again. Either way the run continues after its last finished task of the stream. It returns an error where the
// job or a path cannot be written down.
func SlurmScript(j Job, o SlurmOptions) ([]byte, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.WorkDir) {
		return nil, fmt.Errorf("experiment: slurm: folders %s and %s: want absolute paths", o.Dir, o.WorkDir)
	}
	if j.Time > 0 && j.Time < slurmLeast {
		return nil,
			fmt.Errorf("experiment: slurm: a time of %v: want %v or more, for tasks are told to stop a minute or "+
				"two before",
				j.Time, slurmLeast)
	}
	options, err := o.sbatch(j)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = slurmTemplate.Execute(&b, map[string]any{
		"Options": options, "Runs": len(j.Numbers), "Factor": TimeFactor, "MemoryFactor": MemoryFactor,
		"WorkDir": shell.Quote(o.WorkDir), "Command": quoteAll(j.Command), "Requeues": slurmRequeues,
	})
	return b.Bytes(), err
}

// slurmTemplate relies on this: Slurm sends INT to the script alone, before the time limit, and TERM to the script and
// all that it started, when the job is canceled or preempted. After TERM it is Slurm that decides whether the task is
// queued again. A signal ends bash's wait before the command has ended, hence the loop.
var slurmTemplate = template.Must(template.New("").Parse(`#!/bin/bash
# Written by saot sweep: an array job with a task for each of the {{.Runs}} runs that were left to do.
# Time and memory, where the command did not say: {{.Factor}} and {{.MemoryFactor}} times the largest estimates.
{{range .Options}}#SBATCH {{.}}
{{end}}
cd -- {{.WorkDir}} || exit 1

stop=
work=
signaled=
interrupt() { [ "$stop" != time ] || [ -z "$work" ] || kill -TERM "$work"; }
trap 'signaled=1; stop=${stop:-time}; interrupt' INT
trap 'signaled=1; stop=ended' TERM

{{.Command}} --only "$SLURM_ARRAY_TASK_ID" &
work=$!
interrupt # if the signal came before work was known
while true; do
  wait "$work"
  status=$?
  [ "$signaled" ] || break
  signaled=
done

if [ "$stop" = time ] && [ "$status" -eq 130 ]; then
  if [ "${SLURM_RESTART_COUNT:-0}" -lt {{.Requeues}} ]; then
    echo "saot: run $SLURM_ARRAY_TASK_ID was interrupted before its time limit and is queued again"
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  else
    echo "saot: run $SLURM_ARRAY_TASK_ID was queued again {{.Requeues}} times already:" \
      "the same sweep command launches it"
  fi
fi
exit "$status"
`))

func (o *SlurmOptions) sbatch(j Job) ([]string, error) {
	array := ranges(j.Numbers)
	if j.Workers > 0 {
		array += "%" + strconv.Itoa(j.Workers)
	}
	// In the name of an output file % begins a field, and a backslash would turn fields off.
	output := strings.ReplaceAll(filepath.Join(o.Dir, "slurm-"), "%", "%%") + "%A_%a.out"
	options := []string{
		"--job-name=" + label(j.Name), "--array=" + array, "--output=" + quoteSbatch(output), "--open-mode=append",
		"--requeue", fmt.Sprintf("--signal=B:INT@%.0f", slurmWarning.Seconds()),
		"--ntasks=1", // newer versions of Slurm refuse --gpus-per-task without
	}
	if j.Time > 0 {
		options = append(options, "--time="+slurmTime(j.Time))
	}
	for _, n := range []struct {
		option string
		value  int64
	}{{"--mem=%dM", (j.Memory + 1<<20 - 1) >> 20}, {"--cpus-per-task=%d", int64(j.CPUs)},
		{"--gpus-per-task=%d", int64(j.GPUs)}} {
		if n.value > 0 {
			options = append(options, fmt.Sprintf(n.option, n.value))
		}
	}
	if o.Partition != "" {
		options = append(options, "--partition="+quoteSbatch(o.Partition))
	}
	if o.Account != "" {
		options = append(options, "--account="+quoteSbatch(o.Account))
	}
	options = append(options, o.Extra...)
	for _, option := range options {
		if strings.ContainsAny(option, "\r\n") {
			return nil, fmt.Errorf("experiment: slurm: the option %q has a line break: sbatch cannot read it", option)
		}
	}
	if strings.Contains(output, `\`) {
		return nil,
			fmt.Errorf("experiment: slurm: the folder %s has a backslash, which Slurm does not take in names of "+
				"output files", o.Dir)
	}
	return options, nil
}

// Submit hands the script in a file to sbatch and returns the job's number. It returns an error that holds what sbatch
// said.
func Submit(ctx context.Context, script string) (job string, err error) {
	path, err := exec.LookPath("sbatch")
	if err != nil {
		return "", fmt.Errorf("experiment: slurm: %w: submit %s where Slurm is", err, script)
	}
	cmd := exec.CommandContext(ctx, path, "--parsable", script)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		hint := ""
		if strings.Contains(errs.String(), "array specification") {
			hint = ": a run's number may be beyond the cluster's MaxArraySize: divide the spec"
		}
		return "", fmt.Errorf("experiment: slurm: sbatch %s: %w: %s%s", script, errors.Join(err, ctx.Err()),
			strings.TrimSpace(errs.String()), hint)
	}
	job, _, _ = strings.Cut(strings.TrimSpace(string(out)), ";") // then comes the cluster's name, if there are several
	if _, err := strconv.Atoi(job); err != nil {
		return "", fmt.Errorf("experiment: slurm: sbatch %s answered %q, want a job's number", script, out)
	}
	return job, nil
}

// ranges writes rising numbers shortly: 0-3,7.
func ranges(numbers []int) string { return inRuns(numbers, 2, "-", ",") }

// slurmTime writes a duration, in minutes and up, as days-hours:minutes:seconds.
func slurmTime(d time.Duration) string {
	m := int64((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d-%02d:%02d:00", m/(24*60), m/60%24, m%60)
}

func quoteAll(words []string) string {
	text := ""
	for _, w := range words {
		text += " " + shell.Quote(w)
	}
	return strings.TrimPrefix(text, " ")
}

// quoteSbatch writes a word such that sbatch reads it as it is in a line of options.
func quoteSbatch(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
