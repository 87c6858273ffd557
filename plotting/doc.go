// Package plotting draws what a run of the toolkit leaves behind. It imports continual for its results, and no learner.
//
//   - Transport: Plan, Cost, CostAndPlan, Maps, Difference, Diverging, BlockBars, Flow, GraphFlow, SinkhornErrors.
//   - Accuracy: Matrix, Matrices and Result of one run; MethodMatrices, OverTasks, TradeOff and CriticalDifference of
//     several methods over seeds; Sensitivity of a setting; SensitivityFacets and TradeOffs in print.
//   - Embeddings: Embedding, with its drift if wanted.
//   - Anything: Curves, Bars, Histograms; LossTerms of a run.
//
// The functions that draw take plain numbers, or results of runs, and most of them options whose zero value works. They
// return a Figure, or an error that names the offending row, series or field; none panics. A Figure is rendered as PNG,
// SVG with embedded fonts, or PDF. The examples are a gallery: docs/gallery.md shows their pictures.
//
// # Mathematics in text
//
// Every title, label and name may hold mathematics between dollar signs, in a small part of TeX's notation:
//
//	Title: `$\pi_G$ before training`        // π with a subscript
//	YLabel: `$\partial L_{mat}/\partial R$` // words in braces stand upright
//	Name: `$\epsilon = 10^{-2}$`
//
// Greek letters and signs may stand there themselves, as in "$π_G$". Ticks and color bars write powers of ten so, too.
//
// # Panels that are compared
//
// Maps draws several matrices on one color scale with one bar:
//
//	plotting.Maps(plotting.Mass, []plotting.Map{
//		{Title: "before", Values: before, Rows: n, Cols: n},
//		{Title: "after", Values: after, Rows: n, Cols: n},
//	}, plotting.PlanOptions{Title: `$\pi_Z$`})
//
// Difference draws what changed, white at zero, red where mass came and blue where it went. Diverging draws other
// signed values, such as gradients:
//
//	plotting.Difference(before, after, n, n, plotting.PlanOptions{RowCuts: cuts, ColCuts: cuts})
//	plotting.Diverging(gradient, n, m, plotting.PlanOptions{Label: `$\partial L/\partial R$`})
//
// BlockBars sums a plan over blocks of classes, which says more than a large plan:
//
//	plotting.BlockBars([]plotting.NamedPlan{{"before", before}, {"after", after}}, rowClasses, colClasses,
//		[]string{"circle", "square"}, plotting.BarOptions{})
//
// # Frames of a film
//
// Limits that move from frame to frame mislead. Give all frames of a map the same PlanOptions.Low and High. NewPlane
// returns axes and limits that contain all frames of an embedding. CurveOptions and FlowOptions have limits X and Y:
//
//	plotting.Plan(plans[k], n, n, plotting.PlanOptions{High: 1. / n}) // a pointed bar: values continue
//	plane, err := plotting.NewPlane(d, frames...)
//	plotting.Embedding(frames[k], n, d, plotting.EmbeddingOptions{Classes: classes, Plane: plane})
//	plotting.Curves(series, plotting.CurveOptions{Y: plotting.Limits{Low: 70, High: 100}})
//
// # Names and levels
//
// Names at the ends of curves take less room than a legend, and a level says what a curve is held against:
//
//	plotting.Curves(series, plotting.CurveOptions{Direct: true,
//		References: []plotting.Reference{{Name: "majority class", At: 53.1}}})
//
// PlanOptions.MaskedCols hatches masked columns. FlowOptions colors nodes by class, and mass that goes to a wrong node
// red. WithTitle puts a title over a Grid, and WithNote a small line below: Source words it for results.
//
// # Style
//
// Pictures share one style: a sans-serif face with serif mathematics, ramps that stay ordered in gray and for
// color-blind readers (viridis, YlGnBu; RdBu for signed values), and the categorical colors of Okabe and Ito (2008),
// always with markers or dashes that differ as well. Titles are above the data. A Grid is at most 960 pixels wide, the
// column of a notebook, unless one of its figures is wider.
package plotting
