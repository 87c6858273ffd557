package datasets

import (
	"errors"
	"fmt"
	"strings"
)

// format is how a layout is read.
type format struct {
	files []string // that may be read, without folders; the first must be there
	read  func(b *bundle, opt Options) (*Dataset, error)
}

// format returns how the layout is read.
func (l Layout) format() (format, error) {
	switch l {
	case LayoutNPZ:
		return format{[]string{"*.npz"}, readGNNBenchmark}, nil
	case LayoutOGB:
		return format{[]string{ogbEdges, ogbLabels, ogbFeatures, ogbNodeCount, ogbEdgeCount}, readOGB}, nil
	case LayoutReddit:
		return format{[]string{redditGraph, redditData}, readReddit}, nil
	case LayoutWikiCS:
		return format{[]string{"data.json"}, readWikiCS}, nil
	case LayoutSAINT:
		return format{[]string{saintGraph, saintClasses, saintFeatures, saintRoles}, readSAINT}, nil
	case LayoutCSV:
		return format{csvFiles(), readCSV}, nil
	}
	return format{}, fmt.Errorf("datasets: the layout %s is not read from files: choose npz, OGB, Reddit, WikiCS, GraphSAINT or CSV", l)
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
	if !isName(directionNames, opt.Direction) {
		return nil, fmt.Errorf("datasets: options: Direction is %s, want %s", opt.Direction, strings.Join(directionNames, ", "))
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
