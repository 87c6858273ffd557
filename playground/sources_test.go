package playground

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// held keeps recordings back until the test calls the functions in the list held. The number taken counts those that
// the page has seen.
const held = `{
	window.held = [];
	window.taken = 0;
	const load = window.fetch;
	window.fetch = async (...what) => {
		if (!String(what[0]).includes('recordings/')) return load(...what);
		await new Promise(go => held.push(go));
		const answer = await load(...what);
		const data = await answer.arrayBuffer();
		answer.arrayBuffer = () => Promise.resolve(data).finally(() => setTimeout(() => taken++));
		return answer;
	};
	true;
}`

// Whatever comes late, the page shows what was chosen last.
func TestTheLastChoiceIsShown(t *testing.T) {
	b := open(t)
	t.Run("of two recordings", func(t *testing.T) {
		b.train(t, small)
		b.Do(held)
		b.set("recording", "pair")
		b.set("recording", "links")
		b.Do(`held[1](), true`)
		b.Until(`taken === 1 && now() === 'task 3 of 3, step 30'`)
		b.Do(`held[0](), true`)
		b.Until(`taken === 2`)
		b.Do(`page.show(), true`)
		require.InDelta(t, 1, b.Number(`page.shown.length`), 0, "the recording pair has two runs")
	})
	t.Run("of a recording and a run", func(t *testing.T) {
		b.train(t, alone)
		b.Do(held)
		b.set("recording", "links")
		b.press("start")
		b.Until(`states() === 'done'`)
		b.Do(`held[0](), true`)
		b.Until(`taken === 1 && now() === 'task 2 of 2, step 3'`)
		require.Zero(t, b.Number(`page.dropped.length`))
	})
	t.Run("of a recording and an address", func(t *testing.T) {
		b.train(t, "#recording=links")
		b.Until(`document.querySelector('saot-recording') && now() === 'task 3 of 3, step 30'`)
		b.Do(`location.hash = '` + alone + `', true`)
		b.Until(`document.querySelector('saot-recording') === null`)
	})
}

// Runs train at addresses where the browser has no locks: those of other machines without https. The address 0.0.0.0
// reaches this machine, and the browser takes it for another machine.
func TestTrainingWithoutLocks(t *testing.T) {
	b := open(t)
	b.site = strings.Replace(b.site, "127.0.0.1", "0.0.0.0", 1)
	b.train(t, alone)
	require.Equal(t, "undefined", b.Text(`typeof navigator.locks`))
	b.press("start")
	b.Until(`states() === 'done' || states() === 'failed'`)
	require.Equal(t, "done", b.Text(`states()`), b.Text(`said()`))
}

// The worker of a finished run ends, and with it the lock that it holds. What the run wrote stays.
func TestFinishedWorkersEnd(t *testing.T) {
	b := open(t)
	b.train(t, alone)
	b.press("start")
	b.Until(`states() === 'done' && '/run/result.json' in page.runs.get('saot').files`)
	b.Until(`(navigator.locks.query().then(l => window.locks = l.held.length), window.locks === 0)`)
	require.Equal(t, "done", b.Text(`states()`))
}

// The key play alone starts the runs. A recording that the address names comes first, and the address of a recording
// starts nothing.
func TestPlayInTheAddress(t *testing.T) {
	b := open(t)
	plays := strings.TrimSuffix(alone, "&recording=") + "&play=1"
	b.train(t, plays)
	b.Until(`states() === 'done' && now() === 'task 2 of 2, step 3'`)
	b.set("recording", "uai")
	b.Until(`now() === 'task 9 of 9, step 30' && !/play|recording/.test(location.hash)`)
	b.train(t, plays+"&recording=links")
	b.Until(`document.querySelector('saot-recording') && now() === 'task 3 of 3, step 30'`)
	require.Empty(t, b.Text(`states()`))
}
