// Package course makes two editions of the notebooks: pages without network access, foreign scripts or a kernel, and
// copies without solutions.
package course

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/saot-go/saot/internal/file"
	"github.com/saot-go/saot/playground"
)

//go:embed nbconvert.py
var settings []byte

// folding is a template of nbconvert's: it folds cells with the tag "setup".
//
//go:embed template
var folding embed.FS

//go:embed page.html
var pageText string

//go:embed style.css
var style template.CSS

var pageTemplate = template.Must(template.New("page").Parse(pageText))

const (
	thumbnailWidth = 480             // of the pictures in the index, in pixels
	convertTime    = 3 * time.Minute // limit for the conversion of one notebook
)

// Options name the folders to read and to write.
type Options struct {
	Notebooks string // folder of the notebooks, executed; all its *.ipynb are built
	Out       string // folder of the pages; Build makes it if it is missing
	Pictures  string // folder for a small PNG of each notebook's main figure; "" writes none
	Jupyter   string // command; "" means $SAOT_JUPYTER, or else jupyter. Its Python needs nbconvert and latex2mathml
	// Playground is where the pages find the playground, such as "..", to show figures live; "" means links alone, to
	// the address of saot play.
	Playground string
}

// Page is one notebook of the course.
type Page struct {
	Name    string // file name without its extension
	Title   string // its first heading
	Summary string // the first paragraph below it, without markup
	Facts   *Facts // what its first cell says for planning; nil for nothing
	picture []byte // small PNG of the main figure; nil if there is none

	Body           template.HTML
	Picture        template.URL
	Previous, Next string // names of its neighbors
	Live           *Live  // what the playground shows of it; nil for nothing
}

// Build writes a page for each notebook, in the order of their names, and index.html. Formulas become MathML; the pages
// contain their pictures and their style. The main figure of a notebook, shown in the index, is the picture whose cell
// has the tag "main-figure", or else its largest.
//
// It returns an error if there are no notebooks, one cannot be read, Jupyter fails (with its output), or a formula
// cannot be shown.
func Build(ctx context.Context, o Options) ([]Page, error) {
	paths, err := all(o.Notebooks)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "saot-course-")
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	pages := make([]Page, len(paths))
	for i, path := range paths {
		if pages[i], err = readPage(path); err != nil {
			return nil, err
		}
	}
	if err := convert(ctx, o.Jupyter, work, paths); err != nil {
		return nil, err
	}
	for i := range pages {
		body, err := os.ReadFile(filepath.Join(work, pages[i].Name+".html"))
		if err != nil {
			return nil, fmt.Errorf("course: nbconvert left no page of %s: %w", paths[i], err)
		}
		body, frames, err := framed(body, o.Playground)
		if err != nil {
			return nil, fmt.Errorf("course: %s: %w", paths[i], err)
		}
		pages[i].Body = template.HTML(tidy(body, o.Playground))
		if pages[i].Live = live(pages[i].Name, o.Playground); frames > 0 && pages[i].Live != nil {
			pages[i].Live.Frame = "" // the reader has them where the figures are
		}
		if i > 0 {
			pages[i].Previous, pages[i-1].Next = pages[i-1].Name, pages[i].Name
		}
	}
	return pages, write(o, pages)
}

// all returns the paths of the notebooks in a folder.
func all(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.ipynb"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, fmt.Errorf("course: no notebooks in %s", folder))
	}
	return paths, nil
}

// convert runs nbconvert on all notebooks. The pages are fragments, without head and style.
func convert(ctx context.Context, jupyter, work string, paths []string) error {
	jupyter = cmp.Or(jupyter, os.Getenv("SAOT_JUPYTER"), "jupyter")
	config := filepath.Join(work, "nbconvert.py")
	if err := os.WriteFile(config, settings, 0o600); err != nil {
		return fmt.Errorf("course: %w", err)
	}
	templates, err := fs.Sub(folding, "template")
	if err == nil {
		err = os.CopyFS(filepath.Join(work, "templates", "course"), templates)
	}
	if err != nil {
		return fmt.Errorf("course: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, convertTime*time.Duration(len(paths)))
	defer cancel()
	args := []string{"nbconvert", "--config", config, "--to", "html", "--template", "course",
		"--TemplateExporter.extra_template_basedirs=" + filepath.Join(work, "templates"), "--output-dir", work}
	command := exec.CommandContext(ctx, jupyter, append(args, paths...)...)
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("course: %s nbconvert: %w: install Jupyter, or name its command with --jupyter or "+
			"$SAOT_JUPYTER", jupyter, err)
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("course: %s nbconvert: %w; its Python needs the packages nbconvert and latex2mathml: %s",
			jupyter, err, tail(output))
	}
	return nil
}

func tail(output []byte) string {
	const most = 1500
	if len(output) > most {
		output = output[len(output)-most:]
	}
	return strings.TrimSpace(string(output))
}

var (
	atPlay    = regexp.MustCompile(`"http://` + regexp.QuoteMeta(playground.Address) + `/`)
	anotherNB = regexp.MustCompile(`href="([0-9A-Za-z_]+)\.ipynb`)
	anotherMD = regexp.MustCompile(`href="\.\./([0-9A-Za-z_./-]+\.md)`)
)

// repository has the files that are not pages of the course.
const repository = "https://github.com/saot-go/saot/blob/main/"

// tidy points links between notebooks at the pages, those to documents at the repository, and those to saot play at the
// playground's folder, unless it is "".
func tidy(body []byte, folder string) string {
	if folder != "" {
		body = atPlay.ReplaceAll(body, []byte(`"`+strings.TrimSuffix(folder, "/")+"/"))
	}
	body = anotherMD.ReplaceAll(body, []byte(`href="`+repository+`$1`))
	return string(anotherNB.ReplaceAll(body, []byte(`href="$1.html`)))
}

// notebook is the part of the .ipynb format, version 4, that the two editions need.
type notebook struct {
	Cells []cell `json:"cells"`
}

type cell struct {
	Kind     string `json:"cell_type"`
	Source   Text   `json:"source"`
	Metadata struct {
		Tags []string `json:"tags"`
	} `json:"metadata"`
	Outputs []struct {
		Data map[string]json.RawMessage `json:"data"`
	} `json:"outputs"`
}

func (c *cell) has(tag string) bool { return slices.Contains(c.Metadata.Tags, tag) }

// Text is a string of the .ipynb format, which may split it into lines.
type Text string

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = Text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// PNG decodes a picture of a notebook.
func (t Text) PNG() (image.Image, error) {
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(t), "\n", ""))
	if err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(data))
}

