package control_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/saot-go/saot/saot/engine/enginetest"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/datasets"
	"github.com/saot-go/saot/internal/fields"
	"github.com/saot-go/saot/internal/fields/fieldstest"
	"github.com/saot-go/saot/saot"
	"github.com/saot-go/saot/saot/continual"
	"github.com/saot-go/saot/saot/encoder"
	"github.com/saot-go/saot/saot/method"
)

// A control says which of SAOT's settings it reads: another value of any other changes no embedding.
func TestControlsReadWhatTheySay(t *testing.T) {
	e := enginetest.Go(t)
	stream := tinyStream(t)
	embedded := func(name string, c *saot.Config) string {
		made, err := method.New(name, method.Build{Engine: e, Stream: method.StreamOf(stream), Settings: c, Seed: 1})
		require.NoError(t, err, name)
		l := made.(continual.Learner)
		text := ""
		for k := range stream.Tasks {
			_, err := l.Learn(t.Context(), k, stream.Tasks[k].Graph, nil)
			require.NoError(t, err)
			z, err := l.Embed(t.Context(), stream.Tasks[k].Graph)
			require.NoError(t, err)
			text += fmt.Sprint(z.Cols, z.Data)
		}
		return text
	}
	large := []string{"encoder.whole_graph", "encoder.sample_fan_out"} // matter to larger graphs
	for _, d := range method.All() {
		first, ok := d.Defaults(datasets.NoRecipe, method.Default).(*saot.Config)
		if d.Kind != method.Control || !ok {
			continue
		}
		base := tinyConfig()
		want := embedded(d.Name, &base)
		for i, f := range fields.All(first) {
			c := tinyConfig()
			if fieldstest.Change(fields.All(&c)[i].Value); f.Path == "encoder.kind" {
				c.Encoder.Kind = encoder.Linear
			}
			if c.Validate() != nil {
				continue // layers and heads, which a GAT alone has
			}
			got := embedded(d.Name, &c)
			if slices.Contains(d.Reads, f.Path) && !slices.Contains(large, f.Path) {
				require.NotEqual(t, want, got, "%s: %s", d.Name, f.Path)
			} else {
				require.Equal(t, want, got, "%s: %s", d.Name, f.Path)
			}
		}
	}
}
