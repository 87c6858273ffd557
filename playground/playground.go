// Package playground is SAOT in a browser tab: pages that run the packages of this module as WebAssembly. README.md
// next to this file describes how they are made, the addresses that show a state, and how to add a page.
//
//go:generate npm ci --ignore-scripts
//go:generate npm run build
package playground

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"github.com/saot-go/saot/internal/file"
)

// Address is where saot play listens, unless told otherwise. Notebooks link to it.
const Address = "127.0.0.1:7373"

//go:embed page.html style.css continual.css viewer/theme.js
var shell embed.FS

//go:embed pages/*.js
var bundles embed.FS

//go:embed recordings/*.zip
var recordings embed.FS

//go:embed recordings/NOTICE
var notice []byte // of whom the recordings' graphs are

// Page is one page of the playground.
type Page struct {
	Name    string   // of the page's file without .html, and of its bundle in pages/src
	Title   string   // in the navigation
	Summary string   // a sentence for the first page and for search engines
	Modules []string // the WebAssembly modules that the page loads at once
}

// pages lists the pages in the order of the navigation. "index" is the first page and has no bundle.
var pages = []Page{
	{Name: "index", Title: "Playground", Summary: "Optimal transport and continual graph learning in a browser tab."},
	{Name: "transport", Title: "Transport", Modules: []string{"solver"},
		Summary: "Drag two clouds of points, and watch the plan that moves one onto the other."},
	{Name: "gromov", Title: "Graphs", Modules: []string{"solver"},
		Summary: "Match two graphs whose nodes cannot be compared, by their edges and colors."},
	{Name: "continual", Title: "Continual",
		Summary: "Train SAOT and other methods on a stream of graphs, and compare them after each task."},
}

// Pages returns the pages in the order of the navigation.
func Pages() []Page { return append([]Page(nil), pages...) }

// policy is the content security policy that each page sets: what it loads comes from its own origin, except images in
// data: and blob: addresses.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; " +
	"img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; " +
	"form-action 'none'"

// writePages writes everything but the modules into a folder. Addresses in the pages are relative, so that the folder
// works under any prefix.
func writePages(out string) error {
	t, err := template.ParseFS(shell, "page.html")
	if err != nil {
		return fmt.Errorf("playground: %w", err)
	}
	for _, p := range pages {
		var text bytes.Buffer
		err := t.Execute(&text, map[string]any{"Page": p, "Pages": pages, "Policy": policy})
		if err == nil {
			err = file.Write(filepath.Join(out, p.Name+".html"), text.Bytes())
		}
		if err != nil {
			return fmt.Errorf("playground: page %s: %w", p.Name, err)
		}
	}
	assets := map[string][]byte{}
	for _, name := range []string{"style.css", "continual.css", "viewer/theme.js"} {
		if assets[filepath.Base(name)], err = shell.ReadFile(name); err != nil {
			return fmt.Errorf("playground: %w", err)
		}
	}
	scripts, err := bundles.ReadDir("pages")
	if err != nil {
		return fmt.Errorf("playground: %w", err)
	}
	for _, s := range scripts {
		if assets[s.Name()], err = bundles.ReadFile("pages/" + s.Name()); err != nil {
			return fmt.Errorf("playground: %w", err)
		}
	}
	recorded, err := recordings.ReadDir("recordings")
	if err != nil {
		return fmt.Errorf("playground: %w", err)
	}
	for _, r := range recorded {
		if assets["recordings/"+r.Name()], err = recordings.ReadFile("recordings/" + r.Name()); err != nil {
			return fmt.Errorf("playground: %w", err)
		}
	}
	for name, data := range assets {
		if err := file.Write(filepath.Join(out, "assets", name), data); err != nil {
			return fmt.Errorf("playground: %w", err)
		}
	}
	return nil
}

// DefaultCache returns the folder in the user's cache where modules are built.
func DefaultCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("playground: %w", err)
	}
	return filepath.Join(cache, "saot", "playground"), nil
}
