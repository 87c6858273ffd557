// <saot-recording> shows one or two recordings of runs: docs/recording.md, "The viewer". Its data is a list of
// {name, recording} in a <script type="application/json"> within it, or set as its property runs.

import { CurvesPanel, groups, seriesOf } from "./curves";
import { dress, element, keyOf, sign } from "./dom";
import { compose, download, pixels, text } from "./export";
import { film } from "./gif";
import { MatrixPanel, lowest, scoreNames } from "./matrix";
import { GraphsPanel, ScatterPanel } from "./nodes";
import { Actions, Kind, Panel, Pointed, Scene, figure } from "./panel";
import { PlanPanel, kinds, mapOf } from "./plan";
import { Moment, PackedRun, Run, alike, growRun, unpackRun } from "./recording";
import { Schematic, partsOf, schematicStyle } from "./schematic";
import { style } from "./style";
import { Theme, light, onTheme, theme } from "./theme";

interface Column {
  packed: PackedRun;
  run: Run;
  panels: Panel[];
}

const speeds: [string, number][] = [["slow", 400], ["medium", 160], ["fast", 60]];
const longestFilm = 150; // frames
const widestFilm = 900; // pixels

const help: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "one frame back or forward"],
  ["Page Up, Page Down", "one task back or forward"],
  ["Home, End", "first or last frame"],
  ["P", "pin the frame, to compare others with it"],
  ["arrow keys in the map", "point at an entry of the plan"],
  ["arrow keys in the embedding or the graphs", "point at a node"],
  ["arrow keys in the matrix, Enter", "choose a task and show it"],
  ["Escape", "point at nothing"],
];

/** Puts options into a list, and chooses the one that was chosen if it is still there, else the first. Returns it. */
function refill(list: HTMLSelectElement, options: HTMLOptionElement[], chosen: string): string {
  const values = options.map((o) => o.value);
  if (values.join() !== [...list.options].map((o) => o.value).join()) list.replaceChildren(...options);
  list.value = values.includes(chosen) ? chosen : values[0] ?? "";
  return list.value || chosen;
}

export class RecordingElement extends HTMLElement {
  private columns: Column[] = [];
  private at = 0; // the moment of the run that is the clock
  private pinned = -1;
  private pointed: Pointed | null = null;
  private over: Run | null = null; // the run in which that is
  private told = ""; // the words about it
  private kind: Kind = "z";
  private group = "loss";
  private score = "";
  private low = 0;
  private speed = 160;
  private theme: Theme = light;
  private timer = 0;
  private waiting = false;
  private fitted = 0; // the width that panels fit
  private readonly sizes = new ResizeObserver(() => {
    if (this.clientWidth !== this.fitted) this.fit();
  });
  private leaves = new AbortController();

  private readonly slider = element("input", { type: "range", min: "0", step: "1", value: "0", "aria-label": "frame" });
  private readonly play = element("button", { type: "button", "aria-label": "play", title: "play or pause (space)" }, sign("play"));
  private readonly pin = element("button", { type: "button", "aria-pressed": "false",
    title: "pin this frame, to compare others with it (P)" }, "pin");
  private readonly zoom = element("button", { type: "button", "aria-pressed": "false",
    title: "fit the embedding of each frame to its panel" }, "zoom");
  private readonly now = element("p", { class: "now" });
  private readonly status = element("p", { class: "status", role: "status", "aria-live": "polite" });
  private readonly map = element("select", { "aria-label": "what the map shows" });
  private readonly curves = element("select", { "aria-label": "which curves are shown" });
  private readonly matrix = element("select", { "aria-label": "which matrix is shown" });
  private readonly span = element("select", { "aria-label": "frames of the film" });
  private readonly filming = element("button", { type: "button", title: "save an animated GIF" }, "GIF");
  private readonly stage = element("div", { class: "runs" });
  private readonly schematic = new Schematic();
  private focused = "plan"; // the panel that was pointed at or focused last

  connectedCallback() {
    if (!this.shadowRoot) this.build();
    this.leaves = new AbortController();
    onTheme(() => this.applyTheme(), this.leaves.signal);
    this.sizes.observe(this);
    if (this.columns.length) this.applyTheme();
    else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", this.read);
    else this.read();
  }

