package playground

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
)

// Build writes the playground into a folder that any web server can serve, under any prefix: pages, scripts, the
// modules, compressed, and their licenses. It needs the go command, and outside a checkout a network or a module cache
// that has this version. The cache is the folder where modules are built; "" means DefaultCache. say, unless nil, hears
// what takes long. Build returns an error if the sources or Go are missing, if a module does not compile, and if a file
// cannot be written.
func Build(ctx context.Context, out, cache string, say func(format string, args ...any)) error {
	tool, err := prepare(ctx, out, cache)
	if err != nil {
		return err
	}
	for _, module := range modules {
		if say != nil {
			say("building the module %s for the browser; the first time takes about a minute\n", module)
		}
		packed, err := tool.build(ctx, module)
		if err == nil {
			err = file.Write(modulePath(out, module), packed)
		}
		if err != nil {
			return err
		}
	}
	texts, err := tool.licenses(ctx)
	if err != nil {
		return err
	}
	return file.Write(filepath.Join(out, LicenseFile), texts)
}

// LicenseFile is the file of a built playground that has the licenses of what the modules link and of the recordings'
// graphs. The scripts begin with their own.
const LicenseFile = "THIRD_PARTY_LICENSES"

func modulePath(out, module string) string {
	return filepath.Join(out, "assets", module+".wasm.gz")
}

// prepare writes all but the modules.
func prepare(ctx context.Context, out, cache string) (*toolchain, error) {
	if cache == "" {
		var err error
		if cache, err = DefaultCache(); err != nil {
			return nil, err
		}
	}
	tool, err := newToolchain(ctx, cache)
	if err != nil {
		return nil, err
	}
	script, err := tool.runtime()
	if err != nil {
		return nil, err
	}
	if err := file.Write(filepath.Join(out, "assets", "wasm_exec.js"), script); err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	return tool, writePages(out)
}

// Server serves the playground. Pages show at once, while modules are still built.
type Server struct {
	dir   string
	files http.Handler
	built map[string]*built // by path
}

// built is a module that is built in the background.
type built struct {
	ready chan struct{} // closed when the module is there, or failed
	fault error         // set before that
}

// NewServer builds the playground in a temporary folder, modules in the background. Close removes the folder.
func NewServer(ctx context.Context, cache string) (*Server, error) {
	dir, err := os.MkdirTemp("", "saot-play-")
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	tool, err := prepare(ctx, dir, cache)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Server{dir: dir, files: http.FileServer(http.Dir(dir)), built: map[string]*built{}}
	for _, module := range modules {
		s.built["/assets/"+module+".wasm.gz"] = &built{ready: make(chan struct{})}
	}
	go func() {
		for _, module := range modules {
			packed, err := tool.build(ctx, module)
			if err == nil {
				err = file.Write(modulePath(dir, module), packed)
			}
			b := s.built["/assets/"+module+".wasm.gz"]
			b.fault = err
			close(b.ready)
		}
	}()
	return s, nil
}

// Wait returns once all modules are built, with their errors.
func (s *Server) Wait() error {
	var all []error
	for _, b := range s.built {
		<-b.ready
		all = append(all, b.fault)
	}
	return errors.Join(all...)
}

// Close removes the served files. Wait must have returned: a module that is written later would make the folder
// again.
func (s *Server) Close() error { return os.RemoveAll(s.dir) }

// ServeHTTP answers a request for a file. One for a module waits until it is built.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b, ok := s.built[r.URL.Path]; ok {
		select {
		case <-b.ready:
		case <-r.Context().Done():
			return
		}
		if b.fault != nil {
			http.Error(w, b.fault.Error(), http.StatusInternalServerError)
			return
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, ".gz"):
		w.Header().Set("Content-Type", "application/gzip")
	case strings.HasSuffix(r.URL.Path, ".js"): // whatever the system's table says
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.files.ServeHTTP(w, r)
}

// Serve answers requests that come to a listener until ctx ends. Where the listener is on a loopback address, requests
// by any other name are refused: a page from elsewhere could make its own name stand for this machine.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	handler := http.Handler(s)
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		handler = http.HandlerFunc(s.serveLocal)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("playground: %w", err)
}

func (s *Server) serveLocal(w http.ResponseWriter, r *http.Request) {
	name := (&url.URL{Host: r.Host}).Hostname()
	if ip := net.ParseIP(name); name != "localhost" && !ip.IsLoopback() {
		http.Error(w, "this server is only for localhost: see saot play --address", http.StatusForbidden)
		return
	}
	s.ServeHTTP(w, r)
}
