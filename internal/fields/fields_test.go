package fields

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	Hidden int   `json:"hidden"`
	FanOut []int `json:"fan_out"`
}

type config struct {
	Rate    float64 `json:"rate"`
	Encoder inner   `json:"encoder"`
}

func TestSet(t *testing.T) {
	c := config{Rate: 1, Encoder: inner{Hidden: 2, FanOut: []int{3}}}
	require.NoError(t, Set(&c, "rate", json.RawMessage("0.5")))
	require.NoError(t, Set(&c, "encoder.hidden", json.RawMessage("7")))
	require.NoError(t, Set(&c, "encoder.fan_out", json.RawMessage("[10,20]")))
	want := config{Rate: 0.5, Encoder: inner{Hidden: 7, FanOut: []int{10, 20}}}
	require.Equal(t, want, c)

	for path, message := range map[string]string{
		"speed":         `there is no setting "speed": choose one of rate, encoder`,
		"encoder.width": `there is no setting "encoder.width": choose one of hidden, fan_out`,
		"rate.hidden":   `there is no setting "rate.hidden"`,
		"":              `there is no setting ""`,
	} {
		require.ErrorContains(t, Set(&c, path, json.RawMessage("1")), message)
	}
	require.ErrorContains(t, Set(&c, "encoder.hidden", json.RawMessage(`"wide"`)), `setting encoder.hidden cannot be "wide"`)
	require.Equal(t, want, c, "a failed Set changes nothing")
}
