package nb

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where no picture reaches, as next to a wide one and below a tall one, all show white on a page of any color.
func TestLayersOfDifferentSize(t *testing.T) {
	red, white := color.NRGBA{R: 255, A: 255}, color.NRGBA{255, 255, 255, 255}
	encoded := func(width, height int) []byte {
		picture := image.NewNRGBA(image.Rect(0, 0, width, height))
		for i := range width * height {
			picture.SetNRGBA(i%width, i/width, red)
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, picture))
		return b.Bytes()
	}
	decoded := func(url string) image.Image {
		data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,"))
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		return picture
	}
	shared, frames, err := layers([][]byte{encoded(3, 1), encoded(1, 2)})
	require.NoError(t, err)
	base := decoded(shared)
	for y := range 2 {
		for x := range 3 {
			want := white
			if x == 0 && y == 0 {
				want = red
			}
			require.Equal(t, want, color.NRGBAModel.Convert(base.At(x, y)))
		}
	}
	require.Equal(t, "left:33.3333%;top:0.0000%;width:66.6667%", frames[0].place)
	require.Equal(t, "left:0.0000%;top:50.0000%;width:33.3333%", frames[1].place)
	require.Equal(t, red, color.NRGBAModel.Convert(decoded(frames[1].source).At(0, 0)))
}
