// Package fuzzing makes go test -fuzz spend its time on new inputs.
package fuzzing

import "flag"

// minimizeFlag bounds what the fuzzer does to shorten an input that reaches new code. Its default is a minute for each
// input. Coverage within inflate and the garbage collector varies from run to run, so that nearly every input seems to
// reach new code: the fuzzer would do nothing else.
const minimizeFlag = "test.fuzzminimizetime"

// Settle lowers the flag to one attempt unless it was given. TestMain calls it before it runs the tests.
func Settle() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == minimizeFlag })
	if given || flag.Lookup(minimizeFlag) == nil {
		return nil
	}
	return flag.Set(minimizeFlag, "1x")
}
