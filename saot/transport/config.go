package transport

import (
	"fmt"
	"math"
	"strings"

	"github.com/saot-go/saot/saot/internal/enum"
)

// Domain says in which form Sinkhorn's sweeps are done.
type Domain int

const (
	// AutoDomain takes KernelDomain where range(C)/ε is small enough for the number format, else LogDomain.
	AutoDomain Domain = iota
	// KernelDomain scales the matrix exp(−C/ε): two matrix-vector products a sweep, but exp underflows where C/ε is large.
	KernelDomain
	// LogDomain works on potentials with log-sum-exp: two exponentials per entry a sweep, and it never underflows.
	LogDomain
)

var domainNames = []string{AutoDomain: "auto", KernelDomain: "kernel", LogDomain: "log"}

// String returns "auto", "kernel" or "log".
func (d Domain) String() string { return enum.Name("Domain", domainNames, d) }

// ParseDomain is the inverse of String.
func ParseDomain(s string) (Domain, error) { return enum.Parse[Domain]("domain", domainNames, s) }

// MarshalText writes the name.
func (d Domain) MarshalText() ([]byte, error) {
	if _, err := ParseDomain(d.String()); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads the name.
func (d *Domain) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDomain(string(text))
	return err
}

// Bounds on range(C)/ε for the kernel form. A scaling factor spans up to e^(range/ε), so the bound keeps products of
// two of them within the exponent of the number format: e^60 ≈ 1e26 of float32's 1e38, e^200 ≈ 1e87 of float64's 1e308.
const (
	kernelBound32 = 60
	kernelBound64 = 200
)

// SinkhornConfig sets an entropic optimal-transport problem and its solver, on the graph and on the host.
type SinkhornConfig struct {
	// Epsilon is the weight of the entropy, in the unit of the cost. Default 0.2, for cosine costs.
	Epsilon float64 `json:"epsilon"`
	// Sweeps is the number of update pairs: exactly that many on the graph, at most that many on the host. Default 50.
	Sweeps int `json:"sweeps"`
	// Domain is the form of the sweeps. Default AutoDomain.
	Domain Domain `json:"domain"`
	// CostRange bounds max C − min C; on the graph, where C is not known yet, AutoDomain goes by it. Default 2, the range of a
	// cosine cost; 0 means unknown, and AutoDomain then takes LogDomain. The host measures the range and ignores this.
	CostRange float64 `json:"cost_range"`
	// Differentiable lets gradients flow through every sweep. Default false: no gradient flows into the cost, and the
	// backward pass never visits the loop. Only the graph form reads it.
	Differentiable bool `json:"differentiable"`
	// Tolerance ends the host solver early once the L1 marginal error is at most this. Default 1e-9.
	// The graph form has no branches and does not read it.
	Tolerance float64 `json:"tolerance"`
}

// DefaultSinkhorn returns the documented defaults.
func DefaultSinkhorn() SinkhornConfig {
	return SinkhornConfig{Epsilon: 0.2, Sweeps: 50, CostRange: 2, Tolerance: 1e-9}
}

// Validate lists every bad field at once.
func (c SinkhornConfig) Validate() error { return invalid("sinkhorn", c.faults()) }

// faults says what is wrong with each bad field.
func (c SinkhornConfig) faults() []string {
	var bad []string
	if !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 0) {
		bad = append(bad, fmt.Sprintf("epsilon is %v: it must be positive and finite", c.Epsilon))
	}
	if c.Sweeps < 1 {
		bad = append(bad, fmt.Sprintf("sweeps is %d: it must be at least 1", c.Sweeps))
	}
	if _, err := ParseDomain(c.Domain.String()); err != nil {
		bad = append(bad, fmt.Sprintf("domain is %v: use auto, kernel or log", c.Domain))
	}
	if !(c.CostRange >= 0) || math.IsInf(c.CostRange, 0) {
		bad = append(bad, fmt.Sprintf("cost_range is %v: it must be finite and not negative", c.CostRange))
	}
	if !(c.Tolerance >= 0) {
		bad = append(bad, fmt.Sprintf("tolerance is %v: it must not be negative", c.Tolerance))
	}
	return bad
}

// invalid makes one error, on one line, of the faults of a config.
func invalid(config string, faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("transport: %s config: %s", config, strings.Join(faults, "; "))
}

// graphDomain resolves AutoDomain for the graph form.
func (c SinkhornConfig) graphDomain() Domain {
	return resolve(c.Domain, c.CostRange, c.Epsilon, kernelBound32, c.CostRange > 0)
}

// resolve picks a form for AutoDomain.
func resolve(d Domain, costRange, epsilon, bound float64, known bool) Domain {
	switch {
	case d != AutoDomain:
		return d
	case known && costRange <= bound*epsilon:
		return KernelDomain
	default:
		return LogDomain
	}
}
