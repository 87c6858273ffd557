// The continual page: several methods learn a stream of graph tasks, each in a worker, and the viewer shows one or two of
// them while they learn.

import { element } from "../../viewer/src/dom";
import { download } from "../../viewer/src/export";
import type { PackedRun } from "../../viewer/src/recording";
import { onTheme } from "../../viewer/src/theme";
import { RecordingElement } from "../../viewer/src/viewer";
import { Chart } from "./continual/chart";
import { archive, chosenFiles, droppedFiles, recordingsOf } from "./continual/drop";
import { Settings, addressOf, addressed, commandOf, keysOf, methodOf, requestOf } from "./continual/methods";
import { LiveRun, State } from "./continual/run";
import { MethodTable } from "./continual/table";
import { Control, button, choice, slider } from "./shell/controls";
import { fetchFile, fetchModule } from "./shell/module";
import { Status, start } from "./shell/shell";
import { write } from "./shell/state";

const recordings: [string, string][] = [["", "the runs on this page"], ["uai", "SAOT on UAI, nine tasks (recorded)"],
  ["pair", "SAOT next to naive, four generated tasks (recorded)"], ["links", "SAOT where links tell little (recorded)"]];
const redraw = 250; // milliseconds between growths of the pictures

/** The runs of a recording that comes with the site. */
async function bundled(name: string): Promise<PackedRun[]> {
  const answer = await fetchFile(`assets/recordings/${encodeURIComponent(name)}.zip`);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return recordingsOf({ [`${name}.zip`]: new Uint8Array(await answer.arrayBuffer()) });
}

/** Says that a run is done, and how well it did. */
function doneWords(run: LiveRun): string {
  return `${run.method.label} is done: AP ${run.figures("class-il")?.ap.toFixed(1) ?? "–"} percent, Class-IL.`;
}

class ContinualPage {
  readonly settings = addressed();
  readonly runs = new Map<string, LiveRun>(); // by the methods' keys
  private readonly status = new Status();
  private readonly place = start(this.status, () => addressOf(this.settings));
  private readonly chart = new Chart();
  private readonly viewer = new RecordingElement();
  private readonly table = new MethodTable((methods, show) => this.choose(methods, show), (key) => this.save(key));
  private readonly controls: Record<string, Control<never>> = {};
  private readonly command = element("code", { id: "command" });
  private readonly same = element("section", { class: "card", "aria-label": "the same run on the command line" },
    element("h2", {}, "The same run on the command line"), element("p", { class: "hint" },
      "It gives the same accuracies. The zip of a run in the table holds result.json, the recording and the model: " +
      "saot audit and saot show read its folder."), this.command);
  private readonly playing = button("start", "Start", "train the chosen methods", () => this.start());
  private readonly pausing = button("pause", "Pause", "hold all runs after their step", () => this.pause());
  private readonly stepping = button("step", "Step", "one training step of each active run, then pause", () => this.step());
  private readonly back = button("back", "Back", "the frame before, in the viewer", () => this.viewer.showFrame(-1, true));
  private readonly clearing = button("clear", "Restart", "drop the runs, to begin again with these settings", () => this.clear());
  private readonly about = element("p", { class: "hint" });
  private readonly held = element("div", { class: "held" });
  private module: Promise<WebAssembly.Module> | null = null;
  private paused = false;
  private dropped: PackedRun[] = []; // recordings that are shown instead of the runs
  private shown: PackedRun[] | null = null;
  private waiting = 0;
  private readonly told = new WeakMap<LiveRun, State>(); // of each run, the state that the page has spoken of
  private wanted = ""; // the frame of the address, task.step, that is not there yet

  constructor() {
    this.build();
    this.restore();
    addEventListener("hashchange", () => {
      Object.assign(this.settings, addressed());
      this.restore();
    });
    onTheme(() => this.chart.paint());
    this.acceptDrops();
    document.body.dataset.ready = "";
    Object.assign(window, { page: this }); // for the curious, and for tests
  }

