package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/saot/continual"
)

// claimFile is the file in a run's folder whose lock says that a process is at work on the run.
const claimFile = "run"

// claimedVariable tells the process of a run that the sweep which started it has claimed this folder.
const claimedVariable = "SAOT_CLAIMED"

// ErrClaimed marks an error of Claim where another process works on the run.
var ErrClaimed = errors.New("another process works on the run")

// tryClaim takes the lock of a run's folder, or returns nil where another process works on the run. Sweep.State holds
// the lock for a moment to see whether it is free, which is no claim: so tryClaim looks more than once.
func tryClaim(dir string) (*file.Lock, error) {
	for range 5 {
		if lock, err := file.Try(filepath.Join(dir, claimFile)); lock != nil || err != nil {
			return lock, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, nil
}

// Folder is the place of a run's files.
type Folder struct {
	Path    string
	created string // the topmost folder that did not exist before, or ""
	claim   *file.Lock
}

// Claim keeps other processes from the run until Release, or until this process ends. It returns an error that wraps
// ErrClaimed where one is at work. The process of a run that a sweep has claimed takes part in the sweep's claim.
func (f *Folder) Claim() error {
	if path, err := filepath.Abs(f.Path); err == nil && path == os.Getenv(claimedVariable) {
		return nil
	}
	lock, err := tryClaim(f.Path)
	if err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if lock == nil {
		return fmt.Errorf("%w in %s: wait for it or stop it; if there is none, or its machine is gone for good, "+
			"remove %s", ErrClaimed, f.Path, filepath.Join(f.Path, claimFile+".lock"))
	}
	f.claim = lock
	return nil
}

// Release gives the claim back.
func (f *Folder) Release() {
	if f.claim != nil {
		f.claim.Release()
		f.claim = nil
	}
}

// Started reports whether the folder holds more than the settings.
func (f *Folder) Started() bool { return begun(f.Path) || exists(f.Path, continual.ResultFile) }

// begun reports whether a folder holds a state to resume from.
func begun(dir string) bool {
	return exists(dir, continual.CheckpointFile) || exists(dir, continual.EarlierFile) ||
		exists(dir, continual.ModelFile) && !exists(dir, continual.ResultFile)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// Remove takes away what NewFolder made: the settings, the claim, and the folders that did not exist before if they are
// empty now.
func (f *Folder) Remove() {
	_ = os.Remove(filepath.Join(f.Path, ConfigFile))
	f.Release()
	f.removeCreated()
}

// unclaimed takes away what NewFolder made where the folder cannot be claimed. One that was there before is left as it
// is: a file in it may be another user's.
func (f *Folder) unclaimed() {
	if f.created != "" {
		_ = os.Remove(filepath.Join(f.Path, claimFile+".lock")) // the file may be there without the lock
		f.removeCreated()
	}
}

// removeCreated removes the folders that did not exist before if they are empty now.
func (f *Folder) removeCreated() {
	if f.created == "" {
		return
	}
	for p := filepath.Clean(f.Path); os.Remove(p) == nil && p != f.created; p = filepath.Dir(p) {
	}
}
