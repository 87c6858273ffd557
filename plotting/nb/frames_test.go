package nb_test

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
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
	var pictures, values, visible []string
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
			values = append(values, attribute["data-value"])
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
		png, err := f.PNG()
		require.NoError(t, err)
		require.Equal(t, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(png), pictures[i])
	}
	for _, request := range []string{"http:", "https:", "<script", "src=\"/", "url("} {
		require.NotContains(t, page, request)
	}
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
	// The few properties of a page that the script touches.
	script := fmt.Sprintf(`
const frames = ['0.1', '0.2', '0.5'].map(value => ({style: {display: ''}, dataset: {value}}));
const output = {textContent: ''}, said = {};
const figure = {querySelectorAll: () => frames, querySelector: () => output};
const input = {value: '1', closest: () => figure, setAttribute: (name, value) => { said[name] = value }};
new Function(%q).call(input);
console.log(frames.map(f => f.style.display).join(), output.textContent, said['aria-valuetext']);`, handler)
	printed, err := exec.Command(node, "-e", script).CombinedOutput()
	require.NoError(t, err, "%s", printed)
	require.Equal(t, "none,block,none 0.2 0.2\n", string(printed))
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
