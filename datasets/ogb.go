package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// LoadOGBLabels reads node-label.csv.gz of OGB's raw layout (…/ogbn_arxiv/raw/node-label.csv.gz), one class id a line, into
// a dataset of nodes and labels alone: no edges, features of width 0. It serves predictors that see neither, such as the
// majority class. The dataset is named after the folder above raw, with "-labels".
//
// Errors name the file and the line: a missing or truncated file, a line that is not a class id.
func LoadOGBLabels(path string) (*Dataset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	hash := sha256.New()
	in := io.TeeReader(f, hash)
	labels, err := readLabelLines(in)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w; download it again", path, err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // what gzip left unread belongs to the checksum too
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	n := len(labels)
	return &Dataset{
		Name:       strings.ReplaceAll(filepath.Base(filepath.Dir(filepath.Dir(path))), "_", "-") + "-labels",
		Graph:      Graph{Adjacency: Adjacency{Offsets: make([]int64, n+1)}, Features: Features{Rows: n}},
		Labels:     labels,
		NumClasses: int(slices.Max(labels)) + 1,
		Checksum:   hex.EncodeToString(hash.Sum(nil)),
	}, nil
}

// readLabelLines returns at least one label, each below the number of labels.
func readLabelLines(r io.Reader) ([]int32, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	var labels []int32
	scan := bufio.NewScanner(z)
	for scan.Scan() {
		line := bytes.TrimSpace(scan.Bytes())
		v, err := strconv.ParseInt(string(line), 10, 32)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("line %d is %.40q, want a class id of at least 0", len(labels)+1, line)
		}
		labels = append(labels, int32(v))
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("after line %d: %w", len(labels), err)
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("no labels")
	}
	if top := slices.Max(labels); int(top) >= len(labels) {
		return nil, fmt.Errorf("class id %d in %d lines", top, len(labels))
	}
	return labels, nil
}
