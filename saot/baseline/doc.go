// Package baseline holds what SAOT's figures are read against, as learners of the same protocol, a file each.
//
// The controls: Majority knows only how often a class occurs, Features are the raw features, Propagated are the features after
// two hops of propagation, at full width or reduced, and Random is an encoder that was never trained. None of them trains by
// gradient, and none sees a label.
//
// The methods that the paper compares with: eight self-supervised ones (NewCompared), which see no label either, and six
// supervised ones (NewSupervised), which see those of train and valid nodes and classify by themselves. Each has settings of
// its own, whose defaults are the constants of its paper or its reference code. The objectives of gae, dgi and gbt carry
// their equation's number in the paper. The others name the paper and follow its reference code, or a description of the
// paper where no code is public (riegrace); their numbers could not be looked up.
//
// Method names them, and SAOT with its ablations, for commands and tables; New makes the learner of a name.
package baseline
