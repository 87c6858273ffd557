// Package metrics records a run while it works: as JSON lines for programs, and as event files that TensorBoard opens.
//
//	w, err := metrics.New(dir, metrics.Options{})
//	...
//	result, err := continual.Run(ctx, stream, learner, continual.Options{Dir: dir, Resume: true, Observe: w.Observe,
//		Manifest: continual.Manifest{Method: "mine"}})
//	if err := w.Close(); err != nil {
//		slog.Warn(err.Error()) // the result does not need the metrics
//	}
//
// A folder belongs to one run, and may be the run's own. For a folder of such folders, `tensorboard --logdir` shows one
// run per folder. A folder holds
//
//	metrics.jsonl                              one Line per line, in the order in which things happened
//	events.out.tfevents.<unix>.<host>.<n>      one for each start of the run; n counts the event files before it
//
// # Steps
//
// The global step is the number of training steps since the start of the first task; it never goes back. A task without
// training steps counts for one, so that no two tasks report at the same step. Reports and scores of a task stand at
// its last step.
//
// # Scalars
//
//	loss/<term>                                  a step
//	sinkhorn/marginal_error                      a step, where a plan between embeddings is solved
//	task/nodes, task/seconds                     a task: see continual.TaskReport
//	diagnostics/<name>                           a task: documented by the learner
//	<setting>/<probe>/AP, <setting>/<probe>/AF   an evaluation: average performance (%) and forgetting (points) so far
//	<setting>/<probe>/accuracy/task-<nn>         a column of the performance matrix, in percent, counted from 1
//
// They have the precision of float32; metrics.jsonl has all of float64. A figure of a step that is not finite is left
// out of metrics.jsonl, because JSON cannot represent it. The event file has it.
//
// # Starting again
//
// The first event says where a run starts: at its first task, or, by continual.Resumed, after those that its checkpoint
// holds. Lines of that task and later ones are dropped from metrics.jsonl. So is a last line that was cut short when
// the process was killed. The finished file has every step exactly once. An event file is never changed afterward,
// because a TensorBoard may be reading it. Instead each start opens a new one, whose name sorts after the others, and
// which begins with TensorFlow's mark of a restart, SessionLog START at the next step: readers drop what they hold from
// that step on. (TensorBoard's newer reader ignores the mark and drops, in each scalar, what a smaller step supersedes;
// both show the same once the task is done again.)
package metrics
