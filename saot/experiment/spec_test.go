package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTry(t *testing.T) {
	s, err := OpenSpec("quick/lr-grid")
	require.NoError(t, err)
	for _, r := range s.Runs {
		t.Log(r.Name(), string(r.Compared), r.Learner.LearningRate, r.Learner.Epochs)
	}
	_, err = ParseSpec("x.yaml", []byte("about: a\nruns:\n- datasets: [uai,\n   nope]\n  methods: [saot, bad]\n  seeds: [0]\n  foo: 1\n"))
	t.Log(err)
	_, err = ParseSpec("x.yaml", []byte("about: a\nruns:\n- datasets: [uai,\n   nope]\n  methods: [saot, bad]\n  seeds: [0]\n  set: {alhpa: 1}\n"))
	t.Log(err)
	_, err = ParseSpec("x.yaml", []byte("about: a\nruns:\n- datasets: [uai]\n  methods: [saot, joint, gbt]\n  seeds: [0]\n  set:\n    alhpa: 1\n    encoder: {hidden: 3}\n  grid:\n    epochs: 3\n  stream: {split_seed: x}\n"))
	t.Log(err)
	_, err = ParseSpec("x.yaml", []byte("about: a\nruns:\n- datasets: [uai]\n  methods: [saot, joint, gbt]\n  seeds: [0]\n  set:\n    alhpa: 1\n  grid: {epochs: [-1]}\n"))
	t.Log(err)
}
