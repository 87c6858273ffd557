// Package mlflow writes finished runs as MLflow keeps them in files, so that MLflow's pages and clients show them next
// to a team's other work. The layout is that of MLflow's FileStore (mlflow/store/tracking/file_store.py, 3.17):
//
//	STORE/<experiment>/meta.yaml             an experiment a dataset
//	STORE/<experiment>/<run>/meta.yaml       name, status, times
//	STORE/<experiment>/<run>/params/NAME     settings, a file each
//	STORE/<experiment>/<run>/metrics/NAME    lines of "milliseconds value step"
//	STORE/<experiment>/<run>/tags/NAME
//	STORE/<experiment>/<run>/artifacts       result.json, and matrix.png where there is one
//
// Metrics have the names that they have in package metrics: losses, marginal errors and diagnostics by global step, and
// AP and AF by task, from 0; seconds are those of the run. Nodes and seconds of a task and accuracies on single tasks
// are only in result.json. A packed result has AP, AF and seconds. MLflow itself migrates such a folder into a
// database. The store's file system must have locks.
package mlflow

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/leaves"
	"github.com/saot-go/saot/internal/untrusted"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/experiment/metrics"
)

// Export writes every result at the paths, which are as for continual.ReadResults, into a store, and returns how many.
// A run has the same id at each export: the second replaces the first. A run that is in its folder and also in a pack
// is written once, from its folder, which has more data. It returns an error that names the file if a result or its
// metrics cannot be read or its scores do not follow from its matrices, and an error if there is no result. If ctx
// ends, it stops before it reads or writes the next run and returns ctx's error.
func Export(ctx context.Context, store string, paths ...string) (int, error) {
	found, err := continual.ReadResultsContext(ctx, paths...)
	if err != nil {
		return 0, fmt.Errorf("mlflow: %w", err)
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("mlflow: there is no %s under %s: name folders of finished runs or packed results",
			continual.ResultFile, strings.Join(paths, ", "))
	}
	for _, s := range found {
		if err := s.Result.Check(); err != nil {
			return 0, fmt.Errorf("mlflow: %s: %w", s.Path, err)
		}
	}
	if store, err = filepath.Abs(store); err != nil {
		return 0, fmt.Errorf("mlflow: %w", err)
	}
	slices.SortStableFunc(found, func(a, b continual.Stored) int { return cmp.Compare(packed(&a), packed(&b)) })
	done := map[string]bool{}
	for i := range found {
		id := identity(found[i].Result)
		if done[id] {
			continue
		}
		if ctx.Err() != nil {
			return len(done), ctx.Err()
		}
		if err := export(ctx, store, id, &found[i]); err != nil {
			return len(done), fmt.Errorf("mlflow: %s: %w", found[i].Path, err)
		}
		done[id] = true
	}
	return len(done), nil
}

// packed is 0 for a result in its run folder and 1 for a packed one.
func packed(s *continual.Stored) int {
	if filepath.Base(s.Path) == continual.ResultFile {
		return 0
	}
	return 1
}

// export writes one run into a folder of its own in the store and moves it into its place. The store's parent may be
// read-only, or on another device. A lock keeps other exports of the run from that folder.
func export(ctx context.Context, store, id string, s *continual.Stored) error {
	r := s.Result
	experiment := digits(r.Dataset.Name)
	home := filepath.Join(store, experiment)
	if err := writeExperiment(home, experiment, r); err != nil {
		return err
	}
	fresh, place := filepath.Join(store, ".saot-"+id), filepath.Join(home, id)
	lock, err := file.Acquire(ctx, fresh)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := file.TidyFolder(place, fresh); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // what is left there is half a run
	if err := writeRun(fresh, place, experiment, id, s); err != nil {
		return err
	}
	return file.ReplaceFolder(place, fresh)
}

// digits names an experiment as MLflow does, by a number.
func digits(name string) string {
	sum := sha256.Sum256([]byte("saot " + name))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])>>8, 10)
}

// identity is 32 hexadecimal digits of what makes a run: its data, method, settings, seed and start. Settings count as
// result.json has them: packs have no spaces.
func identity(r *continual.Result) string {
	var config bytes.Buffer
	if json.Indent(&config, r.Config, "  ", "  ") != nil { // not of a file
		config.Reset()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%s|%d|%d", r.Method, r.Dataset.Checksum, r.Dataset.SplitHash,
		config.Bytes(), r.Seed, r.Started.UnixNano()))
	return hex.EncodeToString(sum[:16])
}

func writeExperiment(home, id string, r *continual.Result) error {
	meta := filepath.Join(home, "meta.yaml")
	if _, err := os.Stat(meta); err == nil {
		return nil
	}
	return writeYAML(meta, map[string]any{"artifact_location": fileURI(home), "experiment_id": id,
		"name": "saot " + r.Dataset.Name, "lifecycle_stage": "active", "creation_time": r.Started.UnixMilli(),
		"last_update_time": r.Finished.UnixMilli()})
}

