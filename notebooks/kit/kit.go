package kit

import (
	"cmp"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/saot-go/saot/saot/engine"
)

// Must returns the value, or stops the cell with the error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// grading is set in Grade, where an error counts as wrong and the notebook continues.
var grading bool

// Check stops the cell on an error.
func Check(err error) {
	switch {
	case err == nil:
	case grading:
		panic(err)
	default:
		log.Fatal(err)
	}
}

// Saved names a file that outlives its cell and ends with the kernel.
func Saved(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("GONB_TMP_DIR"), os.TempDir()), name)
}

// Fresh names a folder as Saved does and empties it: a run folder that an earlier run of the cell left is in the way.
func Fresh(name string) string {
	dir := Saved(name)
	Check(os.RemoveAll(dir))
	return dir
}

// EngineEnv names the engine of all notebooks, such as xla:cpu.
const EngineEnv = "SAOT_NOTEBOOKS_ENGINE"

// Engine is the engine that EngineEnv names, or pure Go, which prints the committed numbers on amd64 (golden.Exact). It
// is the same at every call.
var Engine = sync.OnceValue(func() *engine.Engine { return Must(engine.Open(cmp.Or(os.Getenv(EngineEnv), "go"))) })
