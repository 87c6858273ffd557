package playground

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// Pages are whole, name only files that are there, and by relative addresses.
func TestPagesNameWhatIsThere(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, writePages(out))
	require.NoError(t, os.WriteFile(filepath.Join(out, "assets", "wasm_exec.js"), nil, 0o600))
	for _, module := range modules {
		require.NoError(t, os.WriteFile(modulePath(out, module), nil, 0o600))
	}
	address := regexp.MustCompile(`(?:href|src)="([^"#]+)"`)
	for _, p := range Pages() {
		text, err := os.ReadFile(filepath.Join(out, p.Name+".html"))
		require.NoError(t, err)
		require.Contains(t, html.UnescapeString(string(text)),
			`http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval';`)
		for _, found := range address.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(found[1], "data:") {
				continue
			}
			require.FileExists(t, filepath.Join(out, found[1]), "%s names it", p.Name)
		}
	}
}

// The scripts that the embedded bundles hold end no element and begin with their license.
func TestBundlesSayWhatTheyHold(t *testing.T) {
	files, err := bundles.ReadDir("pages")
	require.NoError(t, err)
	for _, f := range files {
		text, err := bundles.ReadFile("pages/" + f.Name())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "/*! SAOT's playground, "+strings.TrimSuffix(f.Name(), ".js")))
	}
}

// Bundled recordings are small.
func TestRecordingsAreSmall(t *testing.T) {
	files, err := recordings.ReadDir("recordings")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(400_000), f.Name())
	}
}

// A site of the server works under a prefix, and the modules that it serves are those that Build writes.
func TestServerServesModules(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds modules for the browser")
	}
	s, err := NewServer(t.Context(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, path := range []string{"/assets/solver.wasm.gz", "/", "/transport.html", "/assets/wasm_exec.js"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		require.NotEmpty(t, w.Body.Bytes(), path)
	}
	require.NoError(t, s.Wait())
}

// On a loopback address, only requests by a loopback name are answered. On another one, the names are the user's.
func TestServerRefusesForeignNames(t *testing.T) {
	s := &Server{files: http.FileServer(http.Dir(t.TempDir()))}
	ask := func(listen, host string) int {
		listener, err := net.Listen("tcp", listen)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx, listener) }()
		port := listener.Addr().(*net.TCPAddr).Port
		request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		require.NoError(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		stop()
		require.NoError(t, <-ended)
		return answer.StatusCode
	}
	for _, host := range []string{"localhost", "localhost:80", "127.0.0.1", "127.0.0.2:7373", "[::1]:7373"} {
		require.Equal(t, http.StatusOK, ask("127.0.0.1:0", host), host)
	}
	for _, host := range []string{"example.com", "example.com:7373", "10.0.0.1", "localhost.example.com", "[::2]"} {
		require.Equal(t, http.StatusForbidden, ask("127.0.0.1:0", host), host)
	}
	require.Equal(t, http.StatusOK, ask("0.0.0.0:0", "example.com"))
}

// A page that is opened from a folder says that it needs a server.
func TestPagesInAFolder(t *testing.T) {
	b := browsertest.Open(t)
	out := t.TempDir()
	require.NoError(t, writePages(out))
	require.NoError(t, os.WriteFile(filepath.Join(out, "assets", "wasm_exec.js"), nil, 0o600))
	for page, what := range map[string]string{"transport": "The solver", "continual": "The recording uai"} {
		b.Go("file://" + out + "/" + page + ".html")
		b.Until(`document.querySelector('.status').textContent ===
			'` + what + ` cannot be loaded. A page opened from a folder cannot load it: serve the folder ' +
			'(python3 -m http.server -d FOLDER) or use saot play.'`)
	}
	b.Faults() // the browser's own words about it
}
