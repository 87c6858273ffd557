package datasets

import (
	"github.com/saot-go/saot/internal/enum"
)

// ClassOrder says in which order classes come to the tasks. The zero value is OrderLabel, the default.
type ClassOrder int

// The orders.
const (
	OrderLabel  ClassOrder = iota // ascending class ids, as in the published protocol
	OrderRandom                   // shuffled by StreamOptions.OrderSeed
	OrderGiven                    // as StreamOptions.Classes lists them
)

var classOrderNames = enum.Of[ClassOrder]("class order", "label", "random", "given")

// String returns "label", "random" or "given".
func (o ClassOrder) String() string { return classOrderNames.Name(o) }

// ParseClassOrder is the inverse of String.
func ParseClassOrder(text string) (ClassOrder, error) { return classOrderNames.Parse(text) }

func (o ClassOrder) MarshalText() ([]byte, error)     { return classOrderNames.Marshal(o) }
func (o *ClassOrder) UnmarshalText(text []byte) error { return classOrderNames.Unmarshal(o, text) }

// SplitUnit says of what the ratios of a split are taken. The zero value is PerClass, the default.
type SplitUnit int

// The units.
const (
	PerClass SplitUnit = iota // of every class by itself, as CGLB and TRACE do
	PerTask                   // of the task as a whole, as CaT and PUMA do
)

var splitUnitNames = enum.Of[SplitUnit]("split unit", "class", "task")

// String returns "class" or "task".
func (u SplitUnit) String() string { return splitUnitNames.Name(u) }

// ParseSplitUnit is the inverse of String.
func ParseSplitUnit(text string) (SplitUnit, error) { return splitUnitNames.Parse(text) }

func (u SplitUnit) MarshalText() ([]byte, error)     { return splitUnitNames.Marshal(u) }
func (u *SplitUnit) UnmarshalText(text []byte) error { return splitUnitNames.Unmarshal(u, text) }

// InterTask says what becomes of edges between nodes of different tasks. The zero value is CutEdges, the default.
type InterTask int

// The treatments.
const (
	CutEdges  InterTask = iota // they vanish: a task's graph is induced by its own nodes
	KeepEdges                  // CGLB's variant: the graph is induced by the nodes of all tasks up to this one
)

var interTaskNames = enum.Of[InterTask]("treatment of inter-task edges", "cut", "keep")

// String returns "cut" or "keep".
func (i InterTask) String() string { return interTaskNames.Name(i) }

// ParseInterTask is the inverse of String.
func ParseInterTask(text string) (InterTask, error) { return interTaskNames.Parse(text) }

func (i InterTask) MarshalText() ([]byte, error)     { return interTaskNames.Marshal(i) }
func (i *InterTask) UnmarshalText(text []byte) error { return interTaskNames.Unmarshal(i, text) }

// Direction says what becomes of the directions of stored edges. The zero value is Undirected, the default.
type Direction int

// The directions.
const (
	Undirected Direction = iota // an edge stored either way joins both nodes, as in TRACE, CaT and PUMA
	Directed                    // a node receives from the nodes whose edges point at it, as in CGLB
)

var directionNames = enum.Of[Direction]("direction", "undirected", "directed")

// String returns "undirected" or "directed".
func (d Direction) String() string { return directionNames.Name(d) }

// ParseDirection is the inverse of String.
func ParseDirection(text string) (Direction, error) { return directionNames.Parse(text) }

func (d Direction) MarshalText() ([]byte, error)     { return directionNames.Marshal(d) }
func (d *Direction) UnmarshalText(text []byte) error { return directionNames.Unmarshal(d, text) }
