package playground

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The plan of 60 × 60 points follows a pointer that drags one of them on a circle. The log says how fast:
//
//	go test ./playground -run TestDragOfManyPoints -v
func TestDragOfManyPoints(t *testing.T) {
	b := open(t)
	b.at(t, "transport.html#preset=many")
	require.Equal(t, []float64{60, 60}, b.Numbers(`[page.problem.n, page.problem.m]`))
	b.place("clouds", 0, 0) // scrolls to the picture
	places := [][2]float64{b.point("x", 7)}
	corner, end := b.place("clouds", 0, 0), b.place("clouds", 1, 1)
	for i := range 300 {
		sin, cos := math.Sincos(float64(i) / 20)
		places = append(places, [2]float64{corner[0] + (0.5+0.3*cos)*(end[0]-corner[0]),
			corner[1] + (0.5+0.3*sin)*(end[1]-corner[1])})
	}
	b.Drag(places...)
	figures := b.Numbers(`(f => [f.count, f.frame.median, f.frame.longest, f.work.median, f.work.longest])(
		page.meter.figures())`)
	t.Logf("%.0f frames: median %.1f ms (%.0f a second), longest %.1f ms; the page works %.1f ms of a frame in the "+
		"median, %.1f ms at most", figures[0], figures[1], 1000/figures[1], figures[2], figures[3], figures[4])
	require.Greater(t, figures[0], 100.0, "the picture follows the pointer")
	b.settled()
	b.golden(t)
}
