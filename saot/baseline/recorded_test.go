package baseline

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/continual/record"
	_ "github.com/saot-go/saot/saot/control"
	"github.com/saot-go/saot/saot/engine/enginetest"
	"github.com/saot-go/saot/saot/method"
)

// Every method can be recorded, and has the figures that it has without, bit for bit. Package saot tests its own.
func TestRecordingChangesNoFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: two runs of every method")
	}
	e := enginetest.Go(t)
	for _, d := range method.All() {
		if d.Kind == method.Ours {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			run := func(opt continual.Options) *continual.Result {
				stream := sampledStream(t)
				l, err := method.New(d.Name, smallBuild(e, stream, tinySettings(t, d.Name)))
				require.NoError(t, err)
				opt.Engine = e
				if d.Probed() {
					opt.Probes = []continual.Probe{continual.ProbeConverged}
				}
				r, err := continual.Run(context.Background(), stream, l, opt)
				require.NoError(t, err)
				for i := range r.Tasks {
					r.Tasks[i].Seconds = 0
					for name := range r.Tasks[i].Diagnostics {
						if strings.HasSuffix(name, "seconds") {
							delete(r.Tasks[i].Diagnostics, name)
						}
					}
				}
				return r
			}
			dir := filepath.Join(t.TempDir(), "run")
			plain, recorded := run(continual.Options{}), run(continual.Options{Dir: dir, Record: 1,
				Manifest: continual.Manifest{Method: d.Name}})
			require.Equal(t, plain.Scores, recorded.Scores)
			require.Equal(t, plain.Tasks, recorded.Tasks)
			r, err := record.Read(dir)
			require.NoError(t, err)
			require.Len(t, r.Tasks, 2)
			for _, task := range r.Tasks {
				require.NotEmpty(t, task.Frames)
				require.NotNil(t, task.Frames[len(task.Frames)-1].Points)
				require.NotEmpty(t, task.Scores)
			}
		})
	}
}
