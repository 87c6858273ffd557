// Package experiment turns files into runs and runs into files: a Run is a method on a stream with all its settings; a
// Spec, in YAML, names many of them; a sweep does the runs, on one machine or on many; and Results become tables, in
// which the paper's values have their own columns. It imports the registry, not the methods: a program that reads
// Results imports saot/method/all.
package experiment
