package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/saot-go/saot/internal/file"
)

// slurmJobsFile is the name of the list of jobs in the folder of a sweep that was launched on Slurm: one line per job.
const slurmJobsFile = "slurm-jobs.jsonl"

// mostJobs is the largest size of that list, in bytes.
const mostJobs = 64 << 20

// slurmJob is an array job. It names the folders of its runs by the tasks' numbers: those are of a spec that may have
// changed since.
type slurmJob struct {
	ID      string            `json:"id"`
	Folders map[string]string `json:"folders"`
}

// Submitted notes in the sweep's folder that a job of Slurm, numbered as Submit returns it, has a task for each of the
// runs.
func (s *Sweep) Submitted(job string, numbers []int) error {
	j := slurmJob{ID: job, Folders: map[string]string{}}
	for _, n := range numbers {
		j.Folders[fmt.Sprint(n)] = filepath.Base(s.Folder(n))
	}
	line, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("experiment: slurm: %w", err)
	}
	path := filepath.Join(s.Dir, slurmJobsFile)
	out, err := file.OpenOwn(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("experiment: slurm: %w", err)
	}
	return nil
}

// InQueue returns the jobs that have runs of the sweep in Slurm's queue, by the runs' numbers: waiting tasks have no
// lock, so that State cannot tell them. It knows only the jobs of Submitted, and none where there is no squeue.
func (s *Sweep) InQueue(ctx context.Context) (jobs map[int]string, err error) {
	folders, ids, err := s.submitted()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	path, err := exec.LookPath("squeue")
	if err != nil {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, path, "--noheader", "--array", "--jobs="+strings.Join(ids, ","), "--format=%F %K")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(errs.String(), "Invalid job id") { // they have ended, and Slurm has forgotten them
			return nil, nil
		}
		return nil, fmt.Errorf("experiment: slurm: squeue: %w: %s", errors.Join(err, ctx.Err()),
			strings.TrimSpace(errs.String()))
	}
	queued := map[string]string{} // job by folder
	for task := range strings.Lines(string(out)) {
		task = strings.TrimSpace(task)
		job, _, _ := strings.Cut(task, " ")
		queued[folders[task]] = job
	}
	jobs = map[int]string{}
	for i := range s.Runs {
		if job, ok := queued[filepath.Base(s.Folder(i))]; ok {
			jobs[i] = job
		}
	}
	return jobs, nil
}

// submitted reads what Submitted has noted: the folder of each task, "job number", and the jobs.
func (s *Sweep) submitted() (folders map[string]string, ids []string, err error) {
	path := filepath.Join(s.Dir, slurmJobsFile)
	data, err := file.Read(path, mostJobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("experiment: slurm: %w", err)
	}
	folders = map[string]string{}
	for line := range bytes.Lines(data) {
		var j slurmJob
		if err := json.Unmarshal(line, &j); err != nil {
			return nil, nil, fmt.Errorf("experiment: slurm: %s: %w: remove it if no job is in the queue", path, err)
		}
		ids = append(ids, j.ID)
		for number, folder := range j.Folders {
			folders[j.ID+" "+number] = folder
		}
	}
	return folders, ids, nil
}
