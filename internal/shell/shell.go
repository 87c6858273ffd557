// Package shell writes words as shells take them.
package shell

import (
	"runtime"
	"strings"
	"unicode"
)

// Quote writes a word such that a POSIX shell reads it as it is: in single quotes nothing but the single quote has a
// meaning. Letters of any alphabet stay bare.
func Quote(word string) string {
	if isBare(word, "_-./:,=@+") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Typed writes a word of a command that the user is told to type: as Quote does, but on Windows such that both of its
// shells read it as it is. There it is NAME if that is not possible.
func Typed(word string) string {
	if runtime.GOOS == "windows" {
		return typedOnWindows(word)
	}
	return Quote(word)
}

// typedOnWindows writes a word in double quotes if it must be quoted. In these, PowerShell or cmd acts on some signs,
// and a name may be another person's.
func typedOnWindows(word string) string {
	switch {
	case isBare(word, `_-./:=+\`):
		return word
	case strings.ContainsAny(word, "\"“”„$`%") || strings.HasSuffix(word, `\`):
		return "NAME"
	}
	return `"` + word + `"`
}

// isBare reports whether a word needs no quotes, given the signs without a meaning to a shell.
func isBare(word, signs string) bool {
	special := func(r rune) bool {
		return !strings.ContainsRune(signs, r) && !unicode.IsLetter(r) && (r < '0' || r > '9')
	}
	return word != "" && !strings.ContainsFunc(word, special)
}
