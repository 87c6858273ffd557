// Package baseline holds what SAOT's figures are read against, as learners of the same protocol, a file each: Majority
// knows only how often a class occurs, Features are the raw features, Propagated are the features after two hops of
// propagation, at full width or reduced, and Random is an encoder that was never trained. None of them trains by
// gradient, and none sees a label.
//
// Method names them, and SAOT with its ablations, for commands and tables; New makes the learner of a name.
package baseline
