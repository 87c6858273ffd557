//go:build js && wasm

// Command learner is the WebAssembly module that trains in a Web Worker: it calls package training in the file system
// that the worker gives it. The worker sets the global function saotMessage, which takes a message of JSON. The module
// sets saotStart(request), saotPause(), saotStep() and saotPlay().
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"syscall/js"
	"time"

	"github.com/saot-go/saot/playground/training"
)

// folder is the run folder in the worker's file system.
const folder = "/run"

// gate holds the training back between messages. All of it runs on one thread.
type gate struct {
	paused bool
	steps  int           // that a paused run may take, the one at work included
	opened chan struct{} // a signal that one of them changed
}

func (g *gate) set(paused bool, steps int) {
	g.paused, g.steps = paused, steps
	select {
	case g.opened <- struct{}{}:
	default:
	}
}

// pass waits until training may continue: after a step, while it is paused. It gives the worker's own loop a turn, in
// which it hears the page.
func (g *gate) pass(kind string) {
	time.Sleep(time.Millisecond)
	if kind != "step" {
		return
	}
	for g.steps = max(0, g.steps-1); g.paused && g.steps == 0; {
		<-g.opened
	}
}

func main() {
	debug.SetGCPercent(50) // a tab has less memory than time
	g := &gate{opened: make(chan struct{}, 1)}
	export := func(name string, act func(args []js.Value)) {
		js.Global().Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
			act(args)
			return nil
		}))
	}
	export("saotPause", func([]js.Value) { g.set(true, 0) })
	export("saotStep", func([]js.Value) { g.set(true, 1) })
	export("saotPlay", func([]js.Value) { g.set(false, 0) })
	export("saotStart", func(args []js.Value) { go start(g, args[0].String()) })
	select {}
}

func start(g *gate, request string) {
	var q training.Request
	err := json.Unmarshal([]byte(request), &q)
	if err == nil {
		err = training.Run(context.Background(), folder, q, func(m training.Message) {
			text, err := m.JSON()
			if err != nil {
				fail(err)
				return
			}
			js.Global().Call("saotMessage", text)
			g.pass(m.Kind)
		})
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	text, _ := json.Marshal(map[string]string{"kind": "error", "error": fmt.Sprint(err)}) // strings always encode
	js.Global().Call("saotMessage", string(text))
}
