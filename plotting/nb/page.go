package nb

import (
	"html"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/dom"
)

// reach is a script that lets GoNB's own script reach the kernel from any page. GoNB v0.11.5 (websocket.js) opens
// ws://HOST/api/kernels/ID/channels, which exists only on a server without TLS at the root of its address, and calls
// crypto.randomUUID, which browsers keep from pages without TLS on other hosts than localhost.
//
// Jupyter's page says where its server is, in jupyter-config-data (JupyterLab, Notebook 7) or in data-base-url
// (nbclassic). The script puts a class over WebSocket that corrects this one address, and goes away with its first use.
// Cookies carry the reader's rights; the page's token, if there is one, is added, as JupyterLab does.
const reach = `(() => {
	crypto.randomUUID ??= () =>
		Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('');
	const Plain = globalThis.WebSocket;
	if (Plain.saot) { return }
	const told = JSON.parse(document.getElementById('jupyter-config-data')?.textContent || '{}');
	const base = new URL(told.wsUrl || told.baseUrl || document.body.dataset.baseUrl || '/', location.href);
	base.protocol = base.protocol.replace('http', 'ws');
	globalThis.WebSocket = class extends Plain {
		static saot = true;
		constructor(address, ...rest) {
			const channels = /^ws:\/\/[^/]*\/(api\/kernels\/[^/?]+\/channels)$/.exec(address);
			if (channels) {
				globalThis.WebSocket = Plain;
				address = new URL(channels[1], base);
				if (told.token) { address.searchParams.set('token', told.token) }
			}
			super(address, ...rest);
		}
	};
})()`

// askPage makes the page correct the kernel's address.
func askPage() { dom.TransientJavascript(reach) }

// distrust says why a page runs no scripts, and what to do about it.
const distrust = "the notebook is not trusted, or the page runs no scripts. In JupyterLab, choose View, Activate " +
	"Command Palette, Trust Notebook."

// UntrustedNote returns a paragraph for a page of HTML that shows itself only where the notebook is not trusted: such a
// page drops the style sheet that hides it. It begins with what then does not work, as in "The player does not move",
// and says what to do.
func UntrustedNote(what string) string {
	return `<style>.saot-untrusted { display: none }</style>` + noteHTML("saot-untrusted", what+": "+distrust)
}

func noteHTML(class, text string) string {
	return `<p class="` + class + `" style="font-family:sans-serif;font-size:13px">` + html.EscapeString(text) + "</p>"
}

// waiting tells the reader below the cell that no answer has come yet. The line goes when the controls come.
func (p *livePanel) waiting() { p.note("Waiting for this page to answer the kernel.") }

// unanswered leaves below the cell why there are no controls.
func (p *livePanel) unanswered() {
	p.note("No controls, because no page answered the kernel. Either " + distrust + " Or the page can't open a " +
		"WebSocket to the kernel: the browser's console names its address. Then run the cell again.")
}

func (p *livePanel) note(text string) {
	gonbui.UpdateHTML(p.controls, noteHTML("saot-note", text))
	gonbui.Sync()
}
