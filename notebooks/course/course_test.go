package course

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/playground"
)

//go:generate go test . -count 1 -run Table|Pictures -update
var update = flag.Bool("update", false, "write the notebooks' table and its pictures again")

// The pictures of the notebooks' table are those that the notebooks show.
func TestPicturesAreThoseOfTheNotebooks(t *testing.T) {
	paths, err := filepath.Glob("../*.ipynb")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		p, err := readPage(path)
		require.NoError(t, err)
		name := filepath.Join("..", "pictures", p.Name+".png")
		if *update {
			require.NoError(t, os.WriteFile(name, p.picture, 0o600))
		}
		committed, err := os.ReadFile(name)
		require.NoError(t, err)
		shown, kept := pixels(t, p.picture), pixels(t, committed)
		require.Equal(t, shown.Rect, kept.Rect, name)
		require.True(t, bytes.Equal(shown.Pix, kept.Pix),
			"%s is old: go generate ./notebooks/course", name)
	}
}

func pixels(t *testing.T, encoded []byte) *image.NRGBA {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(encoded))
	require.NoError(t, err)
	all := image.NewNRGBA(decoded.Bounds())
	for y := range all.Rect.Dy() {
		for x := range all.Rect.Dx() {
			all.Set(x, y, decoded.At(x, y))
		}
	}
	return all
}

func TestIntroduction(t *testing.T) {
	for source, want := range map[string][2]string{
		"# Sinkhorn by hand\n\n**Goal.** To know $\\varepsilon$,\nand [more](01.ipynb).\n\nNot this.": {
			"Sinkhorn by hand", "Goal. To know ε, and more.",
		},
		"# One\nTwo `code`:\n\n- a list": {"One", "Two code"},
		"no heading":                     {"05_name", "no heading"},
		"# Alone":                        {"Alone", ""},
	} {
		title, summary := introduction("05_name", source)
		require.Equal(t, want, [2]string{title, summary}, source)
	}
}

// encoded is a PNG of one color, as a notebook holds it.
func encoded(t *testing.T, width, height int, c color.Color) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		picture.Set(i%width, i/width, c)
	}
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, picture))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestMainFigure(t *testing.T) {
	cell := func(tag, data string) string {
		return `{"cell_type": "code", "metadata": {"tags": ["` + tag + `"]}, ` +
			`"outputs": [{"data": {"image/png": ["` + data + `"]}}]}`
	}
	small, large := encoded(t, 20, 10, color.White), encoded(t, 960, 320, color.Black)
	for _, c := range []struct {
		cells string
		width int
	}{
		{cell("", small) + "," + cell("", large), 960},
		{cell("main-figure", small) + "," + cell("", large), 20},
	} {
		var n notebook
		require.NoError(t, json.Unmarshal([]byte(`{"cells": [`+c.cells+`]}`), &n))
		figure, err := n.mainFigure()
		require.NoError(t, err)
		require.Equal(t, c.width, figure.Bounds().Dx())
		data, err := thumbnail(figure)
		require.NoError(t, err)
		scaled, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, thumbnailWidth, scaled.Bounds().Dx())
	}
	var n notebook
	require.NoError(t, json.Unmarshal([]byte(`{"cells": [`+cell("", "AAAA")+`]}`), &n))
	_, err := n.mainFigure()
	require.ErrorContains(t, err, "picture")
}

// A picture of few colors keeps them; one of many has 256 that are close.
func TestPaletted(t *testing.T) {
	few, many := image.NewRGBA(image.Rect(0, 0, 40, 40)), image.NewRGBA(image.Rect(0, 0, 256, 256))
	for x := range 256 {
		for y := range 256 {
			few.Set(x, y, color.RGBA{uint8(x / 20 * 255), 120, 0, 255})
			many.Set(x, y, color.RGBA{uint8(x), uint8(y), 0, 255})
		}
	}
	for x := range 40 {
		require.Equal(t, few.At(x, 7), paletted(few).At(x, 7))
	}
	got := paletted(many)
	require.Len(t, got.Palette, paletteSize)
	for i := range 256 {
		c := got.At(i, 255-i).(color.RGBA)
		require.InDelta(t, i, c.R, 24)
		require.InDelta(t, 255-i, c.G, 24)
	}
}

func TestTidy(t *testing.T) {
	require.Equal(t, `<a href="01_sinkhorn.html#x">`, tidy([]byte(`<a href="01_sinkhorn.ipynb#x">`), ""))
	require.Equal(t, `<a href="https://github.com/saot-go/saot/blob/main/docs/results.md#what-does-replay-buy">`,
		tidy([]byte(`<a href="../docs/results.md#what-does-replay-buy">`), ".."))
}

// Notebooks whose name is known link to a page that is there, and to saot play where the course stands alone.
func TestLive(t *testing.T) {
	pages := map[string]bool{}
	for _, p := range playground.Pages() {
		pages[p.Name+".html"] = true
	}
	for slug, s := range states {
		page, _, _ := strings.Cut(s.address, "#")
		require.True(t, pages[page], "%s: the playground has no page %s", slug, page)
		require.True(t, strings.HasPrefix(string(live("00_"+slug, "..").Address), "../"+page))
		require.Equal(t, "http://127.0.0.1:7373/"+s.address, string(live("00_"+slug, "").Address))
	}
	require.Equal(t, "../gromov.html#embed&preset=features", string(live("06_views", "..").Frame))
	require.Empty(t, live("09_saot", "..").Frame)
	require.Nil(t, live("notes", ".."))
	require.Equal(t, `<a href="../gromov.html#eps=1">`, tidy([]byte(`<a href="http://127.0.0.1:7373/gromov.html#eps=1">`), ".."))
}

func TestBuildErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Build(t.Context(), Options{Notebooks: dir, Out: dir})
	require.ErrorContains(t, err, "no notebooks in "+dir)

	path := filepath.Join(dir, "00_bad.ipynb")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = Build(t.Context(), Options{Notebooks: dir, Out: dir})
	require.ErrorContains(t, err, path)

	require.NoError(t, os.WriteFile(path, []byte(`{"cells": []}`), 0o600))
	_, err = Build(t.Context(), Options{Notebooks: dir, Out: dir, Jupyter: filepath.Join(dir, "absent")})
	require.ErrorContains(t, err, "absent nbconvert")
	t.Setenv("SAOT_JUPYTER", filepath.Join(dir, "elsewhere"))
	_, err = Build(t.Context(), Options{Notebooks: dir, Out: dir})
	require.ErrorContains(t, err, "elsewhere nbconvert")

	if runtime.GOOS == "windows" {
		t.Skip("the last case needs a shell script")
	}
	jupyter := filepath.Join(dir, "jupyter")
	failing := []byte("#!/bin/sh\necho this formula cannot be shown >&2\nexit 1\n")
	require.NoError(t, os.WriteFile(jupyter, failing, 0o700))
	_, err = Build(t.Context(), Options{Notebooks: dir, Out: dir, Jupyter: jupyter})
	require.ErrorContains(t, err, "this formula cannot be shown")
}
