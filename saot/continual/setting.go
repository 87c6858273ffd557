package continual

import "github.com/saot-go/saot/internal/enum"

// Setting says what the head of a probe must tell apart.
type Setting int

const (
	// ClassIL is class-incremental: one head over all classes seen so far.
	ClassIL Setting = iota
	// TaskIL is task-incremental: the task is known, one head per task over its own classes.
	TaskIL
)

// Settings returns every setting, in the order of the tables.
func Settings() []Setting { return []Setting{ClassIL, TaskIL} }

// String returns "class-il" or "task-il".
func (s Setting) String() string { return settingNames.Name(s) }

// ParseSetting is the inverse of String.
func ParseSetting(text string) (Setting, error) { return settingNames.Parse(text) }

func (s Setting) MarshalText() ([]byte, error)     { return settingNames.Marshal(s) }
func (s *Setting) UnmarshalText(text []byte) error { return settingNames.Unmarshal(s, text) }

// Probe says how a linear head is fitted to frozen embeddings and on which nodes it is scored.
type Probe int

const (
	// ProbePaper is the probe behind the published tables: AdamW on raw embeddings, stopped by the accuracy on the very
	// nodes it is scored on (valid ∪ test). It is optimistic and sensitive to the scale of the embeddings.
	ProbePaper Probe = iota
	// ProbeConverged is multinomial logistic regression on standardised embeddings, solved to convergence, its strength
	// chosen on valid, scored on test alone.
	ProbeConverged
	// ProbeHead is no probe of embeddings but a supervised learner's own classifier, scored on test alone.
	ProbeHead
)

// Probes returns the probes of embeddings, in the order of the tables.
func Probes() []Probe { return []Probe{ProbePaper, ProbeConverged} }

// String returns "paper", "converged" or "head".
func (p Probe) String() string { return probeNames.Name(p) }

// ParseProbe is the inverse of String.
func ParseProbe(text string) (Probe, error) { return probeNames.Parse(text) }

func (p Probe) MarshalText() ([]byte, error)     { return probeNames.Marshal(p) }
func (p *Probe) UnmarshalText(text []byte) error { return probeNames.Unmarshal(p, text) }

var (
	settingNames = enum.Of[Setting]("setting", "class-il", "task-il")
	probeNames   = enum.Of[Probe]("probe", "paper", "converged", "head")
)
