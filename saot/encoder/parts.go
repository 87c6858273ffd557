package encoder

// Parts cuts a neighborhood into those of consecutive targets, one for each of a number of devices: the first parts
// have targets/number of them, rounded up. Each keeps the neighbors that were drawn, so an encoder gives a target the
// same embedding in its part. A node that several parts reach counts once in BatchNorm's statistics.
func (n *Neighborhood) Parts(number int) []*Neighborhood {
	parts := make([]*Neighborhood, number)
	each := PartTargets(n.Targets(), number)
	for p := range parts {
		parts[p] = n.part(min(p*each, n.Targets()), min((p+1)*each, n.Targets()))
	}
	n.countOnce(parts)
	return parts
}

// PartTargets returns how many targets the largest of a number of parts has.
func PartTargets(targets, number int) int { return (targets + number - 1) / number }

// part is the neighborhood of the targets from first to end. Nodes are listed in the order in which the part reaches
// them.
func (n *Neighborhood) part(first, end int) *Neighborhood {
	out := &Neighborhood{loopsLeft: n.loopsLeft}
	place := make([]int32, len(n.Nodes)) // in the part, from 1
	var from []int32                     // the place in the whole of each node of the part
	reach := func(at int32) int32 {
		if place[at] == 0 {
			from = append(from, at)
			place[at] = int32(len(from))
		}
		return place[at] - 1
	}
	for at := first; at < end; at++ {
		reach(int32(at))
	}
	for _, h := range n.hops {
		drawn := lists{offsets: make([]int64, 1, len(from)+1)}
		for i := range len(from) {
			for _, at := range h.drawn.of(int(from[i])) {
				drawn.rows = append(drawn.rows, reach(at))
			}
			drawn.offsets = append(drawn.offsets, int64(len(drawn.rows)))
		}
		out.hops = append(out.hops, hop{drawn, len(from)})
	}
	for _, at := range from {
		out.Nodes, out.degree = append(out.Nodes, n.Nodes[at]), append(out.degree, n.degree[at])
	}
	out.from = from
	return out
}

// countOnce marks what earlier parts have too.
func (n *Neighborhood) countOnce(parts []*Neighborhood) {
	for _, h := range n.hops[:len(n.hops)-1] {
		taken := make([]bool, h.nodes)
		for _, p := range parts {
			elsewhere := make([]bool, p.hops[len(p.elsewhere)].nodes)
			for i := range elsewhere {
				at := p.from[i]
				elsewhere[i], taken[at] = taken[at], true
			}
			p.elsewhere = append(p.elsewhere, elsewhere)
		}
	}
}

// counted returns [padded, 1], 1 on the nodes that BatchNorm counts in the layer whose targets are those of a hop.
func (n *Neighborhood) counted(hop, padded int) []float32 {
	mask := make([]float32, padded)
	for i := range n.hops[hop].nodes {
		if n.elsewhere == nil || !n.elsewhere[hop][i] {
			mask[i] = 1
		}
	}
	return mask
}
