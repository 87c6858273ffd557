package continual

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Versions names the software of a run.
type Versions struct {
	Go     string `json:"go"`
	Module string `json:"module"`           // version of this module
	Commit string `json:"commit,omitempty"` // of this module, in full; empty where the build does not record it
	Dirty  bool   `json:"dirty,omitempty"`  // files differed from the commit
	Build  string `json:"build,omitempty"`  // SHA-256 of a program of this module that no commit tells from others
	GoMLX  string `json:"gomlx"`
}

const this = "github.com/saot-go/saot"

// versions names the software of this process. Tests stand in for other builds.
var versions = sync.OnceValue(func() Versions {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v := versionsOf(info)
	if info.Main.Path == this && (v.Dirty || v.Commit == "" && v.Module == "(devel)") {
		v.Build = programSum()
	}
	return v
})

// programSum returns the SHA-256 of the running program, "" where it cannot be read: a browser has no files.
func programSum() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// versionsOf reads what the build recorded. The commit is that of the main module, which may be another one that uses
// this one: then it is left out.
func versionsOf(info *debug.BuildInfo) Versions {
	v := Versions{Go: runtime.Version(), Module: "unknown", GoMLX: "unknown"}
	for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
		switch {
		case module.Version == "":
		case module.Path == this && module.Replace != nil:
			v.Module = cmp.Or(module.Replace.Version, "(devel)") // of a folder
		case module.Path == this:
			v.Module = module.Version
		case module.Path == "github.com/gomlx/gomlx":
			v.GoMLX = module.Version
		}
	}
	if info.Main.Path != this {
		return v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Dirty = setting.Value == "true"
		}
	}
	return v
}

// Program names in one line what made the result: the program's version, commit and build, and the engine.
func (r *Result) Program() string {
	program := r.Versions.Module
	if commit := r.Versions.Commit; len(commit) >= 12 && !strings.Contains(program, commit[:12]) {
		program += " " + commit[:12]
	}
	if build := r.Versions.Build; len(build) >= 12 {
		program += " build " + build[:12]
	}
	return fmt.Sprintf("saot %s on %s %s", program, r.Engine.Name, r.Engine.Version)
}
