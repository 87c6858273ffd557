package experiment

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/internal/golden"
	"github.com/saot-go/saot/saot/continual"
)

// committed compares with a file of testdata.
func committed(t *testing.T, name string, got []byte) {
	t.Helper()
	require.NoError(t, golden.SameText(filepath.Join("testdata", name), string(got), *update),
		"go generate ./saot/experiment writes it")
}

func TestDemandOf(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for _, c := range []struct {
		name      string
		estimates []Estimate
		want      Demand
	}{
		{"nothing known", []Estimate{{}, {}}, Demand{}},
		// 10,803 s are 180.05 minutes; 3e9 bytes are 2.79 GiB.
		{"the largest counts, each rounded up", []Estimate{{Seconds: 3601, Bytes: 1e9}, {Seconds: 60, Bytes: 2e9}, {}},
			Demand{minutes(181), 3 << 30}},
		{"whole minutes and GiB stay", []Estimate{{Seconds: 1200, Bytes: 2 << 30}}, Demand{minutes(60), 3 << 30}},
		{"short runs", []Estimate{{Seconds: 1, Bytes: 1}}, Demand{minutes(15), 1 << 30}},
	} {
		require.Equal(t, c.want, DemandOf(c.estimates), c.name)
	}
}

func TestLeft(t *testing.T) {
	spec, err := ParseSpec("x", []byte("runs:\n- {datasets: [synthetic], methods: [saot], seeds: [0, 1, 2, 3]}\n"))
	require.NoError(t, err)
	s := &Sweep{Dir: t.TempDir(), Runs: spec.Runs}
	left := func(retry bool) []int {
		numbers, err := s.Left(retry)
		require.NoError(t, err)
		return numbers
	}
	require.Equal(t, []int{0, 1, 2, 3}, left(false), "no folder is there yet")
	_, err = NewSweep(s.Dir, s.Runs)
	require.NoError(t, err)
	require.NoError(t, file.Write(filepath.Join(s.Folder(0), continual.ResultFile), nil))
	require.NoError(t, file.Write(filepath.Join(s.Folder(1), FailedFile), nil))
	require.NoError(t, file.Write(filepath.Join(s.Folder(2), continual.CheckpointFile), nil))
	require.Equal(t, []int{2, 3}, left(false))
	require.Equal(t, []int{1, 2, 3}, left(true))
	lock, err := s.claim(3, nil)
	require.NoError(t, err)
	require.Equal(t, []int{2}, left(false))
	lock.Release()
}

func TestFreeze(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, file.Write(path, []byte("a")))
	first, err := Freeze(path)
	require.NoError(t, err)
	// SHA-256 of "a" begins so: FIPS 180-2 test programs
	require.Equal(t, FrozenSpec{"spec-ca978112.yaml", []byte("a")}, first)
	require.NoError(t, file.Write(path, []byte("b")))
	second, err := Freeze(path)
	require.NoError(t, err)
	require.NotEqual(t, first.File, second.File)

	own, err := Freeze("quick/lr-grid")
	require.NoError(t, err)
	_, err = ParseSpec(own.File, own.Text)
	require.NoError(t, err)
	_, err = Freeze("no-such-spec")
	require.ErrorContains(t, err, "no-such-spec")
}

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"table2": "saot-table2", "saot": "saot", "My Sweep (α)": "saot-my-sweep", "": "saot", "2": "saot-2",
		"0123456789012345678901234567890123456789": "saot-01234567890123456789012345678901234",
	} {
		require.Equal(t, want, label(name), name)
	}
}

func TestJobsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		job  Job
		word string
	}{
		{Job{}, "no run"},
		{Job{Numbers: []int{2, 1}}, "rising"},
		{Job{Numbers: []int{-1}}, "from 0"},
		{Job{Numbers: []int{0}, GPUs: -1}, "negative"},
	} {
		_, err := SlurmScript(c.job, SlurmOptions{Dir: "/d", WorkDir: "/w"})
		require.ErrorContains(t, err, c.word)
		_, err = KubernetesManifest(c.job, KubernetesOptions{Image: "i", Claim: "c", Mount: "/m",
			Specs: []FrozenSpec{{}}})
		require.ErrorContains(t, err, c.word)
	}
}
