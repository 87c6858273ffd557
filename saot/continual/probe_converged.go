package continual

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/saot-go/saot/saot/engine"
)

// L-BFGS settings. The iterations are a bound. Task-il and wide embeddings are solved for W itself, with a memory of
// 80: with gonum's default of 15, L-BFGS took ten times the iterations on UAI at the weakest penalty, because
// embeddings are strongly correlated. In the coordinates of class-il, memories of 15 and 80 take about the same number
// of iterations.
const (
	convergedIterations = 2000
	convergedMemory     = 80
	curvedMemory        = 20
)

// convergedPrecision says when L-BFGS stops if it solves for W itself: when every entry of the gradient is below this
// share of λ. The solution is off by ‖gradient‖/λ at most. With one bound for all strengths, a fit with a weak penalty
// would stop where the stronger one ended. Above λ = 1e-3 the bound does not rise.
const convergedPrecision = 1e-2

// curvedGap says when L-BFGS stops in the coordinates of class-il: where the objective is this far above its minimum,
// in nats, by half the squared norm of the gradient. In these coordinates the Hessian is near the identity. The
// estimate is up to ten times too small, since the blocks of the Hessian off its diagonal are left out. A bound on the
// gradient by W would not do: where few directions curve by more than λ, as in PCA of word frequencies, a gradient of
// λ/10 in each entry is 6e-4 nats, and accuracies are off by 0.4 points.
const curvedGap = 3e-6

// strengths returns the path of λ, strong to weak.
func strengths() []float64 { return []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5} }

// pathMargin, in percentage points, and pathNodes say when the path of class-il ends: where it is far below its best,
// on enough valid nodes that this is not one or two of them. With no margin, a fit on UAI would have ended before the
// strength that it keeps.
const (
	pathMargin = 0.5
	pathNodes  = 300
)

// fitConverged solves, for every strength λ on the path, each solution the start of the next,
//
//	min_W  mean cross-entropy(XW + b) + λ/2·‖W‖²   for every head,
//
// X standardized with the train samples of the head's tasks and b not penalized. Each head keeps the λ with the best
// mean validation accuracy over its tasks (the stronger one on a tie) and is scored on test with it.
//
// In class-il, with pathNodes valid nodes or more, the path ends at the first λ whose accuracy is more than pathMargin
// below the best: the weakest two take four fifths of the iterations, and past the best fit a weaker penalty overfits
// more. Where valid nodes are few, as in the heads of task-il, accuracy may fall by chance, and the path is cheap: it
// goes to the end.
func (ev *evaluator) fitConverged(ctx context.Context, s Setting, d *design) ([]float64, []Fit, error) {
	pr := ev.newLogistic(s, d)
	defer pr.release()
	heads := d.heads(s)
	best := make([]float64, len(heads))
	row, fits := make([]float64, d.seen), make([]Fit, len(heads))
	ends := s == ClassIL && d.validNodes() >= ev.pathNodes
	for k, strength := range strengths() {
		fit, err := pr.solve(ctx, strength)
		if err != nil {
			return nil, nil, err
		}
		logits := pr.logits(d.held)
		valid, test := accuracy(d, s, partValid, logits), accuracy(d, s, partTest, logits)
		for h, tasks := range heads {
			if m := mean(pick(valid, tasks)); k == 0 || m > best[h] {
				best[h], fits[h] = m, fit
				fits[h].Valid = m
				for _, j := range tasks {
					row[j] = test[j]
				}
			} else if ends && m < best[h]-pathMargin {
				return row, fits, nil
			}
		}
	}
	return row, fits, nil
}

// logistic is a regularized multinomial regression whose objective lives on the engine.
type logistic struct {
	ev             *evaluator
	design         *design
	scale          *scaler
	curved         bool              // solve in coordinates that fit the curvature
	gap            float64           // see curvedGap
	memory         int               // of L-BFGS
	width, columns int               // of W, the bias row included; the optimizer sees no padding columns
	padded         int               // columns on the engine
	fixed          []*tensors.Tensor // x, xᵀ, target ⊙ weight, closed, weight
	w              []float64         // the solution so far

	rows     int                           // samples from which the curvature of a class is computed, at most
	meanGram func() (*mat.SymDense, error) // computeMeanGram's, once

	penalty *tensors.Tensor // [width, 1]: λ, and 0 for the bias
	value   float64         // of the last call of evaluate
	grad    []float64       // the same
	err     error
}

