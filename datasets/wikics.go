package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/saot-go/saot/datasets/graph"
)

const wikiCSFile = "data.json"

func readWikiCS(b *bundle, opt Options) (ds *Dataset, err error) {
	name := b.name()
	if b.only != wikiCSFile { // it is named after itself
		name = strings.TrimSuffix(b.only, ".json")
	}
	err = b.read(b.only, func(m *member) error {
		if ds, err = parseWikiCS(newJSONReader(bufio.NewReaderSize(m, 1<<18)), name, opt, b.budget.keep); err != nil {
			return b.errorf(b.only, "%w", err)
		}
		return nil
	})
	return ds, err
}

// wikiCS is what has been read of a file, whose fields come in any order.
type wikiCS struct {
	labels   []int32
	src, dst []int32
	lists    int // of neighbors
	features []float32
	rows     int
	cols     int
	seen     map[string]bool
	keep     func(bytes int64) error
}

// parseWikiCS calls keep for the bytes of its arrays as they grow.
func parseWikiCS(in jsonReader, name string, opt Options, keep func(bytes int64) error) (*Dataset, error) {
	w := wikiCS{seen: make(map[string]bool), keep: keep}
	if err := in.object(func(key string) error { return w.field(in, key, opt) }); err != nil {
		return nil, err
	}
	if err := in.end(); err != nil {
		return nil, err
	}
	if err := w.check(opt); err != nil {
		return nil, err
	}
	ds := &Dataset{Name: name}
	ds.setLabels(w.labels)
	ds.setEdges(len(w.labels), graph.Coordinates{Src: w.src, Dst: w.dst}, opt.Direction)
	if w.seen["train_masks"] {
		ds.Notes = append(ds.Notes, "the published split (masks) is not used: the stream draws its own")
	}
	return ds.withFeatures(opt, func() error {
		ds.Graph.Features = graph.Features{Rows: w.rows, Cols: w.cols, Dense: w.features}
		return nil
	})
}

func (w *wikiCS) field(in jsonReader, key string, opt Options) error {
	known := key == "features" || key == "labels" || key == "links"
	if known && w.seen[key] {
		return in.errorf("field %q is there twice", key)
	}
	if known || key == "train_masks" { // and not all the others, which may be many
		w.seen[key] = true
	}
	var err error
	switch {
	case key == "labels":
		if err = numbers(in, &w.labels, classID(math.MaxInt32).parse); err == nil {
			err = w.keep(4 * int64(len(w.labels)))
		}
	case key == "links":
		err = in.array(func() error { return w.neighbors(in) })
	case key == "features" && !opt.TopologyOnly:
		err = in.array(func() error { return w.row(in) })
	default:
		err = in.skip()
	}
	if err != nil {
		return fmt.Errorf("field %.40q: %w", key, err)
	}
	return nil
}

func (w *wikiCS) neighbors(in jsonReader) error {
	if err := numbers(in, &w.dst, below(math.MaxInt32, "a node").parse); err != nil {
		return err
	}
	more := len(w.dst) - len(w.src)
	w.src = append(w.src, slices.Repeat([]int32{int32(w.lists)}, more)...)
	w.lists++
	return w.keep(8 * int64(more))
}

func (w *wikiCS) row(in jsonReader) error {
	before := len(w.features)
	if err := numbers(in, &w.features, parseFloat); err != nil {
		return err
	}
	cols := len(w.features) - before
	if w.rows == 0 {
		w.cols = cols
	}
	if cols != w.cols || cols == 0 {
		return in.errorf("row %d has %d numbers, want %d", w.rows, cols, max(1, w.cols))
	}
	w.rows++
	return w.keep(4 * int64(cols))
}

func (w *wikiCS) check(opt Options) error {
	for _, field := range []string{"labels", "links", "features"} {
		if !w.seen[field] {
			return fmt.Errorf("field %q is missing; check that it is Wiki-CS's data.json", field)
		}
	}
	n := len(w.labels)
	switch {
	case n == 0:
		return errors.New(`field "labels" is empty`)
	case w.lists != n:
		return fmt.Errorf("field \"links\" has %d lists for %d labels", w.lists, n)
	case w.rows != n && !opt.TopologyOnly:
		return fmt.Errorf("field \"features\" has %d rows for %d labels", w.rows, n)
	}
	for i, c := range w.labels {
		if int(c) >= n {
			return fmt.Errorf("field \"labels\": node %d has class %d of %d nodes; %s", i, c, n, wantClasses)
		}
	}
	for k, j := range w.dst {
		if int(j) >= n {
			return fmt.Errorf("field \"links\": node %d is linked to %d of %d nodes; it is damaged", w.src[k], j, n)
		}
	}
	return nil
}
