// Package record writes and reads the recording of a run: what a method makes of a few nodes of each task while it
// learns. Reading checks every size and bound. Plane keeps a picture from turning or flipping between frames.
// continual.Options.Record makes a recording; playground/viewer shows it. Of this module, it imports only helpers in
// internal.
//
// # Files
//
// A recording is the folder "recording" of a run folder:
//
//	head.json           a Head: what was run, and how often a frame was taken
//	task-0001.json      a Task for each task, counted from 1: its watched nodes, its frames, its scores
//
// A file is complete or absent. The file of a task that is still learned grows by replacement, so that a process that
// is killed leaves its recording readable, and loses no more than a fifth of the frames of that task, or 16. A run that
// is resumed writes the files of the tasks that it learns again from the start. docs/recording.md has every field.
package record
