package continual

import (
	"math"
	"slices"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/seed"
)

// leastRows is what a class keeps when train nodes are thinned, however small its share.
const leastRows = 10

// thinned returns the tasks with about that many train nodes in all, if they have more: each class in each task keeps
// its share, since the imbalance is part of what is measured, and at least leastRows. Which nodes stay depends on the
// class alone.
func thinned(tasks []datasets.Task, rows int) []datasets.Task {
	all := 0
	for i := range tasks {
		all += len(tasks[i].Split.Train)
	}
	if rows == 0 || all <= rows {
		return tasks
	}
	share := float64(rows) / float64(all)
	out := slices.Clone(tasks)
	for i := range out {
		out[i].Split.Train = thinnedTask(&tasks[i], share)
	}
	return out
}

func thinnedTask(t *datasets.Task, share float64) (kept []int32) {
	byClass := map[int32][]int32{}
	for _, node := range t.Split.Train {
		if node >= 0 && int(node) < len(t.Labels) { // whatever is wrong with the split, newDesign says
			byClass[t.Labels[node]] = append(byClass[t.Labels[node]], node)
		}
	}
	for _, class := range t.Classes {
		nodes := byClass[class]
		keep := min(len(nodes), max(leastRows, int(math.Round(share*float64(len(nodes))))))
		for _, at := range seed.Stream(1, "probe rows", class).Perm(len(nodes))[:keep] {
			kept = append(kept, nodes[at])
		}
	}
	slices.Sort(kept)
	return kept
}
