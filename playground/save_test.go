package playground

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saot-go/saot/internal/browsertest"
)

// catch keeps what the page saves from now on, instead of a download.
const catch = `{
	window.saved = null;
	const address = URL.createObjectURL;
	URL.createObjectURL = blob => (window.content = blob, address(blob));
	HTMLAnchorElement.prototype.click = function () {
		content.text().then(text => window.saved = [this.download, text]);
	};
	true;
}`

// distance compares the saved file with the pictures of the page: the share of pixels that differ.
const distance = `{
	window.distance = null;
	const image = new Image();
	image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(saved[1]);
	image.decode().then(() => {
		let [x, all, other] = [16, 0, 0];
		for (const {canvas} of page.pictures()) {
			const [w, h] = [canvas.width, canvas.height];
			const pen = () => new OffscreenCanvas(w, h).getContext('2d');
			const [is, want] = [pen(), pen()];
			is.drawImage(image, -x, -16);
			want.fillStyle = saved[1].match(/<rect [^>]*fill="(#\w+)"/)[1];
			want.fillRect(0, 0, w, h);
			want.drawImage(canvas, 0, 0);
			const [a, b] = [is, want].map(p => p.getImageData(0, 0, w, h).data);
			for (let k = 0; k < a.length; k++, all++) if (Math.abs(a[k] - b[k]) > 48) other++;
			x += w + 16;
		}
		window.distance = other / all;
	});
	true;
}`

// A page saves its pictures as one SVG that stands alone and looks like them, by pointer and by keys.
func TestSavedPictures(t *testing.T) {
	b := open(t)
	for _, state := range []string{"transport.html#theme=dark&preset=split&t=0.4&at=3.5", "transport.html#bary=1&t=0.5",
		"transport.html#cost=cosine&rho=0.1&eps=0.1", "transport.html#mode=axes&t=0.5&eps=0.002",
		"gromov.html#preset=features&at=1.2", "gromov.html#theme=dark&preset=shape"} {
		b.at(t, state)
		b.Until(`page.problem.settings?.bary !== true || page.problem.moved < 2e-4`)
		b.Do(catch)
		if strings.HasPrefix(state, "gromov") {
			b.focus("#save")
			b.Press(kb.Enter)
		} else {
			b.press("save")
		}
		b.Until(`saved !== null`)
		page, _, _ := strings.Cut(state, ".")
		require.Equal(t, page+".svg", b.Text(`saved[0]`))
		require.Regexp(t, `^`+page+`\.svg: \d+ kB$`, b.Text(said))
		svg := b.Text(`saved[1]`)
		elements := browsertest.Elements(t, svg)
		require.Equal(t, []int{1, 2, 0}, []int{elements["svg"], elements["g"], elements["image"]}, state)
		require.Contains(t, svg, "<desc>"+page+".html#"+strings.ReplaceAll(b.Text(`page.address()`), "&", "&amp;"))
		for _, wrong := range []string{"NaN", "undefined", "null", "var(", " style="} {
			require.False(t, strings.Contains(svg, wrong), wrong)
		}
		b.Do(distance)
		b.Until(`distance !== null`)
		t.Logf("%s: %d bytes, %v of the pixels differ", state, len(svg), b.Number(`distance`))
		require.Less(t, b.Number(`distance`), 0.001, state)
	}
	b.Do(`page.pictures = () => { throw new Error('It is gone.'); }, true`)
	b.press("save")
	b.Until(said + ` === 'The picture cannot be saved. It is gone.'`)
}
