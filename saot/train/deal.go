package train

import "math/rand/v2"

// Deal deals n items out in batches of one size, in a new order every epoch. Items that do not fill a batch are left
// out of that epoch.
type Deal struct {
	n, size int
	rng     func(epoch int) *rand.Rand
	order   []int
}

// NewDeal deals n items, 1 at least, with a source of randomness for each epoch. A batch of more than n has n.
func NewDeal(n, size int, rng func(epoch int) *rand.Rand) *Deal {
	return &Deal{n: n, size: min(n, size), rng: rng}
}

// PerEpoch returns the number of batches in an epoch.
func (d *Deal) PerEpoch() int { return d.n / max(1, d.size) }

// Batch returns the items of a step. Steps are asked for in their order. It panics where there are no items.
func (d *Deal) Batch(step int) []int32 {
	epoch, at := step/d.PerEpoch(), step%d.PerEpoch()
	if at == 0 {
		d.order = d.rng(epoch).Perm(d.n)
	}
	batch := make([]int32, d.size)
	for i, v := range d.order[at*d.size : (at+1)*d.size] {
		batch[i] = int32(v)
	}
	return batch
}

// OverBatches completes a plan by a number of epochs of batches.
func OverBatches[T any](p Plan[T], d *Deal, epochs int, inputs func(step int, batch []int32) (in T, made any,
	err error)) Plan[T] {
	p.Epochs, p.Steps = epochs, epochs*d.PerEpoch()
	p.Inputs = func(step int) (T, any, error) { return inputs(step, d.Batch(step)) }
	return p
}
