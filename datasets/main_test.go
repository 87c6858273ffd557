package datasets

import (
	"os"
	"testing"

	"github.com/saot-go/saot/internal/fuzzing"
	"github.com/saot-go/saot/internal/memory"
)

func TestMain(m *testing.M) {
	if err := fuzzing.Settle(); err != nil {
		panic(err)
	}
	if err := os.Unsetenv(memory.UnboundedVariable); err != nil { // tests of bounds rely on refusals
		panic(err)
	}
	os.Exit(m.Run())
}
