//go:build unix

package nb

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
)

// asCell makes the test binary a cell's program, which a fake kernel starts: gonb decides at start whether it runs in a
// notebook. Its value is how long the cell waits for a page.
const asCell = "PLOTTING_NB_TEST_CELL"

func TestMain(m *testing.M) {
	if patience, err := time.ParseDuration(os.Getenv(asCell)); err == nil {
		err := live(context.Background(), patience, "ε", []string{"0.1", "0.2", "0.5"}, func(i int) (plotting.Figure, error) {
			fmt.Println("draw", i)
			return plotting.Matrix([][]float64{{float64(50 + i)}}, plotting.MatrixOptions{})
		})
		fmt.Println("live:", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeKernel plays GoNB's part of the pipes, and a page's if there is an answer: it gets each piece of HTML and returns
// values to send back.
type fakeKernel struct {
	answer func(html string) []protocol.CommValue
	html   []string
	images int
}

// run executes the cell and returns what it printed.
func (k *fakeKernel) run(t *testing.T, patience time.Duration, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	require.NoError(t, syscall.Mkfifo(from, 0o600))
	require.NoError(t, syscall.Mkfifo(to, 0o600))
	// Opened for both directions, so that opening waits for nobody.
	reader, err := os.OpenFile(from, os.O_RDWR, 0)
	require.NoError(t, err)
	writer, err := os.OpenFile(to, os.O_RDWR, 0)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cell := exec.CommandContext(ctx, os.Args[0])
	cell.Env = append(os.Environ(), asCell+"="+patience.String(), protocol.GONB_PIPE_ENV+"="+from, protocol.GONB_PIPE_BACK_ENV+"="+to)
	cell.Env = append(cell.Env, env...)
	served := make(chan struct{})
	go func() {
		defer close(served)
		k.serve(gob.NewDecoder(reader), gob.NewEncoder(writer))
	}()
	printed, err := cell.CombinedOutput()
	require.NoError(t, errors.Join(err, ctx.Err()), "%s", printed)
	require.NoError(t, errors.Join(reader.Close(), writer.Close()))
	<-served
	return string(printed)
}

func (k *fakeKernel) serve(in *gob.Decoder, out *gob.Encoder) {
	for {
		var data protocol.DisplayData
		if in.Decode(&data) != nil {
			return
		}
		if v, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue); ok && v.Address == protocol.GonbuiSyncAddress {
			_ = out.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.Value})
		}
		if _, ok := data.Data[protocol.MIMEImagePNG]; ok {
			k.images++
		}
		if page, ok := data.Data[protocol.MIMETextHTML].(string); ok {
			k.html = append(k.html, page)
			if k.answer == nil {
				continue
			}
			for _, v := range k.answer(page) {
				_ = out.Encode(&v)
			}
		}
	}
}

func TestLiveGivesUpWithoutABrowser(t *testing.T) {
	printed := (&fakeKernel{}).run(t, time.Second)
	require.Equal(t, fmt.Sprintln("live:", ErrHeadless), printed)
}

func TestLiveGivesUpAtOnceWhenTold(t *testing.T) {
	k := &fakeKernel{}
	require.Equal(t, fmt.Sprintln("live:", ErrHeadless), k.run(t, time.Minute, HeadlessEnv+"=1"))
	require.Empty(t, k.html, "nothing is sent")
}

func TestLiveGivesUpOnAPageThatFallsSilent(t *testing.T) {
	k := &fakeKernel{answer: func(page string) []protocol.CommValue {
		if at := regexp.MustCompile(`/saot/heartbeat/\w+`).FindString(page); at != "" {
			return []protocol.CommValue{{Address: at, Value: 1}}
		}
		return nil
	}}
	require.Equal(t, fmt.Sprintln("live:", ErrHeadless), k.run(t, time.Second))
}

func TestLiveRedraws(t *testing.T) {
	var slider, button string
	pictures := 0
	k := &fakeKernel{}
	k.answer = func(page string) []protocol.CommValue {
		find := func(pattern string) string { return regexp.MustCompile(pattern).FindString(page) }
		if at := find(`/saot/heartbeat/\w+`); at != "" {
			return []protocol.CommValue{{Address: at, Value: 1}}
		}
		if at := find(`/saot/slider/\w+`); at != "" {
			slider = at
			return []protocol.CommValue{{Address: at, Value: "0"}} // a page sends what the element holds, a string
		}
		if at := find(`/saot/button/\w+`); at != "" {
			button = at
			return []protocol.CommValue{{Address: at, Value: 0}}
		}
		if strings.Contains(page, "data:image/png;base64,") {
			pictures++
			if pictures == 1 {
				return []protocol.CommValue{{Address: slider, Value: "2"}}
			}
			return []protocol.CommValue{{Address: button, Value: 1}}
		}
		return nil
	}
	require.Equal(t, "draw 0\ndraw 2\nlive: <nil>\n", k.run(t, time.Minute))
	require.Equal(t, 2, pictures)
	require.Equal(t, 1, k.images, "the last figure stays")
}

func TestLiveErrors(t *testing.T) {
	require.ErrorContains(t, Live(t.Context(), "ε", nil, nil), "no values")
	require.ErrorIs(t, Live(t.Context(), "ε", []string{"1"}, nil), ErrNoNotebook)
}
