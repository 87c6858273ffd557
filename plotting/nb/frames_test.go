package nb_test

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/plotting"
	"github.com/saot-go/saot/plotting/nb"
)

func figures(t *testing.T, n int) []plotting.Figure {
	t.Helper()
	all := make([]plotting.Figure, n)
	for i := range all {
		f, err := plotting.Matrix([][]float64{{float64(50 + i)}}, plotting.MatrixOptions{})
		require.NoError(t, err)
		all[i] = f
	}
	return all
}

func TestFramesHTML(t *testing.T) {
	shown := figures(t, 3)
	page, err := nb.FramesHTML(`ε & "co"`, []string{"0.1", "<0.2>", "0.5"}, shown)
	require.NoError(t, err)

	// Well-formed, all pictures inside, one of them shown, values as they were given.
	decoder := xml.NewDecoder(strings.NewReader(page))
	var pictures []string // the shared one, then the layers
	var places [][3]float64
	var values, visible []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attribute := map[string]string{}
		for _, a := range element.Attr {
			attribute[a.Name.Local] = a.Value
		}
		if element.Name.Local == "img" {
			pictures = append(pictures, attribute["src"])
			if len(pictures) == 1 {
				continue
			}
			values = append(values, attribute["data-value"])
			var place [3]float64
			_, rest, _ := strings.Cut(attribute["style"], "left:")
			_, err := fmt.Sscanf(rest, "%f%%;top:%f%%;width:%f%%", &place[0], &place[1], &place[2])
			require.NoError(t, err, rest)
			places = append(places, place)
			if strings.Contains(attribute["style"], "display:block") {
				visible = append(visible, attribute["alt"])
			}
		}
		if element.Name.Local == "input" {
			require.Equal(t, "2", attribute["max"])
		}
	}
	require.Equal(t, []string{"0.1", "<0.2>", "0.5"}, values)
	require.Equal(t, []string{`ε & "co" = 0.1`}, visible)
	for i, f := range shown {
		data, err := f.PNG()
		require.NoError(t, err)
		want, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		// The layer over the shared picture is the figure, except for the low bits of more than 255 colors.
		got := image.NewRGBA(want.Bounds())
		draw.Draw(got, got.Rect, picture(t, pictures[0]), image.Point{}, draw.Src)
		width, height := float64(got.Rect.Dx()), float64(got.Rect.Dy())
		at := image.Pt(int(math.Round(places[i][0]*width/100)), int(math.Round(places[i][1]*height/100)))
		layer := picture(t, pictures[i+1])
		require.InDelta(t, places[i][2]*width/100, layer.Bounds().Dx(), 0.01)
		draw.Draw(got, layer.Bounds().Add(at), layer, image.Point{}, draw.Over)
		for y := range got.Rect.Dy() {
			for x := range got.Rect.Dx() {
				r, g, b, _ := want.At(x, y).RGBA()
				c := got.RGBAAt(x, y)
				require.InDelta(t, r>>8, c.R, 15)
				require.InDelta(t, g>>8, c.G, 15)
				require.InDelta(t, b>>8, c.B, 15)
			}
		}
	}
	for _, request := range []string{"http:", "https:", "<script", "src=\"/", "url("} {
		require.NotContains(t, page, request)
	}
}

// picture decodes the PNG of a data URL.
func picture(t *testing.T, url string) image.Image {
	t.Helper()
	encoded, ok := strings.CutPrefix(url, "data:image/png;base64,")
	require.True(t, ok)
	data, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	decoded, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return decoded
}

// A film of many figures costs little more than one: what they share is there once.
func TestFramesAreSmall(t *testing.T) {
	values := make([]string, 40)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	all := figures(t, len(values))
	film, err := nb.FramesHTML("step", values, all)
	require.NoError(t, err)
	whole := 0
	for _, f := range all {
		data, err := f.PNG()
		require.NoError(t, err)
		whole += base64.StdEncoding.EncodedLen(len(data))
	}
	require.Less(t, 4*len(film), whole)
}

