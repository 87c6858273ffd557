package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// format is how a layout is read.
type format struct {
	anchors []string // files that tell the layout, without folders: one must be there
	files   []string // that may be read
	read    func(b *bundle, opt Options) (*Dataset, error)
}

// format returns how the layout is read.
func (l Layout) format() (format, error) {
	switch l {
	case LayoutNPZ:
		return one("*.npz", readGNNBenchmark), nil
	case LayoutOGB:
		return format{[]string{ogbEdges}, []string{ogbEdges, ogbLabels, ogbFeatures, ogbNodeCount, ogbEdgeCount}, readOGB}, nil
	case LayoutReddit:
		return format{[]string{redditGraph}, []string{redditGraph, redditData}, readReddit}, nil
	case LayoutWikiCS:
		return one("data.json", readWikiCS), nil
	case LayoutSAINT:
		return format{[]string{saintGraph}, []string{saintGraph, saintClasses, saintFeatures, saintRoles}, readSAINT}, nil
	case LayoutCSV:
		return format{csvEdges(), csvFiles(), readCSV}, nil
	}
	return format{}, fmt.Errorf("datasets: the layout %s is not read from files: choose npz, OGB, Reddit, WikiCS, GraphSAINT or CSV", l)
}

// one is a layout of one file, whose name is a pattern.
func one(name string, read func(b *bundle, opt Options) (*Dataset, error)) format {
	return format{[]string{name}, []string{name}, read}
}

// layoutOf tells the layout of a folder or zip archive by the files in it.
func layoutOf(path string) (Layout, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("datasets: %w; check the path", err)
	}
	switch {
	case !info.IsDir() && filepath.Ext(path) == ".json":
		return LayoutWikiCS, nil
	case !info.IsDir() && filepath.Ext(path) != ".zip":
		return LayoutCSV, nil // whose reader says what is wrong
	}
	var found []Layout
	var told, known []string
	for _, l := range []Layout{LayoutCSV, LayoutSAINT, LayoutOGB, LayoutReddit, LayoutWikiCS} {
		f, err := l.format()
		if err != nil {
			return 0, err
		}
		known = append(known, fmt.Sprintf("%s (%s)", strings.Join(f.anchors, " or "), l))
		b, err := openBundle(path, f)
		switch {
		case err == nil:
			found, told = append(found, l), append(told, fmt.Sprintf("%s (%s)", b.shown(b.anchor), l))
			_ = b.close() // only looked into
		case !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("datasets: %s: no dataset in it, nor up to two folders down: looked for %s: %w",
			path, strings.Join(known, ", "), fs.ErrNotExist)
	case 1:
		return found[0], nil
	}
	return 0, fmt.Errorf("datasets: %s: there are %s; name the folder of one", path, strings.Join(told, " and "))
}

// load reads the dataset at path.
func (l Layout) load(path string, opt Options) (ds *Dataset, err error) {
	src, err := l.open(path, fileSHA256)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.bundle.close()) }()
	return src.read(opt)
}

// source is a dataset's files before they are read.
type source struct {
	bundle   *bundle
	format   format
	files    []string
	stamps   []stamp // of the files, from before their checksums were taken
	checksum string
}

// open finds the files of the dataset at path and takes their checksums.
func (l Layout) open(path string, sum func(file string) (string, error)) (*source, error) {
	f, err := l.format()
	if err != nil {
		return nil, err
	}
	b, err := openBundle(path, f)
	if err != nil {
		return nil, err
	}
	src := &source{bundle: b, format: f, files: b.sources(f.files)}
	if err := src.sum(sum); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return src, nil
}

func (src *source) sum(sum func(file string) (string, error)) error {
	sums := make([]string, len(src.files))
	src.stamps = make([]stamp, len(src.files))
	for k, file := range src.files {
		var err error
		if src.stamps[k], err = stampOf(file); err != nil {
			return err
		}
		if sums[k], err = sum(file); err != nil {
			return err
		}
	}
	src.checksum = combine(src.files, sums)
	return nil
}

// read reads the dataset, and makes sure that it is the one whose checksum was taken.
func (src *source) read(opt Options) (*Dataset, error) {
	if !directionNames.Has(opt.Direction) {
		return nil, fmt.Errorf("datasets: options: Direction is %s, want %s", opt.Direction, directionNames.Choices())
	}
	ds, err := src.format.read(src.bundle, opt)
	if err != nil {
		return nil, err
	}
	for k, file := range src.files {
		now, err := stampOf(file)
		if err != nil {
			return nil, err
		}
		if now != src.stamps[k] {
			return nil, fmt.Errorf("datasets: %s changed while it was read; read it again when it is complete", file)
		}
	}
	ds.Checksum = src.checksum
	return ds, nil
}
