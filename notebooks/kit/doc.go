// Package kit has what every notebook of the course needs, so that a cell holds one idea in at most 15 lines: errors
// that stop a cell (Must, Check), files that outlive it (Saved, Fresh), the generated stream and what is read from it
// (Stream, NodesOf, Views, Seen, FeaturesOf), small matrices (Dense, Equal, Distance), pictures (Show, ShowGrid, Plan,
// Play), embeddings without and with learning (Hops, Cosines, Learner, LearnAll, FitMeans), runs that are committed or
// were recorded (Results, With, OnTask, BarsOf, Recording, ShowRecordings), states of the playground (Live, Clouds,
// Histograms, Graphs), and exercises that check themselves (Grade).
//
// # How a notebook of the course is built
//
// TestForm in package notebooks checks these rules.
//
//   - Its file is NN_name.ipynb; links and pictures use that name.
//
//   - The first cell is its title, one paragraph, and a table with level, reading time and prerequisites. The index
//     shows the table, and the first sentence of a paragraph that starts with "After it you can".
//
//   - The first code cell is the three lines below, the same in all.
//
//   - A cell has at most 15 lines. Imports and helpers are in cells with the tag "setup", which the web page folds.
//
//   - Questions come in pairs: a paragraph that starts with **Predict.** before a cell, and one with **Explain.**
//     after it.
//
//   - Two exercises at least: a cell with the tag "exercise", whose function panics with kit.TODO; a cell with the tag
//     "check", which calls Grade; and a Markdown cell with the solution in <details>, as one block of Go that replaces
//     the exercise's cell. The tests put the solution in and run the check again; copies for students lack it.
//
//   - The section "Summary" is a numbered list of five lines.
//
//   - A cell with a slider that the playground shows live calls Live, which links to that state. The web page has it in
//     a frame.
//
//   - The cell of the picture for the index has the tag "main-figure". No picture is wider than 960 pixels.
//
// The opening lines:
//
//	%noautoget
//	%goflags -ldflags=-s
//	!*rm -f go.work && go work init . "$GONB_DIR/.."
//
// The second leaves the symbol table out of each cell's program, which halves the time of a cell. The third ties the
// notebook to the repository around it, so that nothing is fetched.
package kit