// fileURI names a file as MLflow reads it: on Windows a drive is the path's first part, not a host.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func writeRun(dir, home, experiment, id string, s *continual.Stored) error {
	r := s.Result
	name := fmt.Sprintf("%s seed %d", r.Method, r.Seed)
	if s.Folder != "." {
		name = s.Folder
	}
	meta := map[string]any{"run_id": id, "run_uuid": id, "run_name": name, "experiment_id": experiment,
		"artifact_uri": fileURI(filepath.Join(home, "artifacts")), "user_id": "saot",
		"start_time": r.Started.UnixMilli(), "end_time": r.Finished.UnixMilli(), "deleted_time": nil,
		"lifecycle_stage": "active", "status": 3, "source_type": 4, "source_name": "", "source_version": "",
		"entry_point_name": "", "tags": []string{}}
	if err := writeYAML(filepath.Join(dir, "meta.yaml"), meta); err != nil {
		return err
	}
	params, err := paramsOf(r)
	if err != nil {
		return err
	}
	tags := map[string]string{"mlflow.runName": name, "mlflow.user": "saot", "mlflow.source.name": "saot",
		"mlflow.source.type": "LOCAL", "saot.engine": r.Engine.Name + " " + r.Engine.Version, "saot.path": s.Path}
	if r.Versions.Commit != "" {
		tags["mlflow.source.git.commit"] = r.Versions.Commit
	}
	history, err := historyOf(s)
	if err != nil {
		return err
	}
	if err := errors.Join(writeFiles(filepath.Join(dir, "params"), params),
		writeFiles(filepath.Join(dir, "tags"), tags), writeFiles(filepath.Join(dir, "metrics"), history)); err != nil {
		return err
	}
	if err := r.WriteFile(filepath.Join(dir, "artifacts", continual.ResultFile)); err != nil {
		return err
	}
	picture, err := pictureOf(s)
	if err != nil || picture == nil {
		return err
	}
	return file.Write(filepath.Join(dir, "artifacts", pictureFile), picture)
}

const (
	pictureFile = "matrix.png"
	maxPicture  = 64 << 20 // bytes
)

// pictureOf returns the picture in a run folder, or nil if there is none. It ignores a symbolic link, which may lead to
// any of the user's files, and a file that is not a PNG: others may read the store.
func pictureOf(s *continual.Stored) ([]byte, error) {
	path := filepath.Join(filepath.Dir(s.Path), pictureFile)
	info, err := os.Lstat(path)
	if packed(s) > 0 || errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := file.Read(path, maxPicture)
	if err != nil || !bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		return nil, err
	}
	return data, nil
}

// paramsOf lists the settings of a run by their names in config.json, and what else identifies it.
func paramsOf(r *continual.Result) (map[string]string, error) {
	params := map[string]string{"method": r.Method, "dataset": r.Dataset.Name, "seed": fmt.Sprint(r.Seed),
		"engine": r.Engine.Name, "tasks": fmt.Sprint(r.Dataset.Tasks), "classes": fmt.Sprint(r.Dataset.Classes),
		"split_hash": r.Dataset.SplitHash}
	if len(r.Config) == 0 {
		return params, nil
	}
	settings, err := leaves.Of(r.Config)
	if err != nil {
		return nil, fmt.Errorf("field config: %w", err)
	}
	for _, l := range settings {
		if !l.Null {
			params[l.Path] = l.Text
		}
	}
	return params, nil
}

// historyOf lists the figures of a run by their names, as lines of a metric's file.
func historyOf(s *continual.Stored) (map[string][]byte, error) {
	history := map[string][]byte{}
	add := func(name string, at time.Time, value float64, step int64) {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return
		}
		history[name] = fmt.Appendf(history[name], "%d %v %d\n", at.UnixMilli(), value, step)
	}
	for _, score := range s.Result.Scores {
		name := fmt.Sprintf("%s/%s/", score.Setting, score.Probe)
		for i := range score.Matrix {
			so := score.Matrix[:i+1]
			add(name+"AP", s.Result.Finished, so.AveragePerformance(), int64(i))
			add(name+"AF", s.Result.Finished, so.AverageForgetting(), int64(i))
		}
	}
	add("seconds", s.Result.Finished, s.Result.Seconds, 0)
	if packed(s) > 0 {
		return history, nil
	}
	lines, err := metrics.Read(filepath.Dir(s.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return history, nil
	}
	for _, l := range lines {
		for name, v := range l.Terms {
			add("loss/"+name, l.Time, v, l.Step)
		}
		if l.MarginalError != 0 {
			add("sinkhorn/marginal_error", l.Time, l.MarginalError, l.Step)
		}
		if l.Report != nil {
			for name, v := range l.Report.Diagnostics {
				add("diagnostics/"+name, l.Time, v, l.Step)
			}
		}
	}
	return history, err
}

// writeFiles writes texts below a folder. Their names come from files that others may have made.
func writeFiles[T string | []byte](dir string, texts map[string]T) error {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		local := filepath.FromSlash(name)
		if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(local) {
			return fmt.Errorf("%s: key %q is not the name of a file below a folder", filepath.Base(dir), name)
		}
		if err := file.Write(filepath.Join(dir, local), []byte(texts[name])); err != nil {
			return fmt.Errorf("%s: key %q: %w", filepath.Base(dir), name, err)
		}
	}
	return nil
}

func writeYAML(path string, value any) error {
	data, err := untrusted.YAML(value) // a name such as 12:30:45 or << stays text
	if err != nil {
		return err
	}
	return file.Write(path, data)
}
