// Package licenses collects the license texts of what a Go program links. A binary has to come with them.
package licenses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Of returns the licenses of Go and of every other module that packages link, one after the other with its name. The
// go command runs in a folder of the packages' module, once for each of some environments, such as GOOS=js: which
// modules are linked depends on the system. A module without a license is an error. Go's own are left out where an
// installation keeps them elsewhere.
func Of(ctx context.Context, dir string, environments [][]string, packages ...string) ([]byte, error) {
	root, err := run(ctx, dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var modules []string
	for _, environment := range environments {
		listed, err := run(ctx, dir, environment, append([]string{"list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"}, packages...)...)
		if err != nil {
			return nil, err
		}
		modules = append(modules, strings.Split(listed, "\n")...)
	}
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(line string) bool { return line == "" })
	var out bytes.Buffer
	for _, line := range append([]string{"Go\t" + root}, modules...) {
		name, folder, _ := strings.Cut(line, "\t")
		n, err := add(&out, name, folder)
		if err == nil && n == 0 && name != "Go" {
			err = errors.New("it has no license")
		}
		if err != nil {
			return nil, fmt.Errorf("licenses: module %s: %w", name, err)
		}
	}
	return out.Bytes(), nil
}

func run(ctx context.Context, dir string, environment []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	output, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(exit.Stderr)), " "))
	}
	if err != nil {
		return "", fmt.Errorf("licenses: go %s: %w", args[0], errors.Join(err, ctx.Err()))
	}
	return strings.TrimSpace(string(output)), nil
}

// add writes the licenses below a module's folder, those of code that it includes among them.
func add(out *bytes.Buffer, name, folder string) (n int, err error) {
	files := os.DirFS(folder)
	return n, fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || name == "Go" && file == "src"):
			return fs.SkipDir // Go's src holds those of its own vendored packages, which are the same
		case !entry.Type().IsRegular() || !isLicense(file):
			return nil
		}
		text, err := fs.ReadFile(files, file)
		fmt.Fprintf(out, "\n==== %s: %s\n\n%s", name, filepath.ToSlash(file), text)
		n++
		return err
	})
}

// isLicense reports whether a file is a license by its name, or by that of its folder.
func isLicense(file string) bool {
	lower := strings.ToLower(file)
	return path.Ext(file) != ".go" && (strings.Contains(lower, "license") || strings.Contains(lower, "licence") ||
		strings.HasPrefix(path.Base(lower), "notice") || path.Base(file) == "PATENTS")
}