func TestFramesOfDifferentSize(t *testing.T) {
	wide, err := plotting.Grid(3, figures(t, 3)...)
	require.NoError(t, err)
	page, err := nb.FramesHTML("panels", []string{"1", "3"}, []plotting.Figure{figures(t, 1)[0], wide})
	require.NoError(t, err)
	width, _ := wide.Size()
	style := fmt.Sprintf("position:relative;width:%dpx", min(int(width*96/72), 960))
	require.Contains(t, page, style, "as wide as the widest, and no wider than a notebook")
	page, err = nb.FramesHTML("panels", []string{"3", "1"}, []plotting.Figure{wide, figures(t, 1)[0]})
	require.NoError(t, err)
	require.Contains(t, page, style, "wherever it stands")
}

func TestFramesRepeatAndDiffer(t *testing.T) {
	id := regexp.MustCompile(`id="(frames-[0-9a-f]{12})"`)
	make := func(knob, value string) string {
		page, err := nb.FramesHTML(knob, []string{value}, figures(t, 1))
		require.NoError(t, err)
		return page
	}
	require.Equal(t, make("ε", "1"), make("ε", "1"))
	names := map[string]bool{}
	for _, page := range []string{make("ε", "1"), make("ε", "2"), make("α", "1")} {
		names[id.FindStringSubmatch(page)[1]] = true
	}
	require.Len(t, names, 3)
}

func TestSliderChoosesAFrame(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on PATH: the slider's script is not executed")
	}
	page, err := nb.FramesHTML("ε", []string{"0.1", "0.2", "0.5"}, figures(t, 3))
	require.NoError(t, err)
	handler := html.UnescapeString(regexp.MustCompile(`oninput="([^"]*)"`).FindStringSubmatch(page)[1])
	film := html.UnescapeString(regexp.MustCompile(`onclick="([^"]*)"`).FindStringSubmatch(page)[1])
	// The few properties of a page that the script touches.
	script := fmt.Sprintf(`
const frames = ['0.1', '0.2', '0.5'].map(value => ({style: {display: ''}, dataset: {value}}));
const output = {textContent: ''}, said = {};
const figure = {querySelectorAll: () => frames, querySelector: name => name === 'input' ? input : output};
const input = {value: '1', max: '2', isConnected: true, closest: () => figure,
	setAttribute: (name, value) => { said[name] = value }, dispatchEvent: () => move()};
const move = () => new Function(%q).call(input);
const say = () => console.log(frames.map(f => f.style.display).join(), output.textContent, said['aria-valuetext']);
move();
say();

// The film: its timer ticks by hand.
let tick;
globalThis.Event = class {};
globalThis.setInterval = f => { tick = f; return 1 };
globalThis.clearInterval = () => { tick = null };
const button = {textContent: 'play', closest: () => figure};
const press = () => new Function(%q).call(button);
press(); tick(); say();
tick(); console.log(button.textContent, tick);
press(); say(); press(); console.log(button.textContent, tick);`, handler, film)
	printed, err := exec.Command(node, "-e", script).CombinedOutput()
	require.NoError(t, err, "%s", printed)
	require.Equal(t, "none,block,none 0.2 0.2\n"+
		"none,none,block 0.5 0.5\nplay null\n"+ // it stops at the end
		"block,none,none 0.1 0.1\nplay null\n", string(printed)) // begins again, and stops by the button
}

func TestFramesErrors(t *testing.T) {
	_, err := nb.FramesHTML("ε", nil, nil)
	require.ErrorContains(t, err, "no figures")
	_, err = nb.FramesHTML("ε", []string{"1"}, figures(t, 2))
	require.ErrorContains(t, err, "1 values for 2 figures")
	_, err = nb.FramesHTML("ε", []string{"1", "2"}, []plotting.Figure{figures(t, 1)[0], {}})
	require.ErrorContains(t, err, "figure 2 (ε = 2)")
	require.ErrorIs(t, nb.Frames("ε", []string{"1", "2"}, figures(t, 2)), nb.ErrNoNotebook)
}