func (ev *evaluator) newLogistic(s Setting, d *design) *logistic {
	sh, width := ev.padded(ProbeConverged, d), d.width+1
	scale := newScaler(s, d)
	in := newInputs(d, s, sh, scale.apply)
	columns := d.layout.offset[d.seen]
	for i, weight := range in.weight {
		floats.Scale(weight, in.target[i*sh.columns:(i+1)*sh.columns])
	}
	memory, curved := convergedMemory, s == ClassIL && d.width <= curvedWidth
	if curved {
		memory = curvedMemory
	}
	pr := &logistic{ev: ev, design: d, width: width, columns: columns, padded: sh.columns, scale: scale,
		curved: curved, gap: curvedGap, memory: memory,
		rows: max(curvedRows, curvedShare*len(d.train)/columns),
		fixed: []*tensors.Tensor{tensorOf(in.x, sh.train, width), tensorOf(transposed(in.x, sh.train, width), width,
			sh.train),
			tensorOf(in.target, sh.train, sh.columns), tensorOf(in.closed, sh.train, sh.columns),
			tensorOf(in.weight, sh.train, 1)},
		w: make([]float64, width*columns), grad: make([]float64, width*columns)}
	pr.meanGram = sync.OnceValues(pr.computeMeanGram)
	return pr
}

func (pr *logistic) release() {
	engine.Release(pr.fixed, pr.penalty)
}

// solve minimizes the objective at a strength. It starts from the solution at the strength before.
func (pr *logistic) solve(ctx context.Context, strength float64) (Fit, error) {
	pr.setStrength(strength)
	var co coordinates
	if pr.curved {
		var err error
		if co, err = pr.curvature(strength); err != nil {
			return Fit{}, err
		}
	}
	settings := &optimize.Settings{MajorIterations: convergedIterations, Converger: pr.converger(strength)}
	found, err := optimize.Minimize(pr.problem(ctx, co), co.place(pr.w), settings,
		&optimize.LBFGS{Store: pr.memory, Linesearcher: &optimize.MoreThuente{}})
	if pr.err != nil {
		return Fit{}, pr.err
	}
	// A line search that finds no lower point has reached the precision of the objective: the gradient says how far.
	if found == nil || math.IsNaN(found.F) {
		return Fit{}, Divergedf("converged probe at strength %g: %w: lower learning_rate, or scale the features",
			strength, err)
	}
	pr.evaluate(co.weights(pr.w, found.X))
	if pr.err != nil {
		return Fit{}, pr.err
	}
	return Fit{Strength: strength, Iterations: found.MajorIterations, Gradient: pr.largest()}, nil
}

// problem is the objective in the optimizer's coordinates. The optimizer asks for the value and the gradient at a place
// in separate calls; both come from one evaluation.
func (pr *logistic) problem(ctx context.Context, co coordinates) optimize.Problem {
	var at []float64
	w := make([]float64, len(pr.w))
	evaluate := func(v []float64) {
		if at == nil || !floats.Equal(at, v) {
			at = append(at[:0], v...)
			pr.evaluate(co.weights(w, v))
		}
	}
	return optimize.Problem{
		Func: func(v []float64) float64 {
			evaluate(v)
			return pr.value
		},
		Grad: func(grad, v []float64) {
			evaluate(v)
			co.gradient(grad, pr.grad)
		},
		Status: func() (optimize.Status, error) {
			if pr.err == nil {
				pr.err = ctx.Err()
			}
			if pr.err != nil {
				return optimize.Failure, pr.err
			}
			return optimize.NotTerminated, nil
		},
	}
}

func (pr *logistic) largest() float64 { return floats.Norm(pr.grad, math.Inf(1)) }

// converger ends the optimizer as curvedGap or convergedPrecision says.
func (pr *logistic) converger(strength float64) stationary {
	if pr.curved {
		return func(gradient []float64) bool { return floats.Dot(gradient, gradient)/2 < pr.gap }
	}
	bound := convergedPrecision * min(1e-3, strength)
	return func(gradient []float64) bool { return floats.Norm(gradient, math.Inf(1)) < bound }
}

// stationary reports of a gradient in the optimizer's coordinates whether the optimizer may end.
type stationary func(gradient []float64) bool

// Init is called at the optimizer's start.
func (stationary) Init(int) {}

// Converged looks at the gradient of the place that the optimizer has come to.
func (s stationary) Converged(l *optimize.Location) optimize.Status {
	if s(l.Gradient) {
		return optimize.GradientThreshold
	}
	return optimize.NotTerminated
}

func (pr *logistic) setStrength(strength float64) {
	penalty := make([]float64, pr.width)
	for k := range pr.width - 1 {
		penalty[k] = strength
	}
	engine.Release(pr.penalty)
	pr.penalty = tensorOf(penalty, pr.width, 1)
}

// evaluate computes value and gradient at w.
func (pr *logistic) evaluate(w []float64) {
	if pr.err != nil {
		return
	}
	wide := make([]float64, pr.width*pr.padded)
	copyRows(wide, pr.padded, w, pr.columns)
	point := tensorOf(wide, pr.width, pr.padded)
	out, err := pr.ev.objective.Call(slices.Concat(pr.fixed, []*tensors.Tensor{point, pr.penalty})...)
	if err != nil {
		pr.err = fmt.Errorf("converged probe: %w", err)
		return
	}
	defer engine.Release(out, point)
	value, err := tensors.CopyFlatData[float64](out[0])
	if err == nil {
		pr.value = value[0]
		err = tensors.ConstFlatData(out[1], func(g []float64) { copyRows(pr.grad, pr.columns, g, pr.padded) })
	}
	if err != nil {
		pr.err = fmt.Errorf("converged probe: read the objective: %w", err)
	}
}

