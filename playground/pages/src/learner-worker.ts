// The worker that trains: it runs the module learner in a file system of its own, and passes messages on. The page gives
// it the compiled module, the request, and the files of an earlier worker to continue from. While it lives it holds the
// lock that the page names, so that the page hears of its end, whatever ended it. Browsers have locks only at https
// addresses and on this machine: at other addresses the page does not hear of it.

import { Files, MemoryFiles } from "./continual/files";
import type { FromWorker, ToWorker } from "./continual/run";

declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

declare function importScripts(path: string): void;

interface Globals {
  fs: MemoryFiles;
  saotMessage(text: string): void;
  saotStart(request: string): void;
  saotPause?(): void;
  saotStep?(): void;
  saotPlay?(): void;
  onmessage: (e: MessageEvent<ToWorker>) => void;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
}

const worker = globalThis as unknown as Globals;
const folder = "/run";

function send(message: FromWorker, files: Files = {}) {
  worker.postMessage(message, Object.values(files).map((f) => f.buffer as ArrayBuffer));
}

async function start(m: Extract<ToWorker, { do: "start" }>) {
  void navigator.locks?.request(m.lock, () => new Promise(() => {})); // until the worker ends
  worker.fs = new MemoryFiles(m.files);
  worker.saotMessage = (text) => {
    const kind = /^{"kind":"(\w+)"/.exec(text)?.[1];
    send({ text });
    if (kind !== "step" && kind !== "result") return;
    if (kind === "step" && !/"step":1,/.test(text)) return;
    const files = worker.fs.below(folder); // the checkpoint of the task before, or the whole run
    send({ files }, files);
  };
  importScripts("wasm_exec.js");
  const go = new Go();
  const instance = await WebAssembly.instantiate(m.module, go.importObject);
  void go.run(instance).then(() => send({ ended: true }));
  if (m.paused) worker.saotPause!();
  worker.saotStart(JSON.stringify(m.request));
}

worker.onmessage = ({ data }) => {
  switch (data.do) {
    case "start":
      start(data).catch((error: Error) => send({ text: JSON.stringify({ kind: "error", error: error.message }) }));
      break;
    // Before the module runs there is nothing to hold: the page says it again when training has begun.
    case "pause":
      return worker.saotPause?.();
    case "step":
      return worker.saotStep?.();
    case "play":
      return worker.saotPlay?.();
  }
};
