package playground

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inventedHead and inventedTask are the files of a small recording.
const (
	inventedHead = `{"format":"saot-recording","version":1,"method":"saot","dataset":"invented","seed":0,"every":5,"tasks":3}`
	inventedTask = `{"format":"saot-recording","version":1,"task":0,"nodes":[4,9],"classes":[1,0],"edges":[[0,1]],
		"views":[[[0,1]],[]],"graph":{"values":{"scale":0.5,"base64":"/38AAAAA/38="},"marginal_error":1e-9},
		"terms":["total"],"figures":["entropy"],"frames":[{"step":0,"points":{"scale":1,"base64":"/38AAAAA/38="},
		"shares":[0.5,0.25]},{"step":5,"terms":[1],"figures":[null]}],
		"scores":[{"setting":"class-il","probe":"converged","accuracy":[50]}]}`
)

// The page refuses what Read of package record refuses, and names the file and the field.
func TestDroppedFilesAreChecked(t *testing.T) {
	b := open(t)
	b.train(t, small)
	for _, c := range []struct{ from, to, want string }{
		{`"every":5`, `"every":0`, "field every is 0"},
		{`"tasks":3`, `"tasks":1000000000`, "field tasks is 1000000000"},
		{`"tasks":3`, `"tasks":"3"`, `field tasks is "3"`},
		{`"method":"saot"`, `"method":{}`, "field method is {}"},
		{`"seed":0,`, ``, "field seed is missing"},
		{`"task":0`, `"task":1`, "field task is 1"},
		{`"nodes":[4,9],`, ``, "field nodes has 0 entries"},
		{`"nodes":[4,9]`, `"nodes":[4,"9"]`, `field nodes is "9"`},
		{`"classes":[1,0]`, `"classes":[1]`, "field classes has 1 entries, want 2"},
		{`"edges":[[0,1]]`, `"edges":[[0,2]]`, "field edges has the edge [0,2], which leads out of 2 nodes"},
		{`"edges":[[0,1]]`, `"edges":[[0,1],[0,1],[0,1],[0,1],[0,1]]`, "field edges has 5 entries"},
		{`"views":[[[0,1]],[]]`, `"views":[[]]`, "field views has 1 entries"},
		{`"base64":"`, `"base64":"AAAA`, "field graph: base64 has 16 characters, want 12"},
		{`"base64":"/3`, `"base64":"**`, "field graph: base64 holds no 4 numbers"},
		{`"base64":"/38AAAAA/38="`, `"base64":"AYAAAAAA/38="`, "field graph: a plan has the entry -0.5"},
		{`"scale":0.5`, `"scale":-0.5`, "field graph: the scale is -0.5"},
		{`"marginal_error":1e-9`, `"marginal_error":-1`, "field graph: the marginal error is -1"},
		{`"step":5`, `"step":0`, "field frames, entry 1, step is 0"},
		{`"terms":["total"]`, `"terms":[]`, "field frames, entry 1, terms has 1 entries"},
		{`"figures":["entropy"]`, `"figures":[""]`, `field figures has the name ""`},
		{`"shares":[0.5,0.25]`, `"shares":[0.5]`, "field frames, entry 0, shares has 1 entries"},
		{`"accuracy":[50]`, `"accuracy":[50,50]`, "field scores, accuracy has 2 entries, want 1"},
	} {
		head, task := strings.Replace(inventedHead, c.from, c.to, 1), strings.Replace(inventedTask, c.from, c.to, 1)
		require.NotEqual(t, inventedHead+inventedTask, head+task, "the case changes nothing")
		file := "head.json"
		if head == inventedHead {
			file = "task-0001.json"
		}
		b.Do(`page.status.say(''), true`)
		b.put(map[string]string{"head.json": head, "task-0001.json": task})
		b.Until(`said() !== ''`)
		require.Contains(t, b.Text(`said()`), file+": "+c.want)
	}
}

// What Go may leave out of a recording is no fault, and the cells of many tasks, which no screen holds, are not drawn.
func TestDroppedFilesOfManyTasks(t *testing.T) {
	b := open(t)
	b.train(t, small)
	sparse := strings.NewReplacer(`"edges":[[0,1]]`, `"edges":null`, `"views":[[[0,1]],[]]`, `"views":[]`).Replace(inventedTask)
	b.put(map[string]string{"head.json": inventedHead, "task-0001.json": sparse})
	const cells = `document.querySelector('saot-recording').shadowRoot.querySelectorAll('[data-row]').length`
	b.Until(`said() === 'Shown: saot on invented, seed 0.' && now() === 'task 1 of 3, step 5' && ` + cells + ` === 6`)
	many := strings.Replace(inventedHead, `"tasks":3`, `"tasks":3000`, 1)
	b.put(map[string]string{"head.json": many, "task-0001.json": sparse})
	b.Until(`now() === 'task 1 of 3000, step 5' && ` + cells + ` === 0`)
	require.Contains(t, b.Text(`document.querySelector('saot-recording').shadowRoot.querySelector('.matrix').textContent`),
		"The cells of 3000 tasks are too small to draw.")
}

// The page that saot show --html writes into a run folder does not show its run twice.
func TestDroppedFoldersWithPages(t *testing.T) {
	b := open(t)
	b.train(t, small)
	page := `<saot-recording><script type="application/json">[{"name": "of a page", "recording": {"head": ` + inventedHead +
		`, "tasks": [` + inventedTask + `]}}]</script></saot-recording>`
	text, err := json.Marshal([]string{page, inventedHead, inventedTask})
	require.NoError(t, err)
	for _, c := range []struct{ page, want string }{
		{"/uai/recording.html", "saot on invented, seed 0"}, {"/uai/recording/page.html", "saot on invented, seed 0"},
		{"/other/recording.html", "of a page and saot on invented, seed 0"},
	} {
		b.Do(`{ const [page, head, task] = ` + string(text) + `.map(x => new TextEncoder().encode(x));
			window.page.take({'` + c.page + `': page, '/uai/recording/head.json': head,
				'/uai/recording/task-0001.json': task}); true }`)
		b.Until(`said() === 'Shown: ` + c.want + `.'`)
	}
}

// Files that are no part of a recording are not read, nor is its page. None is read where all are too large.
func TestLargeFilesAreNotRead(t *testing.T) {
	b := open(t)
	b.train(t, small)
	drop := func(files string) {
		b.Do(`{ const dataTransfer = new DataTransfer();
			for (const f of ` + files + `) dataTransfer.items.add(f);
			window.read = 0;
			const whole = File.prototype.arrayBuffer;
			File.prototype.arrayBuffer = function () { window.read++; return whole.call(this); };
			window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
			File.prototype.arrayBuffer = whole; true }`)
	}
	const parts = "[new File([`" + inventedHead + "`], 'head.json'), new File([`" + inventedTask + "`], 'task-0001.json'), "
	drop(parts + `...['checkpoint.json', 'recording.html'].map(n => new File([new Uint8Array(65 << 20)], n))]`)
	b.Until(`said() === 'Shown: saot on invented, seed 0.'`)
	drop(parts + `new File([new Uint8Array(65 << 20)], 'other.zip')]`)
	b.Until(`said() === 'The files are larger than 64 MB.'`)
	require.Zero(t, b.Number(`read`))
}
