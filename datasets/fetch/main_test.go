package fetch

import (
	"os"
	"testing"

	"github.com/saot-go/saot/internal/fuzzing"
)

func TestMain(m *testing.M) {
	if err := fuzzing.Settle(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