  private build() {
    const s = this.settings;
    const of = (name: keyof Settings & string, label: string, title: string, low: number, high: number, more: object = {}) => {
      const c = slider({ name, label, title, low, high, step: 1, value: s[name] as number, ...more, change: (v) => {
        (s as Record<string, unknown>)[name] = v;
        this.changed();
      } });
      this.controls[name] = c as Control<never>;
      return c.element;
    };
    const source = choice({ name: "recording", label: "show", options: recordings, value: s.recording as "", change: (v) => {
      s.recording = v;
      s.at = this.wanted = "";
      void this.showRecording();
    } });
    source.element.querySelector("select")!.append(element("option", { value: "files", hidden: "", disabled: "" }, "from files"));
    this.controls.recording = source as Control<never>;
    const tenths = { step: 0.05 };
    const file = element("input", { type: "file", id: "file", multiple: "", accept: ".zip,.json,.html", hidden: "" });
    file.addEventListener("change", () => {
      if (file.files) void this.take(chosenFiles(file.files));
      file.value = "";
    });
    const tools = element("div", { class: "tools", role: "group", "aria-label": "training" },
      this.playing, this.pausing, this.stepping, this.back, this.clearing);
    this.place.append(
      element("div", { class: "stage continual" },
        element("section", { class: "card", "aria-label": "stream and settings" },
          element("h2", {}, "Stream"),
          of("tasks", "tasks", "each has two new classes of documents", 2, 8),
          of("nodes", "nodes", "documents in all tasks together", 160, 800, { step: 40 }),
          of("homophily", "homophily", "share of links within a class", 0.2, 1, tenths),
          of("imbalance", "imbalance", "size of the largest class over the smallest", 1, 8, { step: 0.5 }),
          of("words", "words", "words of a document, on average", 5, 60),
          element("h2", {}, "Learning"),
          of("alpha", "α", "weight of the structure loss", 0, 2, tenths),
          of("beta", "β", "weight of the distillation from the teacher's plan", 0, 2, tenths),
          of("eps", "ε", "weight of the entropy in both plans", 0.05, 1, { scale: "log", step: 0.02 }),
          of("points", "M", "nodes that a step aligns by a plan", 16, 128, { step: 8 }),
          of("buffer", "buffer", "nodes of each task that the memory keeps", 0, 100, { step: 5 }),
          of("epochs", "epochs", "training steps of a task", 2, 60),
          of("seed", "seed", "of everything random except the graph and its split", 0, 9)),
        element("section", { class: "card", "aria-label": "methods and accuracy" },
          element("h2", {}, "Methods"), this.table.element, this.table.help, tools, this.status.element,
          element("h2", {}, "AP after each task"), this.chart.canvas,
          element("p", { class: "hint" }, "Mean accuracy on all tasks so far, Class-IL, in percent. Dashed: controls, which take no training step. " +
            "Color and shape: the method's mark in the table."))),
      element("section", { class: "card", id: "shown", "aria-label": "recording" },
        element("div", { class: "source" }, source.element,
          button("open", "Open…", "a recording: a zip or the files of a run folder, or a page of saot show", () => file.click()), file),
        this.about, this.held), this.same);
  }

  private choose(chosen: string[], show: string[]) {
    this.settings.methods = chosen.join(".");
    this.settings.show = show.join(".");
    this.settings.at = "";
    this.settings.recording = this.controls.recording.value = "" as never;
    this.dropped = [];
    this.prune();
    if (this.settings.play) this.launch();
    this.remember();
    this.show();
  }

  /** Settings changed: runs with others end. */
  private changed() {
    const before = this.runs.size;
    this.prune();
    const gone = before - this.runs.size;
    if (gone) return this.rewind(`${gone === 1 ? "1 run had other settings and is" : `${gone} runs had other settings and are`} ` +
      "gone: press Start.");
    this.remember();
    this.show();
  }

  /** The address follows the settings. */
  private remember() {
    write(addressOf(this.settings));
  }

  private restore() {
    for (const [key, c] of Object.entries(this.controls)) c.value = this.settings[key] as never;
    this.prune();
    this.wanted = this.settings.at;
    if (this.settings.recording) void this.showRecording();
    else {
      this.dropped = [];
      if (this.settings.play) this.start();
      else this.show();
    }
  }

