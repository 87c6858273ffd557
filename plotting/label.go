package plotting

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// space is an area where labels are placed next to markers.
type space struct {
	area    vg.Rectangle
	taken   []vg.Rectangle // by markers, bars, lines, and the labels that were placed
	ties    []vg.Rectangle // by the lines from labels to their markers
	markers []vg.Point
}

const markerSpan = vg.Length(4.5) // from the middle of a marker to where a label may start

// along returns what a line takes.
func along(line []vg.Point) (taken []vg.Rectangle) {
	const half = vg.Length(1)
	for i := range len(line) - 1 {
		way := line[i+1].Sub(line[i])
		steps := vg.Length(math.Ceil(math.Hypot(float64(way.X), float64(way.Y)) / float64(2*half)))
		for k := vg.Length(0); k <= steps; k++ {
			at := line[i].Add(way.Scale(k / max(steps, 1)))
			taken = append(taken, rect(at.X-half, at.Y-half, 2*half, 2*half))
		}
	}
	return taken
}

// place takes the free place for a label of w by h that is closest to its marker: next to it, from the right on, then
// all around at growing distances, unless it is much closer to another marker there. near tells that it touches its
// marker; from a label that does not, a line leads there. Where every place overlaps something, it takes the one that
// overlaps least, a line rather than anything else.
func (s *space) place(marker int, w, h vg.Length) (best vg.Rectangle, near bool) {
	at := s.markers[marker]
	best, near = rect(at.X+6, at.Y-h/2, w, h), true // for a label that is wider than the area
	least := vg.Length(math.Inf(1))
	for ring := range 14 {
		away := 4 * vg.Length(ring) // a ring costs as much as being closer to another marker by 4 points
		if least <= away {
			break
		}
		for _, box := range around(at, w, h, ring) {
			if box.Min.X < s.area.Min.X+1 || box.Max.X > s.area.Max.X-1 ||
				box.Min.Y < s.area.Min.Y+1 || box.Max.Y > s.area.Max.Y-1 {
				continue
			}
			if cost := 1000*s.crowding(box, at, ring > 0) + s.astray(box, marker) + away; cost < least {
				best, least, near = box, cost, ring == 0
			}
		}
	}
	s.taken = append(s.taken, best)
	if !near {
		s.ties = append(s.ties, along([]vg.Point{nearest(best, at), at})...)
	}
	return best, near
}

// around returns the places of a label at a distance from its marker, that of ring 0 next to it: on its four sides, and
// in the four corners between error bars.
func around(at vg.Point, w, h vg.Length, ring int) (boxes []vg.Rectangle) {
	gap := 6 + 9*vg.Length(ring)
	for k := range 8 + 8*min(ring, 3) {
		angle := 2 * math.Pi * float64(k) / float64(8+8*min(ring, 3))
		dx, dy := vg.Length(math.Cos(angle)), vg.Length(math.Sin(angle))
		// The gap is measured to the border of the label, not to its middle.
		center := vg.Point{X: at.X + dx*(gap+w/2), Y: at.Y + dy*(gap+h/2)}
		if ring == 0 && k%2 == 1 {
			center.X = at.X + vg.Length(math.Copysign(float64(markerSpan+0.5+w/2), float64(dx)))
			center.Y = at.Y + vg.Length(math.Copysign(float64(3+h/2), float64(dy)))
		}
		boxes = append(boxes, rect(center.X-w/2, center.Y-h/2, w, h))
	}
	return boxes
}

// crowding returns the area that a label shares with other things, which counts tenfold except for lines that tie other
// labels. A label that a line ties to its marker pays for what the line crosses, too: even the marker's own bars, which
// would hide it.
func (s *space) crowding(box vg.Rectangle, at vg.Point, tied bool) (overlap vg.Length) {
	for _, other := range s.taken {
		overlap += 10 * common(box, other)
	}
	for _, tie := range s.ties {
		overlap += common(box, tie)
	}
	if !tied {
		return overlap
	}
	for _, spot := range along([]vg.Point{nearest(box, at), at}) {
		if distance(spot, at) < markerSpan+1 {
			break
		}
		for _, other := range s.taken {
			overlap += common(spot, other)
		}
		for _, tie := range s.ties {
			overlap += 0.1 * common(spot, tie) // two lines that cross hide no text
		}
	}
	return overlap
}

// astray returns by how much a label is closer to another marker than to its own.
func (s *space) astray(box vg.Rectangle, marker int) (most vg.Length) {
	own := distance(box, s.markers[marker])
	for i, at := range s.markers {
		if i != marker {
			most = max(most, own-distance(box, at))
		}
	}
	return most
}

func distance(r vg.Rectangle, to vg.Point) vg.Length {
	way := nearest(r, to).Sub(to)
	return vg.Length(math.Hypot(float64(way.X), float64(way.Y)))
}

func nearest(r vg.Rectangle, to vg.Point) vg.Point {
	return vg.Point{X: min(max(to.X, r.Min.X), r.Max.X), Y: min(max(to.Y, r.Min.Y), r.Max.Y)}
}

func common(a, b vg.Rectangle) vg.Length {
	w := min(a.Max.X, b.Max.X) - max(a.Min.X, b.Min.X)
	h := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return max(w, 0) * max(h, 0)
}
