// Package experiment turns files into runs and runs into files: a Run is a method on a stream with all its settings; a
// Spec, in YAML, names many of them; a sweep works them off, on one machine or on many; and from the Results come
// tables, with the paper's figure in a column of its own. It imports the registry, not the methods: a program that
// reads Results imports saot/method/all.
package experiment