  /**
   * Reads the data within the element, which the page may not have loaded when it comes to the element. In folded details
   * it waits until they unfold.
   */
  private readonly read = () => {
    const folded = this.closest("details:not([open])");
    if (folded) return folded.addEventListener("toggle", this.read, { once: true });
    if (this.columns.length) return; // the page has set others meanwhile
    try {
      const data = this.querySelector('script[type="application/json"]');
      if (data) this.runs = JSON.parse(data.textContent!);
    } catch (error) {
      this.stage.replaceChildren(element("p", { class: "error", role: "alert" }, `The recording cannot be read: ${error}`));
    }
  };

  disconnectedCallback() {
    this.stop();
    this.leaves.abort();
    this.sizes.disconnect();
  }

  /** The recordings. The longest is the clock of both. */
  set runs(packed: PackedRun[]) {
    if (!this.shadowRoot) this.build();
    const shown = packed.slice(0, 2).map((p) => ({ packed: p, run: unpackRun(p), panels: [] }))
      .filter((c) => c.run.moments.length > 0);
    this.stop();
    this.columns = [];
    if (!shown.length) {
      this.stage.replaceChildren(element("p", { class: "error", role: "alert" }, "The recording has no frames."));
      return;
    }
    [this.at, this.pinned, this.pointed, this.kind, this.group, this.score] = [0, -1, null, "z", "loss", ""];
    this.columns = shown;
    this.lay();
  }

  /** Shows what was added to the recordings. Who is at the last frame follows; who is elsewhere stays. */
  grow() {
    if (!this.columns.length) return;
    const follows = this.newest && !this.timer;
    const now = this.clock.moments[this.at];
    const pin: Moment | undefined = this.clock.moments[this.pinned];
    for (const c of this.columns) growRun(c.run, c.packed);
    const all = this.clock.moments; // of another run, perhaps
    const same = (of: Moment) => all.findIndex((m) => m.task.task === of.task.task && m.frame.step === of.frame.step);
    this.at = follows || same(now) < 0 ? all.length - 1 : same(now);
    this.pinned = pin ? same(pin) : -1;
    const runs = this.columns.map((c) => c.run);
    const kept = this.columns.every((c) => this.panelsOf(c.run, runs).every((p, i) => p.name === c.panels[i]?.name));
    if (!kept) return this.lay();
    this.slider.max = String(all.length - 1);
    this.fillChoices(runs);
    this.draw();
  }

  private get newest(): boolean {
    return this.at === this.clock.moments.length - 1;
  }

  /** Lays out the panels of all runs. */
  private lay() {
    const runs = this.columns.map((c) => c.run);
    for (const c of this.columns) c.panels = this.panelsOf(c.run, runs);
    this.slider.max = String(this.clock.moments.length - 1);
    this.fillChoices(runs);
    this.schematic.element.hidden = !this.columns.some((c) => c.panels.some((p) => p.name === "plan"));
    this.stage.className = `runs ${runs.length === 1 ? "one" : "two"}`;
    const focus = this.keepFocus();
    this.stage.replaceChildren(...this.columns.map(({ run, panels }) =>
      element("section", { "aria-label": run.name }, element("h2", {}, run.name),
        element("div", { class: "panels" }, ...panels.map((p) => p.svg)))));
    focus();
    this.applyTheme();
    this.fit();
  }

  /** Remembers which panel of which run has the focus. What it returns gives the focus to the panel in its place. */
  private keepFocus(): () => void {
    const panel = this.shadowRoot!.activeElement?.closest("[data-panel]");
    const run = panel?.closest("section")?.getAttribute("aria-label");
    return () => this.columns.find((c) => c.run.name === run)?.panels
      .find((p) => p.name === panel!.getAttribute("data-panel"))?.svg.focus({ preventScroll: true });
  }

  private get clock(): Run {
    return this.columns.map((c) => c.run).reduce((a, b) => (b.moments.length > a.moments.length ? b : a));
  }

  /** The panels of a run: those that some run has figures for, so that two runs stand side by side. */
  private panelsOf(run: Run, runs: Run[]): Panel[] {
    const actions: Actions = {
      point: (p) => this.point(run, p),
      pointed: () => this.pointed,
      jump: (of, moment) => this.jump(of, moment),
      say: (words) => (this.status.textContent = words),
    };
    const all = [PlanPanel, ScatterPanel, GraphsPanel, MatrixPanel, CurvesPanel].map((P) => new P(actions));
    return all.filter((p) => runs.some((r) => p.has(r)));
  }

