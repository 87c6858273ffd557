// Package shell writes words as a POSIX shell takes them.
package shell

import (
	"strings"
	"unicode"
)

// Quote writes a word such that a shell reads it as it is: in single quotes nothing but the single quote has a meaning.
// Letters of any alphabet stay bare.
func Quote(word string) string {
	special := func(r rune) bool { return !strings.ContainsRune(plain, r) && !unicode.IsLetter(r) }
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain are characters without a meaning to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=@+"