  /** Ends the runs with other settings, and those that are not done and no longer chosen. */
  private prune() {
    const chosen = keysOf(this.settings.methods);
    for (const [key, run] of this.runs) {
      const same = JSON.stringify(run.request) === JSON.stringify(requestOf(this.settings, run.method));
      if (same && (run.state === "done" || chosen.includes(key))) continue;
      run.end();
      this.runs.delete(key);
    }
  }

  private start() {
    this.paused = false;
    this.settings.play = true;
    for (const run of this.runs.values()) run.play();
    this.launch();
  }

  private pause() {
    this.paused = true;
    for (const run of this.runs.values()) run.pause();
    this.show();
  }

  private step() {
    this.paused = true;
    for (const run of this.runs.values()) run.step();
    this.launch();
  }

  /** Drops all runs. */
  clear() {
    for (const run of this.runs.values()) run.end();
    this.runs.clear();
    this.rewind();
  }

  /** After runs ended: what is left shows its newest frame, and nothing starts by itself. */
  private rewind(words = "") {
    [this.settings.at, this.settings.play, this.wanted] = ["", false, ""];
    this.remember();
    this.paused &&= [...this.runs.values()].some((r) => r.active);
    this.show();
    this.status.say(words); // which matters more than a run that was done meanwhile
  }

  /** Starts what is chosen and does not run yet, as many at once as there are processors for. */
  private launch() {
    this.status.say("");
    this.dropped = [];
    this.settings.recording = "";
    this.controls.recording.value = "" as never;
    this.remember();
    for (const key of keysOf(this.settings.methods)) {
      const old = this.runs.get(key);
      if (old?.state === "failed") this.runs.delete(key);
      if (old?.state === "lost") old.state = "waiting";
      if (!this.runs.has(key)) this.runs.set(key, new LiveRun(methodOf(key)!, requestOf(this.settings, methodOf(key)!), () => this.heard()));
    }
    void this.fill();
  }

  private async fill() {
    let module: WebAssembly.Module;
    try {
      this.module ??= fetchModule("learner", (got, all) =>
        this.status.say(`Loading the learner: ${(got / 1e6).toFixed(0)}${all ? ` of ${(all / 1e6).toFixed(0)}` : ""} MB`));
      module = await this.module;
    } catch (error) {
      this.module = null;
      this.status.say(`The learner cannot be loaded. ${(error as Error).message}`, true);
      return;
    }
    if (this.status.element.textContent?.startsWith("Loading")) this.status.say("");
    const most = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
    const all = [...this.runs.values()];
    for (const run of all)
      if (run.state === "waiting" && all.filter((r) => r.active).length < most) run.start(module, this.paused);
    this.show();
  }

  /** A run changed. Pictures follow a few times a second. */
  private heard() {
    if (this.waiting) return;
    this.waiting = window.setTimeout(() => {
      this.waiting = 0;
      if ([...this.runs.values()].some((r) => r.state === "waiting")) void this.fill();
      this.show();
    }, redraw);
  }

  private show() {
    const chosen = keysOf(this.settings.methods);
    this.table.show(chosen, keysOf(this.settings.show), this.runs);
    const tasks = this.settings.tasks;
    this.chart.show(chosen.map((key) => ({ label: methodOf(key)!.label, color: this.table.colorOf(key), control: methodOf(key)!.control,
      values: this.runs.get(key)?.figures("class-il")?.aps ?? [] })), tasks);
    const all = [...this.runs.values()];
    this.tell(all);
    const busy = all.some((r) => r.active);
    const recorded = this.settings.recording !== "" || this.dropped.length > 0; // that is shown, not the runs
    const idle = (run?: LiveRun) => !run || ["lost", "failed", "paused"].includes(run.state) || (run.state === "waiting" && !busy);
    this.playing.disabled = !recorded && !(busy && this.paused) && !chosen.some((key) => idle(this.runs.get(key)));
    this.playing.textContent = this.paused && busy ? "Continue" : "Start";
    this.pausing.disabled = !busy || this.paused;
    this.clearing.disabled = this.runs.size === 0;
    const first = methodOf(keysOf(this.settings.show)[0] ?? chosen[0] ?? "saot") ?? methodOf("saot")!;
    this.command.textContent = commandOf(requestOf(this.settings, first));
    this.same.hidden = recorded;
    this.view();
  }

