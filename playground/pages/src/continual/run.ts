// A run of a method: a worker that trains, and the recording that grows from its messages.

import type { PackedFrame, PackedRun, PackedTask, Score } from "../../../viewer/src/recording";
import type { Files } from "./files";
import type { Method, Request } from "./methods";

export type ToWorker =
  | { do: "start"; module: WebAssembly.Module; request: Request; files: Files; lock: string; paused: boolean }
  | { do: "pause" | "step" | "play" };

export type FromWorker = { text: string } | { files: Files } | { ended: true };

/** A message of package playground/training. */
interface Message {
  kind: "start" | "step" | "frame" | "scoring" | "scores" | "result" | "error";
  head?: PackedRun["recording"]["head"];
  done?: number;
  task?: PackedTask;
  frame?: PackedFrame;
  index?: number;
  step?: number;
  steps?: number;
  scores?: Score[];
  result?: { scores: { setting: string; probe: string; ap: number; af: number }[] };
  error?: string;
}

export type State = "waiting" | "starting" | "running" | "paused" | "done" | "failed" | "lost";

let count = 0;

export class LiveRun {
  state: State = "waiting";
  words = "waits for a worker"; // about the state
  packed: PackedRun;
  tasks = 0;
  share = 0; // of the whole run that is done
  files: Files = {}; // of the last checkpoint, or of the finished run
  private kept = 0; // tasks that a new worker would not learn again
  private worker: Worker | null = null;
  private paused = false;

  constructor(readonly method: Method, readonly request: Request, private readonly changed: () => void) {
    this.packed = { name: method.label, recording: { head: { method: method.name, dataset: request.dataset, seed: request.seed,
      every: request.record, tasks: 0 }, tasks: [] } };
  }

  get active(): boolean {
    return this.state === "starting" || this.state === "running" || this.state === "paused";
  }

  /** Starts the worker; after one was lost, from the last task that was finished. */
  start(module: WebAssembly.Module, paused: boolean) {
    const worker = new Worker("assets/learner-worker.js", { name: this.method.label });
    const lock = `saot-run-${Date.now()}-${++count}`;
    this.worker = worker;
    this.paused = paused;
    this.tell("starting", "starts");
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (this.worker !== worker) return;
      if ("text" in data) this.hear(JSON.parse(data.text) as Message, lock);
      else if ("files" in data) this.keepFiles(data.files);
      else this.lose("the module ended");
    };
    worker.onerror = (e) => {
      if (this.worker === worker) this.lose(e.message || "the worker failed");
    };
    worker.postMessage({ do: "start", module, request: this.request, files: this.files, lock, paused } satisfies ToWorker);
  }

  /** Waits for the lock that a worker holds: it is free when the worker is gone, be it killed by the browser. */
  private guard(lock: string) {
    const worker = this.worker;
    void navigator.locks?.request(lock, () => {
      if (this.worker === worker && this.active) this.lose("the browser ended the worker");
    });
  }

  private hear(m: Message, lock: string) {
    const { recording } = this.packed;
    switch (m.kind) {
      case "start":
        this.guard(lock);
        recording.head = m.head!;
        this.tasks = m.head!.tasks;
        recording.tasks = recording.tasks!.filter((t) => t.task < (m.done ?? 0));
        this.tell(this.paused ? "paused" : "running", "");
        this.send(this.paused ? "pause" : "play");
        break;
      case "frame":
        this.keep(m.task!, m.frame!);
        break;
      case "step":
        this.share = ((m.index ?? 0) + (0.95 * m.step!) / m.steps!) / this.tasks;
        this.tell(this.state, `task ${(m.index ?? 0) + 1} of ${this.tasks}, step ${m.step} of ${m.steps}`);
        break;
      case "scoring":
        this.tell(this.state, `scores after task ${(m.index ?? 0) + 1} of ${this.tasks}`);
        break;
      case "scores": {
        const task = recording.tasks!.find((t) => t.task === (m.index ?? 0));
        if (task) task.scores = m.scores;
        this.share = ((m.index ?? 0) + 1) / this.tasks;
        this.tell(this.state, this.words);
        break;
      }
      case "result":
        this.tell("done", "done");
        break;
      case "error":
        this.end();
        this.tell("failed", m.error!);
    }
    if (this.state === "done" && m.kind !== "result") this.changed();
  }

  private keepFiles(files: Files) {
    this.files = files;
    this.kept = this.packed.recording.tasks!.filter((t) => t.scores?.length).length;
    if (this.state === "done") this.end(); // these were the last that the worker had to say
  }

  private keep(task: PackedTask, frame: PackedFrame) {
    const { tasks } = this.packed.recording;
    const known = tasks!.find((t) => t.task === task.task);
    if (!known) {
      tasks!.push({ ...task, frames: [frame] });
      return;
    }
    [known.terms, known.figures] = [task.terms, task.figures];
    if (known.frames!.at(-1)!.step === frame.step) known.frames!.pop();
    known.frames!.push(frame);
  }

  private tell(state: State, words: string) {
    [this.state, this.words] = [state, words];
    this.changed();
  }

  private lose(why: string) {
    this.end();
    this.tell("lost", `The worker of ${this.method.label} is gone (${why}). ${this.kept} of ${this.tasks || "?"} tasks are kept: ` +
      `press Start to continue with task ${this.kept + 1}.`);
  }

  private send(what: "pause" | "step" | "play") {
    this.worker?.postMessage({ do: what } satisfies ToWorker);
  }

  pause() {
    this.paused = true;
    if (this.state === "running") this.tell("paused", this.words);
    if (this.state === "paused") this.send("pause");
  }

  play() {
    this.paused = false;
    if (this.state === "paused") this.tell("running", this.words);
    if (this.state === "running") this.send("play");
  }

  step() {
    this.paused = true;
    if (this.state === "running") this.tell("paused", this.words);
    this.send("step");
  }

  /** Ends the worker. */
  end() {
    this.worker?.terminate();
    this.worker = null;
  }

  /** Ends the worker as a browser would that needs its memory; for tests. */
  kill() {
    this.worker?.terminate();
  }

  /** AP and AF of a setting from the rows so far, in percent; null before the first. */
  figures(setting: string): { ap: number; af: number; aps: number[] } | null {
    const rows = this.packed.recording.tasks!.map((t) => t.scores?.find((s) => s.setting === setting)?.accuracy as number[] | undefined)
      .filter((r) => r !== undefined);
    if (!rows.length) return null;
    const last = rows[rows.length - 1];
    const mean = (x: number[]) => x.reduce((a, b) => a + b, 0) / Math.max(1, x.length);
    const af = mean(last.slice(0, -1).map((v, j) => v - rows[j][j]));
    return { ap: mean(last), af, aps: rows.map(mean) };
  }
}
