package fetch

import (
	"fmt"
	"strconv"
)

// Printable returns a name from an archive as an error may print it: quoted if it holds what a terminal would act upon,
// and cut if it is long.
func Printable(name string) string {
	const longest = 200
	if quoted := strconv.Quote(name); len(name) > longest || quoted[1:len(quoted)-1] != name {
		return fmt.Sprintf("%.*q", longest, name)
	}
	return name
}
