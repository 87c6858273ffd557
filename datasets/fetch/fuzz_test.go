package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAnswer holds that whatever a server answers, in whatever state an earlier download left its files, a wrong file
// never gets its name.
func FuzzAnswer(f *testing.F) {
	dir, want := f.TempDir(), []byte("0123456789")
	note := []byte(`{"url_sha256":"` + hash([]byte("http://host/x")) + `","etag":"\"a\"","total":10}`)
	f.Add(200, "", `"a"`, want, []byte("01234"), note)
	f.Add(206, "bytes 5-9/10", `"a"`, want[5:], want[:5], note)
	f.Add(206, "bytes 0-4/9223372036854775807", "", want, want[:5], []byte(`{"total":-5}`))
	f.Add(416, "bytes */10", "", []byte{}, want, []byte(`{"total":10}`))
	f.Fuzz(func(t *testing.T, code int, span, tag string, body, part, note []byte) {
		path := filepath.Join(dir, "x")
		require.NoError(t, os.WriteFile(path+".part", part, 0o600))
		require.NoError(t, os.WriteFile(path+".part.json", note, 0o600))
		requests := 0
		client := &http.Client{Transport: answer(func(*http.Request) (*http.Response, error) {
			if requests++; requests > 3 {
				return nil, marked{errors.New("no more"), errPermanent}
			}
			return &http.Response{StatusCode: code, Status: "some", Header: http.Header{"Content-Range": {span},
				"Etag": {tag}},
				ContentLength: -1, Body: io.NopCloser(bytes.NewReader(body))}, nil
		})}
		_, err := Fetch(t.Context(), Request{URLs: []string{"http://host/x"}, Path: path, SHA256: hash(want),
			MaxBytes: 100, Client: client, Backoff: 1})
		if err != nil {
			require.NoFileExists(t, path)
			return
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, os.Remove(path))
	})
}

type answer func(*http.Request) (*http.Response, error)

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }
