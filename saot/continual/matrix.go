package continual

// Matrix is the performance matrix of a run: M[i][j], j ≤ i, is the accuracy in percent on task j after task i was
// learned. Row i has i+1 entries.
type Matrix [][]float64

// AveragePerformance returns AP = mean over j of M[T−1][j] (SAOT, "Metrics"), in percent; 0 for an empty matrix.
func (m Matrix) AveragePerformance() float64 {
	if len(m) == 0 {
		return 0
	}
	return mean(m[len(m)-1])
}

// AverageForgetting returns AF = mean over j < T−1 of M[T−1][j] − M[j][j] (SAOT, "Metrics"), in percent points:
// negative where earlier tasks got worse. It is 0 for fewer than two tasks.
func (m Matrix) AverageForgetting() float64 {
	n := len(m)
	if n < 2 {
		return 0
	}
	sum := 0.0
	for j := range n - 1 {
		sum += m[n-1][j] - m[j][j]
	}
	return sum / float64(n-1)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
