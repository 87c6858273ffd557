package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shell reads what is quoted as it is.
func TestQuote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, word := range []string{"", "plain", "a b", "it's", `C:\runs`, "$HOME", "`x`", `"`, "*", "~", "a\nb", "größe", "-n", "#", "x=1,2"} {
		got, err := exec.Command(sh, "-c", "printf %s "+Quote(word)).Output()
		require.NoError(t, err)
		require.Equal(t, word, string(got))
	}
	require.Equal(t, "runs/größe-5.npz", Quote("runs/größe-5.npz"))
}

// What the shells of Windows would act on is not written.
func TestTypedOnWindows(t *testing.T) {
	for word, want := range map[string]string{
		`C:\runs\a-1.npz`: `C:\runs\a-1.npz`,
		`C:\größe`:        `C:\größe`,
		``:                `""`,
		`C:\my runs`:      `"C:\my runs"`,
		`a,b`:             `"a,b"`,
		`a & calc`:        `"a & calc"`,
		`it's`:            `"it's"`,
		`$(calc)`:         "NAME",
		"`n":              "NAME",
		`%PATH%`:          "NAME",
		`a" & calc & "`:   "NAME",
		`a” ; calc ; “`:   "NAME",
		`C:\my runs\`:     "NAME",
	} {
		require.Equal(t, want, typedOnWindows(word))
	}
}