  private fillChoices(runs: Run[]) {
    const option = ([value, label]: [string, string, ...string[]]) => element("option", { value }, label);
    const has = (kind: Kind) => {
      if (kind === "ab") return runs.length > 1;
      if (kind === "t" || kind === "z-t") return runs.some((r) => r.tasks.some((t) => t.teacher));
      return runs.some((r) => r.tasks.some((t) => t.graph || t.frames.some((f) => f.plan)));
    };
    const maps = kinds.filter(([kind]) => has(kind));
    this.kind = refill(this.map, maps.map(option), this.kind) as Kind;
    this.map.parentElement!.hidden = maps.length === 0 || !runs.some((r) => r.tasks.some((t) => t.frames.some((f) => f.plan)));
    const curves = groups.filter(([group]) => runs.some((r) => seriesOf(r, group).length));
    this.group = refill(this.curves, curves.map(option), this.group);
    const scores = [...new Set(runs.flatMap(scoreNames))];
    this.score = refill(this.matrix, scores.map((s) => option([s, s])), this.score);
    this.matrix.parentElement!.hidden = scores.length < 2;
  }

  private build() {
    const button = (label: string, face: Node | string, act: () => void) => {
      const b = element("button", { type: "button", "aria-label": label, title: label }, face);
      b.addEventListener("click", act);
      return b;
    };
    const choice = (name: string, select: HTMLSelectElement, act: (value: string) => void) => {
      select.addEventListener("change", () => {
        act(select.value);
        this.draw();
      });
      return element("label", {}, name, select);
    };
    const speed = element("select", { "aria-label": "speed" }, ...speeds.map(([name, ms]) =>
      element("option", { value: String(ms) }, name)));
    speed.value = String(this.speed);
    this.span.append(...[["task", "this task"], ["pin", "from the pin"], ["all", "the whole run"]].map(([value, name]) =>
      element("option", { value }, name)));
    this.play.addEventListener("click", () => this.toggle());
    this.pin.addEventListener("click", () => this.togglePin());
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value)));
    this.filming.addEventListener("click", () => void this.exportFilm());
    this.zoom.addEventListener("click", () => {
      this.zoom.setAttribute("aria-pressed", String(this.zoom.getAttribute("aria-pressed") !== "true"));
      this.draw();
    });
    const bar = element("div", { class: "bar" },
      element("div", { class: "row", role: "group", "aria-label": "time" },
        button("first frame", sign("first"), () => this.show(0)),
        button("frame back", sign("back"), () => this.show(this.at - 1)),
        this.play,
        button("frame forward", sign("forward"), () => this.show(this.at + 1)),
        this.slider, this.now),
      element("div", { class: "row", role: "group", "aria-label": "pictures" },
        choice("map", this.map, (v) => (this.kind = v as Kind)),
        choice("curves", this.curves, (v) => (this.group = v)),
        choice("matrix", this.matrix, (v) => (this.score = v)),
        element("label", {}, "speed", speed), this.pin, this.zoom,
        button("save this frame as SVG", "SVG", () => this.exportFrame()),
        element("label", {}, "film", this.span), this.filming));
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    const keys = element("details", { class: "help" }, element("summary", {}, "keys"),
      element("ul", {}, ...help.map(([key, what]) => element("li", {}, element("kbd", {}, key), ` ${what}`))));
    const root = this.attachShadow({ mode: "open" });
    dress(root, style + schematicStyle);
    root.append(bar, this.stage, this.status, this.schematic.element, keys);
    for (const event of ["pointerover", "focusin"])
      this.stage.addEventListener(event, (e) => {
        const name = (e.target as Element).closest("[data-panel]")?.getAttribute("data-panel");
        if (!name || name === this.focused) return;
        this.focused = name;
        this.draw();
      });
    this.setAttribute("role", "group");
    if (!this.hasAttribute("aria-label")) this.setAttribute("aria-label", "recording of a run");
    this.addEventListener("keydown", (e) => this.key(e));
  }

  private key(e: KeyboardEvent) {
    const target = e.composedPath()[0] as HTMLElement;
    if (target.tagName === "SELECT" || !this.columns.length) return;
    const onSlider = target === this.slider;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.show(this.at - 1),
      ArrowRight: () => this.show(this.at + 1),
      PageUp: () => this.task(-1),
      PageDown: () => this.task(1),
      Home: () => this.show(0),
      End: () => this.show(Infinity),
      p: () => this.togglePin(),
      Escape: () => this.point(this.clock, null),
    };
    if (target.tagName !== "BUTTON" && target.tagName !== "SUMMARY") acts[" "] = () => this.toggle();
    const act = acts[keyOf(e)];
    if (!act || (onSlider && e.key.startsWith("Arrow"))) return;
    e.preventDefault();
    e.stopPropagation(); // a notebook has shortcuts of its own
    act();
  }

  /** Shows the first frame of another task. */
  private task(by: number) {
    const all = this.clock.tasks.filter((t) => t.frames.length);
    const k = all.indexOf(this.clock.moments[this.at].task) + by;
    const to = all[Math.min(all.length - 1, Math.max(0, k))];
    this.show(this.clock.moments.findIndex((m) => m.task === to));
  }

  private show(at: number) {
    this.at = Math.min(this.clock.moments.length - 1, Math.max(0, at));
    this.draw();
    const { task, frame } = this.clock.moments[this.at];
    const detail = { moment: this.at, task: task.task, step: frame.step, newest: this.newest };
    this.dispatchEvent(new CustomEvent("saot-frame", { detail }));
  }

  /** Shows a frame by its place, or by its distance from the one that is shown. */
  showFrame(at: number, relative = false) {
    this.stop();
    if (this.columns.length) this.show(relative ? this.at + at : at);
  }

  /** Shows the frame of a task, from 0, that is nearest to a step. */
  showStep(task: number, step: number) {
    const all = this.columns.length ? this.clock.moments : [];
    const far = (m: Moment) => (m.task.task === task ? Math.abs(m.frame.step - step) : Infinity);
    const best = all.reduce((b, m, i) => (far(m) < far(all[b]) ? i : b), 0);
    if (all.length && far(all[best]) < Infinity) this.showFrame(best);
  }

  private jump(run: Run, moment: number) {
    const at = run === this.clock ? moment : alike(this.clock, run.moments[moment]);
    if (at >= 0) this.show(at);
    else this.status.textContent = `the other run has no frames of task ${run.moments[moment].task.task + 1}`;
  }

  private toggle() {
    if (this.timer) return this.stop();
    if (this.at === this.clock.moments.length - 1) this.show(0);
    const step = () => {
      if (this.at === this.clock.moments.length - 1) return this.stop();
      this.show(this.at + 1);
      this.timer = window.setTimeout(step, this.speed);
    };
    this.timer = window.setTimeout(step, this.speed);
    this.playing(true);
  }

  private stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.playing(false);
  }

  private playing(is: boolean) {
    this.play.replaceChildren(sign(is ? "pause" : "play"));
    this.play.setAttribute("aria-label", is ? "pause" : "play");
  }

  private togglePin() {
    this.pinned = this.pinned === this.at ? -1 : this.at;
    this.draw();
  }

  private point(run: Run, p: Pointed | null) {
    const same = (a: Pointed | null, b: Pointed | null) => a?.row === b?.row && a?.column === b?.column;
    if (same(p, this.pointed)) return;
    [this.pointed, this.over] = [p, run];
    this.draw();
  }

  /** Says what the frame has where the reader points, but while a film is made, which says how far it is. */
  private tell() {
    const words = this.pointed ? this.words(this.over!, this.pointed) : "";
    if (words === this.told || this.filming.disabled) return;
    if (words || this.status.textContent === this.told) this.status.textContent = words;
    this.told = words;
  }

  private words(run: Run, p: Pointed): string {
    const column = this.columns.find((c) => c.run === run)!;
    const s = this.scene(column);
    const task = s.now?.task;
    if (!task || p.row >= task.nodes.length || p.column >= task.nodes.length) return "";
    const node = (i: number) => `node ${task.nodes[i]} of class ${task.classes[i]}`;
    const values = mapOf(s);
    if (typeof values === "string") return node(p.row);
    const mass = values[p.row * task.nodes.length + p.column] * task.nodes.length ** 2;
    return `${node(p.row)} in view 1, ${node(p.column)} in view 2: ${figure(mass)} times the uniform mass`;
  }

  private momentOf(run: Run, at: number): number {
    return at < 0 || run === this.clock ? at : alike(run, this.clock.moments[at]);
  }

  private scene({ run }: Column): Scene {
    const at = this.momentOf(run, this.at);
    const other = this.columns.find((c) => c.run !== run)?.run;
    const of = (r: Run | undefined, i: number): Moment | null => r?.moments[i] ?? null;
    return {
      run, at, now: of(run, at), pinned: of(run, this.momentOf(run, this.pinned)),
      other: other ? of(other, this.momentOf(other, this.at)) : null,
      kind: this.kind, group: this.group, score: this.score, low: this.low, pointed: this.pointed,
      zoom: this.zoom.getAttribute("aria-pressed") === "true", theme: this.theme,
    };
  }

  private applyTheme() {
    this.theme = theme();
    this.style.colorScheme = this.theme.dark ? "dark" : "light";
    for (const name of ["back", "panel", "text", "faint", "line", "mark"] as const)
      this.style.setProperty(`--${name}`, this.theme[name]);
    this.draw();
  }

  private fit() {
    this.fitted = this.clientWidth;
    for (const { panels } of this.columns)
      for (const p of panels) {
        const width = p.svg.getBoundingClientRect().width;
        if (width > 0) p.fit(width);
      }
    this.draw();
  }

  /** Draws before the next picture of the screen, however often it is called. */
  private draw() {
    if (this.waiting || !this.columns.length) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.columns.length) this.drawNow(); // the page may have taken them away
    });
  }

  private drawNow() {
    const m = this.clock.moments[this.at];
    this.slider.value = String(this.at);
    this.tell();
    const label = this.caption(m);
    this.slider.setAttribute("aria-valuetext", label);
    this.now.textContent = label;
    this.pin.setAttribute("aria-pressed", String(this.pinned === this.at));
    this.pin.textContent = this.pinned < 0 ? "pin" : this.pinned === this.at ? "pinned" : "pin again";
    this.low = lowest(this.columns.map((c) => c.run), this.score);
    this.schematic.mark(partsOf(this.focused, this.kind));
    for (const c of this.columns) {
      const s = this.scene(c);
      for (const p of c.panels) p.draw(s);
    }
  }

  private caption(m: Moment): string {
    return `task ${m.task.task + 1} of ${this.clock.head.tasks}, step ${m.frame.step}`;
  }

  private picture(): SVGSVGElement {
    return compose(this.stage, this.caption(this.clock.moments[this.at]), this.theme);
  }

  private fileName(extension: string): string {
    const m = this.clock.moments[this.at];
    const name = this.columns.map((c) => c.run.name.replace(/[^\w.]+/g, "-")).join("-");
    return `${name}-task${m.task.task + 1}-step${m.frame.step}.${extension}`;
  }

  private exportFrame() {
    this.drawNow();
    this.save(new Blob([text(this.picture())], { type: "image/svg+xml" }), "svg");
  }

  private save(content: Blob, extension: string) {
    const name = this.fileName(extension);
    const go = this.dispatchEvent(new CustomEvent("saot-export", { detail: { name, content }, cancelable: true }));
    if (go) download(content, name);
    this.status.textContent = `${name}: ${Math.ceil(content.size / 1000)} kB`;
  }

  /** The moments of the chosen span, at most as many as a film holds. */
  private moments(): number[] {
    const { moments } = this.clock;
    const task = moments[this.at].task;
    let all = moments.map((_, i) => i);
    if (this.span.value === "task") all = all.filter((i) => moments[i].task === task);
    if (this.span.value === "pin")
      all = all.filter((i) => i >= Math.min(this.pinned, this.at) && i <= Math.max(this.pinned, this.at));
    const each = Math.ceil((all.length - 1) / (longestFilm - 1)) || 1; // the last one is kept, too
    return all.filter((_, k) => k % each === 0 || k === all.length - 1);
  }

  private async exportFilm() {
    this.stop();
    if (this.span.value === "pin" && this.pinned < 0) {
      this.status.textContent = "pin a frame, from which the film is to run";
      return;
    }
    const [before, all] = [this.at, this.moments()];
    this.filming.disabled = true;
    try {
      let drawn = 0;
      const content = await film(all.length, this.speed, async (i) => {
        this.at = all[i];
        this.drawNow();
        const words = `film: ${10 * Math.floor((5 * ++drawn) / all.length)} %`; // each is drawn twice
        if (this.status.textContent !== words) this.status.textContent = words;
        return pixels(this.picture(), widestFilm);
      });
      this.save(content, "gif");
    } catch (error) {
      this.status.textContent = `the film failed: ${error}`;
    } finally {
      this.filming.disabled = false;
      this.show(before);
    }
  }
}

if (!customElements.get("saot-recording")) customElements.define("saot-recording", RecordingElement);
