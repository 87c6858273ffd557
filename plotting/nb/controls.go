package nb

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
)

// tell sends the state of all controls to the cell. %s is the address.
const tell = `const panel = this.closest('.saot-panel');` +
	` if (this.type === 'button') { this.dataset.presses = 1 + Number(this.dataset.presses) }` +
	` else if (this.type === 'range')` +
	` { this.nextElementSibling.textContent = JSON.parse(this.dataset.values)[this.value] }` +
	` panel.querySelector('.saot-lost').hidden = Boolean(globalThis.gonb_comm);` +
	` panel.dataset.order = Math.max(Date.now(), 1 + Number(panel.dataset.order));` +
	` const state = [...panel.querySelectorAll('.saot-control')]` +
	`.map(c => c.type === 'button' ? c.dataset.presses : c.value);` +
	` if (globalThis.gonb_comm) { globalThis.gonb_comm.send('%s', [panel.dataset.order, ...state].join(' ')) }`

// control is the start of the attributes of a control. Lumino's attribute leaves it the arrow keys, which JupyterLab
// would take.
const control = `class="saot-control" data-lm-suppress-shortcuts="true"`

// html returns the controls. Their attributes carry their scripts, so that the page needs no others.
func (p *livePanel) html() string {
	handler := html.EscapeString(fmt.Sprintf(tell, p.address))
	var b strings.Builder
	b.WriteString(`<div class="saot-panel" data-order="0" ` +
		`style="font-family:sans-serif;font-size:13px;line-height:2">` + "\n")
	for _, k := range p.Knobs {
		fmt.Fprintf(&b, `<span style="display:inline-block;margin-right:2em"><label>%s: `, html.EscapeString(k.Name))
		if k.Menu {
			k.menu(&b, handler)
		} else {
			k.slider(&b, handler)
		}
		b.WriteString("</label>")
		if k.Steps && !k.Menu {
			k.stepButtons(&b)
		}
		b.WriteString("</span>\n")
	}
	b.WriteString("<div>\n")
	for _, label := range slices.Concat(p.Buttons, []string{"keep this picture"}) {
		fmt.Fprintf(&b, `<button type="button" `+control+
			` data-presses="0" style="margin-right:1em" onclick="%s">%s</button>`+"\n",
			handler, html.EscapeString(label))
	}
	b.WriteString(`<span class="saot-lost" hidden="hidden">The kernel can't be reached: run the cell again.</span>` +
		"</div>\n</div>\n")
	return b.String()
}

func (k Knob) slider(b *strings.Builder, handler string) {
	values, err := json.Marshal(k.Values)
	if err != nil { // strings always have a form in JSON
		values = []byte("[]")
	}
	fmt.Fprintf(b, `<input type="range" `+control+
		` aria-label="%s" min="0" max="%d" value="%d" autocomplete="off" data-values="%s" `+
		`style="vertical-align:middle;width:160px" oninput="%s" /> `+
		`<output style="display:inline-block;min-width:3em">%s</output>`,
		html.EscapeString(k.Name), len(k.Values)-1, k.At, html.EscapeString(string(values)), handler,
		html.EscapeString(k.Values[k.At]))
}

// step moves the slider next to a button by one value. %s is the method of the slider that does it.
const step = `const slider = this.parentElement.querySelector('input'); slider.%s();` +
	` slider.dispatchEvent(new Event('input', {bubbles: true}))`

func (k Knob) stepButtons(b *strings.Builder) {
	for _, s := range []struct{ method, sign, name string }{
		{"stepDown", "−", "one back"}, {"stepUp", "+", "one on"},
	} {
		fmt.Fprintf(b, ` <button type="button" class="saot-step" data-lm-suppress-shortcuts="true" `+
			`aria-label="%s: %s" style="min-width:2.2em" onclick="%s">%s</button>`,
			html.EscapeString(k.Name), s.name, html.EscapeString(fmt.Sprintf(step, s.method)), s.sign)
	}
}

func (k Knob) menu(b *strings.Builder, handler string) {
	fmt.Fprintf(b, `<select `+control+` aria-label="%s" autocomplete="off" onchange="%s">`,
		html.EscapeString(k.Name), handler)
	for i, value := range k.Values {
		selected := ""
		if i == k.At {
			selected = ` selected="selected"`
		}
		fmt.Fprintf(b, `<option value="%d"%s>%s</option>`, i, selected, html.EscapeString(value))
	}
	b.WriteString("</select>")
}
