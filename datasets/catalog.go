package datasets

import (
	"fmt"
	"strings"
)

// Entry describes a dataset that Open knows by name.
type Entry struct {
	Name     string
	Title    string
	Layout   Layout
	Files    []File // what it is read from; none for the generated dataset
	Folder   string // where the same files may lie unpacked, under the data folder; "" for layouts of one plain file
	Licence  string
	Citation string
	Note     string // what a reader of the figures below should know
	StandIn  string // the benchmark whose edges and labels it has, with generated features; "" for all but stand-ins
	Recipe   Recipe // whose constants methods take by default

	PaperName string // what SAOT's tables call the stream; "" for all but its four

	Paper    Stats // as SAOT's Table 1 prints them; zero for what the paper does not use
	Appendix Stats // as its appendix prints them, where that differs
	True     Stats // of the real files
}

// File is one file of a dataset.
type File struct {
	Name    string   // under the data folder, with slashes
	URLs    []string // mirrors of the same bytes, in order; none where nobody publishes the file as it is read here
	Bytes   int64    // 0: not known beforehand
	SHA256  string   // in hexadecimal; "" where nobody published it: then it is recorded at the first fetch
	GitBlob string   // git's name of the file in the publisher's repository (fetch.Sums), known where SHA256 may not be
	Copies  []Copy   // other files that go by this name and hold the same graph
}

// Copy is a known file with other bytes than the published one.
type Copy struct {
	SHA256 string
	Origin string
}

// Stats are the figures of a dataset; 0 stands for one that is not given.
type Stats struct {
	Nodes   int64
	Edges   int64 // of the real files: undirected, without duplicates and self-loops; in the paper: as printed
	Entries int64 // edges as the file stores them
	Columns int   // width of the features
	Classes int
	Tasks   int // of two classes each
}

// Catalog lists the datasets that Open knows by name.
//
// Where the figures and checksums come from: the paper's Table 1 and appendix; for the real files the publishers' own
// pages, PyTorch Geometric's and DGL's documentation, and, where a test reads the file, our own count. SHA-256 sums of
// files that could not be had here are those that several independent public projects pin; git blobs are read off the
// trees of the publishers' repositories (gnn-benchmark 1e72912, graph2gauss 2402482, wiki-cs-dataset f520731).
func Catalog() []Entry {
	entries := []Entry{{Name: "synthetic", Licence: "none needed", Recipe: RecipeSynthetic,
		Title: "generated citation-like graph, needs no file; synthetic:NODES makes one of any size"}}
	entries = append(entries, benchmarks()...)
	entries = append(entries, citations()...)
	entries = append(entries, coPurchases()...)
	entries = append(entries, others()...)
	return append(entries, standIns(benchmarks())...)
}

// Lookup returns the entry of a name; that of a scaled synthetic dataset (ParseScaled) is made for it. Its error lists
// the known names, or says what is wrong with the scaled one.
func Lookup(name string) (Entry, error) {
	if strings.HasPrefix(name, scaledPrefix) {
		return scaledEntry(name)
	}
	var known []string
	for _, e := range Catalog() {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Entry{},
		fmt.Errorf("datasets: unknown dataset %q: choose %s, or the path of an .npz file or of a folder of one's "+
			"own, such as ./graph", name, strings.Join(known, ", "))
}