func readPage(path string) (Page, error) {
	p := Page{Name: strings.TrimSuffix(filepath.Base(path), ".ipynb")}
	data, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("course: %w", err)
	}
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		return p, fmt.Errorf("course: %s: %w", path, err)
	}
	p.Title = p.Name
	for _, c := range n.Cells {
		if c.Kind == "markdown" {
			p.Title, p.Summary = introduction(p.Name, string(c.Source))
			if facts, ok := ReadFacts(string(c.Source)); ok {
				p.Facts = &facts
			}
			break
		}
	}
	figure, err := n.mainFigure()
	if err == nil && figure != nil {
		p.picture, err = thumbnail(figure)
		p.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(p.picture))
	}
	if err != nil {
		return p, fmt.Errorf("course: %s: %w", path, err)
	}
	return p, nil
}

// greek are the symbols that summaries use.
var greek = strings.NewReplacer(`\varepsilon`, "ε", `\sigma`, "σ", `\alpha`, "α", `\beta`, "β",
	`\pi`, "π", `\mu`, "μ", `\nu`, "ν", `\otimes`, " ⊗ ")

var markup = regexp.MustCompile("[*_`$\\\\]|\\]\\([^)]*\\)|\\[")

// introduction splits a first cell into its heading and the first paragraph below it.
func introduction(name, source string) (title, summary string) {
	title = name
	for paragraph := range strings.SplitSeq(source, "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		if heading, ok := strings.CutPrefix(paragraph, "# "); ok {
			var rest string
			title, rest, _ = strings.Cut(heading, "\n")
			paragraph = strings.TrimSpace(rest)
		}
		if paragraph != "" {
			paragraph = strings.TrimRight(paragraph, ",:") // before a formula or a list
			return title, plain(paragraph)
		}
	}
	return title, ""
}

// plain returns a paragraph on one line, without markup.
func plain(paragraph string) string {
	return markup.ReplaceAllString(greek.Replace(strings.ReplaceAll(paragraph, "\n", " ")), "")
}

// mainFigure returns the tagged picture, or the one with the most pixels; nil for none.
func (n *notebook) mainFigure() (image.Image, error) {
	var main image.Image
	for _, c := range n.Cells {
		for _, o := range c.Outputs {
			raw, ok := o.Data["image/png"]
			if !ok {
				continue
			}
			var encoded Text
			if err := json.Unmarshal(raw, &encoded); err != nil {
				return nil, err
			}
			figure, err := encoded.PNG()
			if err != nil {
				return nil, fmt.Errorf("picture: %w", err)
			}
			if c.has("main-figure") {
				return figure, nil
			}
			if main == nil || area(figure) > area(main) {
				main = figure
			}
		}
	}
	return main, nil
}

func area(i image.Image) int { return i.Bounds().Dx() * i.Bounds().Dy() }

func write(o Options, pages []Page) error {
	type data struct {
		Style template.CSS
		Page  *Page
		Pages []Page // of the index
	}
	all := []data{{Style: style, Pages: pages}}
	for i := range pages {
		all = append(all, data{Style: style, Page: &pages[i]})
	}
	for _, d := range all {
		name := "index"
		if d.Page != nil {
			name = d.Page.Name
		}
		var out bytes.Buffer
		if err := pageTemplate.Execute(&out, d); err != nil {
			return fmt.Errorf("course: %s: %w", name, err)
		}
		if err := file.Write(filepath.Join(o.Out, name+".html"), out.Bytes()); err != nil {
			return fmt.Errorf("course: %w", err)
		}
		if d.Page != nil && d.Page.picture != nil && o.Pictures != "" {
			if err := file.Write(filepath.Join(o.Pictures, name+".png"), d.Page.picture); err != nil {
				return fmt.Errorf("course: %w", err)
			}
		}
	}
	return nil
}
