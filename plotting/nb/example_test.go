package nb_test

import (
	"fmt"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
)

func ExampleFrames() {
	var values []string
	var figures []plotting.Figure
	for _, epsilon := range []float64{0.05, 0.1, 0.5} {
		f, err := plotting.Plan([]float64{0.5, epsilon, epsilon, 0.5}, 2, 2, plotting.PlanOptions{Title: "plan"})
		if err != nil {
			fmt.Println(err)
			return
		}
		values, figures = append(values, fmt.Sprint(epsilon)), append(figures, f)
	}
	fmt.Println(nb.Frames("ε", values, figures))
	// Output: nb: the program does not run in a GoNB notebook: use Figure.Save instead
}
