package datasets

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// sameFloat asserts that scanFloat takes all of a decimal number or none, and agrees with strconv to the bit.
func sameFloat(t testing.TB, s string) (scanned bool) {
	t.Helper()
	want, err := strconv.ParseFloat(s, 32)
	got, width := scanFloat([]byte(s + "\n"))
	if err != nil {
		require.False(t, width > 0 && width == len(s), s)
		return false
	}
	if width == 0 {
		got, err = parseFloat(s)
	}
	if err != nil || (width != 0 && width != len(s)) || math.Float32bits(got) != math.Float32bits(float32(want)) {
		// plain: this runs millions of times
		t.Fatalf("%s: got %v (%d characters, %v), want %v", s, got, width, err, float32(want))
	}
	return width > 0
}

// Every way in which programs print numbers: float32 and float64, shortest and with fixed digits, with and without
// exponent.
func TestFloatsAgainstStrconv(t *testing.T) {
	rounds := 150_000
	if testing.Short() {
		rounds /= 10
	}
	rng := rand.New(rand.NewPCG(7, 8))
	scanned, all := 0, 0
	var b []byte
	check := func(s []byte) {
		all++
		if sameFloat(t, string(s)) {
			scanned++
		}
	}
	for range rounds {
		wild := float64(math.Float32frombits(rng.Uint32() &^ (1 << 30))) // below 2, subnormal ones too
		if math.IsNaN(wild) || math.IsInf(wild, 0) {
			continue
		}
		for _, v := range []float64{rng.NormFloat64(), wild, math.Round(rng.NormFloat64()*1e4) / 1e3,
			float64(rng.Int64())} {
			b = strconv.AppendFloat(b[:0], v, 'g', -1, 64)
			check(b)
			b = strconv.AppendFloat(b[:0], v, 'g', -1, 32)
			check(b)
			b = strconv.AppendFloat(b[:0], v, 'f', 1+rng.IntN(12), 64)
			check(b)
			b = strconv.AppendFloat(b[:0], v, 'e', rng.IntN(20), 64)
			check(b)
		}
	}
	t.Logf("%d of %d numbers without strconv", scanned, all)
	require.Greater(t, scanned, all/2)
}

// Numbers next to the points midway between two float32, where rounding twice goes wrong.
func TestFloatsNearMidway(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20_000 {
		v := math.Float32frombits(rng.Uint32N(0x7f000000))
		midway := (float64(v) + float64(math.Nextafter32(v, math.MaxFloat32))) / 2
		for _, x := range []float64{midway, math.Nextafter(midway, 0), math.Nextafter(midway, math.Inf(1))} {
			for _, digits := range []int{-1, 16, 17, 18, 25} {
				sameFloat(t, strconv.FormatFloat(x, 'e', digits, 64))
				if x > 1e-4 && x < 1e9 {
					sameFloat(t, strconv.FormatFloat(x, 'f', digits, 64))
				}
			}
		}
	}
}

func TestNumberEdges(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "0.0", "-0.000", "1", "1.", ".5", "-.5", "007", "1e0", "1E5", "1e+5", "1e-45", "1e-46",
		"3.4028234e38", "3.4028236e38", "1e39",
		"1e22", "1e23", "1e-22", "1e-23", "9999999999999999999", "18446744073709551616", "0.00000000000000000000001",
		"16777217", "16777219",
		"1.17549435e-38", "1.1754943e-38", "8388608.5", "8388609.5", "1e999", "1e9999", "0e9999", "+1", "--1", "1-",
		"e5", ".", "-", "", "1e", "1e+", "0x10",
	} {
		sameFloat(t, s)
	}
	for _, s := range []string{"nan", "Inf", "-inf", "0x1p-2", "1_0", "", "1e39", "1,5", "1 2"} {
		_, err := parseFloat(s)
		require.Error(t, err, s)
	}
	for s, want := range map[string]int{"0": 1, "999999999,": 9, "1000000000": 0, "12a": 2, "": 0, "-1": 0} {
		_, width := scanInt([]byte(s))
		require.Equal(t, want, width, s)
	}
	v, err := parseInt("2147483647")
	require.NoError(t, err)
	require.Equal(t, int32(math.MaxInt32), v)
	for _, s := range []string{"2147483648", "-1", "1.0", "", "1e3"} {
		_, err := parseInt(s)
		require.ErrorContains(t, err, "a whole number", s)
	}
}

func FuzzFloat(f *testing.F) {
	for _, s := range []string{"0", "-0.19586408", "1e-5", "123456789012345678901234567890",
		"1.00000005960464477539062500000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, width := scanFloat([]byte(s)); width > 0 { // it may end before the text does
			want, err := strconv.ParseFloat(s[:width], 32)
			require.NoError(t, err, s)
			require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(got), s)
		}
	})
}

func BenchmarkScanFloat(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 1000 {
		text = append(strconv.AppendFloat(text, rng.NormFloat64(), 'g', -1, 32), ',')
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for at := 0; at < len(text); {
			_, width := scanFloat(text[at:])
			at += width + 1
		}
	}
}
