package course

import (
	"regexp"
	"strconv"
)

// Facts are what the first cell of a notebook tells a reader who plans.
type Facts struct {
	Level   string // introductory, intermediate or advanced
	Minutes int    // to read it
	Needs   string // prerequisites; another notebook is its number
	Goal    string // the sentence that starts with "After it you can", without markup; "" if there is none
}

var (
	header = regexp.MustCompile(`(?s)^# [^\n]+\n\n.+\n\n` +
		`\| level \| time to read \| prerequisites \|\n\|---\|---\|---\|\n` +
		`\| (introductory|intermediate|advanced) \| (\d{1,3}) minutes \| ([^|\n]+) \|`)
	linked = regexp.MustCompile(`\[(\d\d)[^\]]*\]\([^)]*\)`)
	called = regexp.MustCompile(`notebooks? (\d\d)`)
	// A period before a digit, as in "Eq. 7", ends no sentence.
	goal = regexp.MustCompile(`(?m)\n\n(After it you can [^\n]*?\.)(?: +[^\d\s]|\s*$)`)
)

// ReadFacts returns what a first cell says below its title and paragraph in the table of level, time and prerequisites.
// Without these, in this form, ok is false.
func ReadFacts(source string) (f Facts, ok bool) {
	found := header.FindStringSubmatch(source)
	if found == nil {
		return f, false
	}
	f.Level = found[1]
	f.Minutes, _ = strconv.Atoi(found[2]) // three digits at most
	f.Needs = called.ReplaceAllString(linked.ReplaceAllString(found[3], "$1"), "$1")
	if sentence := goal.FindStringSubmatch(source); sentence != nil {
		f.Goal = plain(sentence[1])
	}
	return f, true
}
