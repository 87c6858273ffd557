// Package baseline holds the methods that the paper compares SAOT with: eight self-supervised ones, which see no label,
// and six supervised ones, which see those of train and valid nodes and classify by themselves. Each registers itself
// with package method and has its own settings. The defaults are the constants of the method's paper or reference code,
// except where docs/methods.md gives another value and the reason.
//
// It imports the packages on which methods are built.
//
// The objectives of gae, dgi and gbt carry their equation's number in the paper. The others name the paper and follow
// its reference code, or a description of the paper where no code is public (riegrace); their numbers could not be
// looked up.
package baseline
