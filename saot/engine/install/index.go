package install

import (
	"context"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"time"
)

// pipIndex returns the package index that pip is set to, by PIP_INDEX_URL or by its configuration, "" where none is
// set: users who have a mirror have told pip. Python imports modules from its working directory, so the command runs in
// the given folder, which belongs to the user.
func pipIndex(ctx context.Context, folder string) string {
	if index := os.Getenv("PIP_INDEX_URL"); index != "" {
		return index
	}
	command := exec.CommandContext(ctx, "python3", "-m", "pip", "config", "get", "global.index-url")
	command.Dir = folder
	output, err := command.Output()
	if err != nil { // pip is absent, or nothing is set
		return ""
	}
	return strings.TrimSpace(string(output))
}

const (
	pageTimeout = 10 * time.Second
	pageLimit   = 16 << 20 // bytes
)

var href = regexp.MustCompile(`(?i)\bhref\s*=\s*["']([^"']+)`)

// inIndex returns where a package index has a wheel, by the package's page there (PEP 503); "" where the index does not
// answer, or does not have it.
func inIndex(ctx context.Context, index string, w wheel) string {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	name, _, _ := strings.Cut(w.requirement, "==")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(index, "/")+"/"+name+"/", nil)
	if err != nil {
		return ""
	}
	request.Header.Set("Accept", "text/html") // some indexes answer with JSON otherwise
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }() // only read from
	page, err := io.ReadAll(io.LimitReader(response.Body, pageLimit))
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	for _, link := range href.FindAllSubmatch(page, -1) {
		address, err := response.Request.URL.Parse(html.UnescapeString(string(link[1])))
		if err != nil || path.Base(address.Path) != w.name() || !strings.HasPrefix(address.Scheme, "http") {
			continue
		}
		address.Fragment = "" // a checksum: ours is pinned
		return address.String()
	}
	return ""
}
