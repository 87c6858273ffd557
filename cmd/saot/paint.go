package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// paint colors text for a terminal. The zero value leaves it as it is.
type paint struct{ on bool }

// paintFor colors what goes to a terminal, unless the environment variable NO_COLOR is set (no-color.org) or the
// terminal is a dumb one.
func paintFor(out io.Writer) paint {
	return paint{isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (p paint) sgr(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string { return p.sgr("1", text) }
func (p paint) red(text string) string  { return p.sgr("31", text) }

// viridis has colors of the 256 of terminals, from dark to light, that are near to the map of the pictures.
var viridis = []int{54, 60, 61, 67, 73, 72, 78, 113, 149, 185}

// heat puts text on a background that goes with a share between 0 and 1.
func (p paint) heat(text string, share float64) string {
	i := min(max(int(share*float64(len(viridis))), 0), len(viridis)-1)
	ink := 15
	if i > len(viridis)/2 {
		ink = 16
	}
	return p.sgr(fmt.Sprintf("38;5;%d;48;5;%d", ink, viridis[i]), text)
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// plain is text without colors.
func plain(text string) string { return escapes.ReplaceAllString(text, "") }

// sparkline draws figures between two bounds as a line of blocks. A figure that is not a number is a space.
func sparkline(values []float64, low, high float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		i := 0
		if high > low {
			i = int((v - low) / (high - low) * float64(len(blocks)))
		}
		if v != v {
			b.WriteRune(' ')
			continue
		}
		b.WriteRune(blocks[min(max(i, 0), len(blocks)-1)])
	}
	return b.String()
}
