package course

import (
	"bytes"
	"errors"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/saot-go/saot/playground"
)

// Live is the state of the playground that shows what a notebook is about.
type Live struct {
	Address template.URL
	Frame   template.URL // the same without its header, for a frame in the page; "" for none
	Text    string       // what to try there
}

// states are the states of the playground by the notebooks' names without their numbers. playground/README.md lists the
// keys of an address.
var states = map[string]struct{ address, text string }{
	"quickstart": {"continual.html#recording=pair",
		"Watch two recorded runs on four generated tasks: SAOT, and the same without memory and teacher."},
	"sinkhorn": {"transport.html#eps=0.005&sweeps=3", "Step through the sweeps, and move ε."},
	"line":     {"transport.html#mode=axes&eps=0.002&t=0.5", "Paint the two histograms, and move t."},
	"costs": {"transport.html#preset=outlier&eps=0.003&rho=0.1",
		"Drag the outliers; change the cost, and how much a missed marginal costs."},
	"gromov": {"gromov.html#preset=local&outer=60&sigma=0&loop=proximal",
		"See the steps settle where edges still disagree; color nodes and raise σ to help them."},
	"gradients": {"transport.html#preset=split&t=0.3",
		"Drag a point. An entry of the plan is the derivative of the optimal value (cost and entropy) by that " +
			"entry of the cost."},
	"views": {"gromov.html#preset=features",
		"Remove an edge, recolor a node: two views of one graph, and their plan."},
	"encoders": {"continual.html#recording=&methods=saot.saot-l.random.hellinger&show=saot.saot-l",
		"Train SAOT with a graph encoder and with a linear one, next to two that are never trained."},
	"forgetting": {"continual.html#recording=&methods=naive.random&show=naive.random",
		"Train a learner without memory, next to one that is never trained."},
	"saot": {"continual.html#recording=&methods=saot&show=saot",
		"Switch the terms of the loss on and off: α, β, and the memory."},
	"controls": {"continual.html#recording=&methods=saot.random.hellinger&show=saot",
		"Train SAOT next to propagated features."},
	"reproduce": {"continual.html#recording=&methods=saot.naive.barlow.random",
		"Train four methods side by side on one stream."},
	"explorer": {"continual.html", "Training in the page, without a notebook."},
}

// live returns the state for a notebook, or nil. Without a folder of the playground it is at the address of saot play,
// and has no frame, which would stay empty while saot play does not run.
func live(notebook, folder string) *Live {
	_, slug, found := strings.Cut(notebook, "_")
	s, known := states[slug]
	if !found || !known {
		return nil
	}
	l := at(folder, s.address, s.text)
	if strings.HasPrefix(s.address, "continual") { // which the reader opens large
		l.Frame = ""
	}
	return l
}

// at is a state of the playground in a folder, or at the address of saot play.
func at(folder, address, text string) *Live {
	if folder == "" {
		return &Live{Address: template.URL("http://" + playground.Address + "/" + address), Text: text}
	}
	page, fragment, _ := strings.Cut(address, "#")
	page = strings.TrimSuffix(folder, "/") + "/" + page + "#"
	return &Live{Address: template.URL(page + fragment), Frame: template.URL(page + "embed&" + fragment), Text: text}
}

// atFigure finds what kit.Live displays above a figure: the state, and what to do there.
var atFigure = regexp.MustCompile(`<p class="saot-live"[^>]*><a href="http://` + regexp.QuoteMeta(playground.Address) +
	`/([^"]*)">Live</a>: <span>([^<]*)</span>.*?</p>`)

// framed puts the playground where kit.Live has links to it: in a frame that loads once the reader opens it. Without a
// folder of the playground the figures stand alone. It counts the frames.
func framed(body []byte, folder string) (with []byte, frames int, err error) {
	with = atFigure.ReplaceAllFunc(body, func(link []byte) []byte {
		if folder == "" {
			return nil
		}
		found := atFigure.FindSubmatch(link)
		var out bytes.Buffer
		state := at(folder, html.UnescapeString(string(found[1])), html.UnescapeString(string(found[2])))
		err = errors.Join(err, pageTemplate.ExecuteTemplate(&out, "frame", state))
		frames++
		return out.Bytes()
	})
	return with, frames, err
}