  /** Says once what became of a run. What is wrong comes last, and stays. */
  private tell(all: LiveRun[]) {
    const news = all.filter((r) => this.told.get(r) !== r.state);
    for (const run of news) this.told.set(run, run.state);
    const done = news.filter((r) => r.state === "done").map(doneWords);
    if (done.length) this.status.say(done.join(" "));
    for (const run of news) if (run.state === "lost" || run.state === "failed") this.status.say(run.words, true);
  }

  /** Hands the viewer what it shows, or more of it. */
  private view() {
    let packed = this.dropped;
    if (!packed.length && !this.settings.recording)
      packed = keysOf(this.settings.show).map((k) => this.runs.get(k)?.packed).filter((p) => p?.recording.tasks?.length) as PackedRun[];
    const same = packed.length === this.shown?.length && packed.every((p, i) => p === this.shown![i]);
    this.back.disabled = packed.length === 0;
    if (same) {
      if (packed.length) this.viewer.grow();
      if (this.wanted) this.goTo();
      return;
    }
    this.shown = packed;
    if (!packed.length) {
      this.held.replaceChildren();
      this.about.textContent = "Press Start: plans, embeddings, losses and the matrix grow here while the methods learn. Or drop a " +
        "recording of saot run --record on this page.";
      return;
    }
    this.about.textContent = "";
    if (!this.viewer.isConnected) this.held.replaceChildren(this.viewer);
    this.wanted ||= this.settings.at; // another run joins: who went back stays there
    this.viewer.runs = packed;
    if (this.wanted) this.goTo();
    else this.viewer.showFrame(Infinity);
  }

  /** Shows the frame that the address names, once it is there. */
  private goTo() {
    const [task, step] = this.wanted.split(".").map(Number);
    const later = this.shown!.some((p) => p.recording.tasks!.some((t) => t.task > task ||
      (t.task === task && t.frames?.some((f) => f.step > step))));
    const busy = [...this.runs.values()].some((r) => r.active || r.state === "waiting");
    if (!later && busy) return; // the viewer would follow the newest frame
    this.wanted = "";
    this.viewer.showStep(task, step);
  }

  private async showRecording() {
    this.status.say("");
    this.remember();
    const name = this.settings.recording;
    this.dropped = [];
    if (!name) return this.show();
    let [runs, fault]: [PackedRun[], string] = [[], ""];
    try {
      runs = await bundled(name);
    } catch (error) {
      fault = (error as Error).message;
    }
    if (this.settings.recording !== name) return; // the reader chose something else meanwhile
    if (fault) this.status.say(`The recording ${name} cannot be loaded. ${fault}`, true);
    this.dropped = runs;
    this.show();
  }

  private acceptDrops() {
    addEventListener("dragover", (e) => {
      e.preventDefault();
      document.body.classList.add("dropping");
    });
    addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    addEventListener("drop", (e) => {
      e.preventDefault();
      document.body.classList.remove("dropping");
      if (e.dataTransfer) void this.take(droppedFiles(e.dataTransfer));
    });
    this.viewer.addEventListener("saot-frame", (e) => {
      const { task, step, newest } = (e as CustomEvent<{ task: number; step: number; newest: boolean }>).detail;
      const files = this.dropped.length > 0 && !this.settings.recording; // which an address cannot hold
      this.settings.at = newest || files ? "" : `${task}.${step}`;
      this.remember();
    });
  }

  /** Shows recordings from files. */
  async take(files: ReturnType<typeof chosenFiles>) {
    try {
      const runs = recordingsOf(await files).slice(0, 2);
      this.dropped = runs;
      this.settings.recording = this.settings.at = this.wanted = "";
      this.controls.recording.value = "files" as never;
      this.remember();
      this.status.say(`Shown: ${runs.map((r) => r.name).join(" and ")}.`);
      this.show();
    } catch (error) {
      this.status.say((error as Error).message, true);
    }
  }

  private save(key: string) {
    const run = this.runs.get(key)!;
    const name = `${run.request.method}-s${run.request.seed}`;
    download(archive(name, run.files), `${name}.zip`);
  }
}

new ContinualPage();