// copyRows copies the rows of a matrix of some columns into those of another: as many columns as both have.
func copyRows(dst []float64, to int, src []float64, from int) {
	for k := range len(dst) / to {
		copy(dst[k*to:(k+1)*to], src[k*from:(k+1)*from])
	}
}

// logits returns XW of samples by their place, X their standardized rows with the bias's 1 last.
func (pr *logistic) logits(samples []sample) func(i int) []float64 {
	logits := make([]float64, 0, len(samples)*pr.columns)
	for some := range slices.Chunk(samples, pr.ev.logitRows) {
		x := matrixOf(rowsOf(some, len(some), pr.design.width, pr.scale.apply), pr.width)
		first := len(logits)
		logits = logits[:first+len(some)*pr.columns]
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, matrixOf(pr.w, pr.columns), 0,
			matrixOf(logits[first:], pr.columns))
	}
	return func(i int) []float64 { return logits[i*pr.columns : (i+1)*pr.columns] }
}

// buildLogistic computes Σ weight·CE(Z) + ½Σ penalty·W², Z = XW + closed, and its gradient Xᵀ((softmax(Z) − Y) ⊙
// weight) + penalty ⊙ W. The exponential is taken once for both: in float64 nothing but the products costs more.
// Inputs: x [n, w], xᵀ [w, n], Y ⊙ weight, closed [n, c], weight [n, 1], W [w, c], penalty [w, 1]. Returns the value
// (scalar) and the gradient [w, c].
func buildLogistic(in []*graph.Node) []*graph.Node {
	x, xt, target, closed, weight, w, penalty := in[0], in[1], in[2], in[3], in[4], in[5], in[6]
	z := graph.Add(graph.Dot(x, w).Product(), closed)
	z = graph.Sub(z, graph.ReduceAndKeep(z, graph.ReduceMax, -1))
	e := graph.Exp(z)
	sum := graph.ReduceAndKeep(e, graph.ReduceSum, -1)
	cross := graph.Sub(graph.ReduceAllSum(graph.Mul(weight, graph.Log(sum))), graph.ReduceAllSum(graph.Mul(target, z)))
	shrink := graph.Mul(w, penalty)
	value := graph.Add(cross, graph.MulScalar(graph.ReduceAllSum(graph.Mul(shrink, w)), 0.5))
	grad := graph.Dot(xt, graph.Sub(graph.Mul(e, graph.Div(weight, sum)), target)).Product()
	return []*graph.Node{value, graph.Add(grad, shrink)}
}

// scaler standardizes embeddings with the mean and standard deviation of train samples: of all seen tasks in class-il,
// of the sample's own task in task-il. Columns that do not vary become 0.
type scaler struct {
	design      *design
	mean, scale [][]float64 // of each task
}

// constantColumn is the standard deviation, relative to the mean, below which a float32 column counts as constant.
const constantColumn = 1e-7

func newScaler(s Setting, d *design) *scaler {
	sc := &scaler{design: d, mean: make([][]float64, d.seen), scale: make([][]float64, d.seen)}
	for _, tasks := range d.heads(s) {
		member := make([]bool, d.seen)
		for _, j := range tasks {
			member[j] = true
		}
		mean, scale := d.moments(member)
		for _, j := range tasks {
			sc.mean[j], sc.scale[j] = mean, scale
		}
	}
	return sc
}

func (sc *scaler) apply(dst []float64, s sample) {
	mean, scale := sc.mean[s.task], sc.scale[s.task]
	for k, v := range sc.design.row(s) {
		dst[k] = (float64(v) - mean[k]) * scale[k]
	}
}

// moments returns the mean and the inverse standard deviation (0 for constant columns) of the train samples of some
// tasks.
func (d *design) moments(member []bool) (mean, scale []float64) {
	mean, scale = make([]float64, d.width), make([]float64, d.width)
	n := 0.0
	for _, s := range d.train {
		if member[s.task] {
			n++
			for k, v := range d.row(s) {
				mean[k] += float64(v)
			}
		}
	}
	floats.Scale(1/n, mean)
	for _, s := range d.train {
		if member[s.task] {
			for k, v := range d.row(s) {
				scale[k] += (float64(v) - mean[k]) * (float64(v) - mean[k])
			}
		}
	}
	for k, sum := range scale {
		if std := math.Sqrt(sum / n); std > constantColumn*math.Abs(mean[k]) {
			scale[k] = 1 / std
		} else {
			scale[k] = 0
		}
	}
	return mean, scale
}

func transposed[T float](x []T, rows, cols int) []T {
	t := make([]T, len(x))
	for i := range rows {
		for k := range cols {
			t[k*rows+i] = x[i*cols+k]
		}
	}
	return t
}
