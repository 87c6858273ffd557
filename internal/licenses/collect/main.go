// Command collect writes the licenses of all that the release archives link to a file, for GoReleaser:
//
//	go run ./internal/licenses/collect FILE
package main

import (
	"context"
	"log"
	"os"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/licenses"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("use: go run ./internal/licenses/collect FILE")
	}
	if err := collect(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// collect asks for each system of the archives: they link different modules.
func collect(ctx context.Context, out string) error {
	var systems [][]string
	for _, name := range []string{"linux", "darwin", "windows"} {
		systems = append(systems, []string{"CGO_ENABLED=0", "GOOS=" + name})
	}
	text, err := licenses.Of(ctx, "", systems, "./cmd/saot")
	if err != nil {
		return err
	}
	return file.Write(out, text)
}
