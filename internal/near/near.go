// Package near finds the word that was meant where one was misspelled.
package near

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Word returns the known word that is nearest to a misspelled one, or "" if none is near: a third of the letters, and
// at least one, may be wrong, missing, superfluous or swapped with a neighbor. A beginning of three letters or more is
// near its word, too. Of words that are equally near, the first is taken.
func Word(misspelled string, known []string) string {
	letters := utf8.RuneCountInString(misspelled)
	best, least := "", 1+max(1, letters/3)
	for _, word := range known {
		if d := distance(strings.ToLower(misspelled), strings.ToLower(word)); d < least {
			best, least = word, d
		}
	}
	for _, word := range known {
		if best == "" && letters >= 3 && strings.HasPrefix(strings.ToLower(word), strings.ToLower(misspelled)) {
			best = word
		}
	}
	return best
}

// Hint returns, for an error, a question in parentheses with a space before it, or "" if no word is near.
func Hint(misspelled string, known []string) string {
	if word := Word(misspelled, known); word != "" {
		return fmt.Sprintf(" (did you mean %q?)", word)
	}
	return ""
}

// distance is the number of letters that are to be changed, added, removed or swapped with a neighbor, each at most
// once (optimal string alignment; Damerau 1964).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case s[i-1] == t[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}
