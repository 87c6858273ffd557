package record

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Names and version of the format.
const (
	Folder  = "recording" // in the run folder
	Format  = "saot-recording"
	Version = 1
	head    = "head.json"
)

// Limits of what Read takes. A Writer stays below them.
const (
	maxTasks  = 9_999
	maxNodes  = 256      // watched in a task
	maxFrames = 100_000  // of a task
	maxNames  = 64       // of terms, figures or scores
	maxBytes  = 64 << 20 // of all tasks' files together
	maxName   = 100      // bytes
)

// Head says what was run and how it was recorded.
type Head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Method  string `json:"method"`
	Dataset string `json:"dataset"`
	Seed    uint64 `json:"seed"`
	Every   int    `json:"every"` // steps from frame to frame
	Tasks   int    `json:"tasks"` // of the stream
}

// Task is the recording of one task.
type Task struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Task    int     `json:"task"`    // from 0
	Nodes   []int32 `json:"nodes"`   // the watched nodes, by their ids in the task's graph
	Classes []int32 `json:"classes"` // of the watched nodes; no learner sees them
	Edges   []Edge  `json:"edges"`   // among the watched nodes, by their places in Nodes
	// Views has the edges of the two views that plans are made between, or nothing. The views stay the same through
	// the task, so that a change of a plan is one of the network.
	Views   [][]Edge `json:"views,omitempty"`
	Graph   *Plan    `json:"graph,omitempty"`   // π_G between the views
	Teacher *Plan    `json:"teacher,omitempty"` // the teacher's plan between the views
	Terms   []string `json:"terms"`             // names of loss terms, in the order in which they came
	Figures []string `json:"figures"`           // names of further figures of a step
	Frames  []Frame  `json:"frames"`
	Scores  []Score  `json:"scores,omitempty"` // once the task was scored
}

// Edge joins two watched nodes.
type Edge [2]int32

// Plan is a transport plan [n, n] between the watched nodes in two views, with masses of 1/n.
type Plan struct {
	Values        Quantized `json:"values"`
	MarginalError float64   `json:"marginal_error"`
}

// Frame is the state after a number of training steps of the task. What a method does not have is absent.
type Frame struct {
	Step int `json:"step"` // 0 is before the first
	// Terms and Figures are in the order of the task's names. A value that is missing is null, or absent if no later
	// name has a value.
	Terms   []Number `json:"terms,omitempty"`
	Figures []Number `json:"figures,omitempty"`
	// MarginalError is that of the plan that the training step solved, over other nodes than the watched ones.
	MarginalError Number     `json:"marginal_error,omitempty"`
	Points        *Quantized `json:"points,omitempty"` // coordinates [n, 2] of the watched nodes
	Shares        []Number   `json:"shares,omitempty"` // of the variance, by coordinate
	Plan          *Plan      `json:"plan,omitempty"`   // π_Z between the views
}

// Score is a row of a performance matrix: the accuracy in percent on each task seen so far.
type Score struct {
	Setting  string   `json:"setting"`
	Probe    string   `json:"probe"`
	Accuracy []Number `json:"accuracy"`
}

// Number is a figure in the precision of float32. A figure that is not finite is null in JSON, and NaN when it is read.
type Number float64

// MarshalJSON writes the shortest number that is the same as a float32.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(float32(n))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 32), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Quantized is an array of numbers of 16 bits: x = scale·q/32767. An entry is off by at most scale/65534.
type Quantized struct {
	Scale  float64 `json:"scale"`  // the largest magnitude
	Base64 string  `json:"base64"` // q, int16 little endian
}

const largest = math.MaxInt16

// Quantize packs finite numbers. It returns an error that names the first that is not finite.
func Quantize(x []float32) (*Quantized, error) {
	scale := float32(0)
	for i, v := range x {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("entry %d is %v", i, v)
		}
		scale = max(scale, v, -v)
	}
	q := &Quantized{Scale: float64(scale)}
	raw := make([]byte, 0, 2*len(x))
	for _, v := range x {
		whole := 0.0
		if scale > 0 {
			whole = math.Round(float64(v) / q.Scale * largest)
		}
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(whole)))
	}
	q.Base64 = base64.StdEncoding.EncodeToString(raw)
	return q, nil
}

// Values unpacks n numbers. It returns an error if there is another number of them, or if the scale is not a finite
// number of 0 or more.
func (q *Quantized) Values(n int) ([]float64, error) {
	if !(q.Scale >= 0) || q.Scale > math.MaxFloat32 {
		return nil, fmt.Errorf("the scale is %v, want a finite number of 0 or more", q.Scale)
	}
	if want := base64.StdEncoding.EncodedLen(2 * n); len(q.Base64) != want {
		return nil, fmt.Errorf("base64 has %d characters, want %d for %d numbers", len(q.Base64), want, n)
	}
	raw, err := base64.StdEncoding.DecodeString(q.Base64)
	if err != nil {
		return nil, err
	}
	if len(raw) != 2*n {
		return nil, fmt.Errorf("base64 has %d bytes, want %d for %d numbers", len(raw), 2*n, n)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = q.Scale * float64(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / largest
	}
	return x, nil
}
