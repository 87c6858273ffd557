package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Entry describes a dataset that Open knows by name.
type Entry struct {
	Name        string
	File        string // under the data folder; "" for the generated dataset
	Description string
}

// Catalog lists the datasets that Open knows by name.
func Catalog() []Entry {
	return []Entry{
		{"synthetic", "", "generated citation-like graph, needs no file"},
		{"cora-ml", "cora_ml.npz", "Cora-ML: machine-learning papers, 7 classes (3 tasks)"},
		{"uai", "uai.npz", "UAI2010: Wikipedia pages, 19 classes (9 tasks)"},
		{"amazon-computers", "amazon_electronics_computers.npz", "Amazon-Computers: goods bought together, 10 classes (5 tasks)"},
		{"coauthor-cs", "ms_academic_cs.npz", "Coauthor-CS: computer scientists, 15 classes (7 tasks)"},
		{"cora-full", "cora_full.npz", "CoraFull: papers, 70 classes (35 tasks), as DGL publishes it"},
		{"cora", "cora.npz", "CoraFull as graph2gauss publishes it, 70 classes (35 tasks)"},
	}
}

// Open returns a dataset by its catalogue name, read from dataDir, or from the path of an npz file. The name "synthetic"
// needs no folder. It returns an error that lists the known names if the name is unknown, one that says where the data
// folder is set if the file is missing, and those of Load.
func Open(name, dataDir string, opt Options) (*Dataset, error) {
	if name == "synthetic" {
		ds, err := Synthetic(opt.Synthetic)
		if err != nil {
			return nil, err
		}
		return ds, ds.Graph.Features.Normalize(opt.Normalization)
	}
	if strings.HasSuffix(name, ".npz") {
		return Load(name, opt)
	}
	var known []string
	for _, e := range Catalog() {
		known = append(known, e.Name)
		if e.Name == name {
			return openEntry(e, dataDir, opt)
		}
	}
	return nil, fmt.Errorf("datasets: unknown dataset %q: choose %s, or the path of an .npz file", name, strings.Join(known, ", "))
}

func openEntry(e Entry, dataDir string, opt Options) (*Dataset, error) {
	const hint = "set the environment variable SAOT_DATA or --data to the folder that holds it"
	if dataDir == "" {
		return nil, fmt.Errorf("datasets: %s needs the file %s and no data folder is set: %s", e.Name, e.File, hint)
	}
	ds, err := Load(filepath.Join(dataDir, e.File), opt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("datasets: %s needs the file %s, which is not in the folder %s: %s: %w", e.Name, e.File, dataDir, hint, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	ds.Name = e.Name
	if opt.TopologyOnly {
		ds.Name += "-topology"
	}
	return ds, nil
}
