// The page of graphs: two small graphs, and the fused Gromov plan between them.

import { element } from "../../viewer/src/dom";
import { figure } from "../../viewer/src/panel";
import type { Theme } from "../../viewer/src/theme";
import { GraphsPicture, Scene, Tool } from "./gromov/graphs";
import { type Drawn, packGraph, presets, unpackGraph, unpackTruth } from "./gromov/presets";
import { Figures, choice, noExample, slider, tools } from "./shell/controls";
import { Page } from "./shell/page";
import { Runs } from "./shell/runs";
import type { Graph, Graphs, Matching, Solver } from "./shell/solver";
import { clamp } from "./shell/state";
import { PlanMap, Pointed, pointedOf } from "./transport/map";

/** The state in the address. README.md describes the keys. */
const defaults = { preset: "relabel", a: "", b: "", truth: "", structure: "edges", sigma: 0.5, eps: 0.02, factor: 2, outer: 20,
  loop: "gradient", at: "" };

type Settings = typeof defaults;

const pace = 450; // milliseconds of a step that plays
const sweeps = 300; // of each linear problem
const most = 60; // linear problems

class GromovPage extends Page<Settings> {
  private readonly scene: Scene = { a: { points: [], colors: [], edges: [] }, b: { points: [], colors: [], edges: [] }, plan: null, truth: null };
  plan: Matching | null = null;
  private readonly actions = {
    changed: (shape: boolean) => this.edited(shape),
    dragging: (on: boolean) => on && this.meter.reset(),
    point: (p: Pointed) => this.point(p),
    say: (text: string) => this.status.say(text),
  };
  private readonly graphs = new GraphsPicture(this.scene, this.actions);
  private readonly map = new PlanMap((p) => this.point(p));
  private readonly note = element("p", { class: "hint", "data-note": "" });
  private readonly figures = new Figures([
    ["features", "colors ⟨K, π⟩", "the mass that changes its color"],
    ["structures", "structure ⟨L⊗π, π⟩", "the mean squared difference of the structures that the plan brings together"],
    ["entropic", "entropy ε Σ π (log π − 1)", "what the entropy adds; 0 for the proximal point"],
    ["truth", "structure of the right matching", "the same, of the matching from which B was made"],
    ["right", "mass on the right matching", "1: every node goes where it belongs"],
    ["outer", "linear problems solved", "each linearizes the cost at the last plan"],
    ["change", "last change of the plan", "L1 distance of the last two plans"],
    ["error", "marginal error", "L1 distance of the plan's columns from their masses"],
  ]);
  private readonly runs = new Runs(pace, "a linear problem after the other", {
    restart: ["Restart", "one linear problem, from the uniform plan", () => this.steps(1)],
    step: ["Step", "one linear problem more", () => this.steps(Math.min(most, this.settings.outer + 1))],
    converge: ["Settle", "sixty linear problems", () => this.steps(most)],
  }, () => this.settings.outer >= most && this.steps(1));
  private dirty = true;
  private pending = false;

  constructor() {
    super(defaults);
    this.build();
    this.restore();
    this.begin();
  }

  private build() {
    const s = this.settings;
    const set = <K extends keyof Settings>(key: K) => (v: Settings[K]) => {
      s[key] = v;
      this.change();
    };
    const make = {
      preset: choice({ name: "preset", label: "example", options: Object.entries(presets).map(([k, p]) => [k, p.label] as const),
        value: s.preset, change: (v) => this.preset(v) }),
      structure: choice({ name: "structure", label: "compare", options: [["edges", "edges"], ["distances", "distances"]],
        value: s.structure, change: set("structure") }),
      loop: choice({ name: "loop", label: "steps", options: [["gradient", "projected gradient"], ["proximal", "proximal point"]],
        value: s.loop, change: set("loop") }),
      sigma: slider({ name: "sigma", label: "σ", title: "weight of the colors; edges have the rest of 1", low: 0, high: 1, value: s.sigma,
        change: set("sigma") }),
      eps: slider({ name: "eps", label: "ε", title: "weight of the entropy: large blurs the plan", low: 0.005, high: 1, scale: "log",
        value: s.eps, change: set("eps") }),
      factor: slider({ name: "factor", label: "factor", title: "of the edges in a linear problem: 2 as in the gradient, 1 as Eq. 7 is printed; " +
        "the page divides the term by its maximum", low: 0.5, high: 4, step: 0.25, value: s.factor, change: set("factor") }),
      outer: slider({ name: "outer", label: "problems", title: "linear problems that are solved", low: 1, high: most, step: 1, value: s.outer,
        change: set("outer") }),
    };
    Object.assign(this.controls, make);
    make.preset.element.querySelector("select")!.prepend(noExample());
    const pointer = tools<Tool>({ name: "tool", label: "what the pointer does", value: "move", options: [
      ["move", "Move", "drag nodes"], ["edge", "Edge", "press two nodes to join or part them"],
      ["color", "Color", "press a node to change its color"], ["add", "Add", "press to add a node"],
      ["remove", "Remove", "press a node to remove it"]], change: (v) => this.graphs.take(v) });
    this.place.append(element("div", { class: "stage" },
      element("section", { class: "card picture", "aria-label": "graphs" }, element("h2", {}, "Graphs"), pointer.element, this.graphs.canvas, this.note),
      element("section", { class: "card picture", "aria-label": "plan" }, element("h2", {}, "Plan π"), this.map.canvas, this.status.element),
      element("section", { class: "card side", "aria-label": "settings and figures" },
        element("div", { class: "choices" }, make.preset.element, make.structure.element, make.loop.element),
        make.sigma.element, make.eps.element, make.factor.element, make.outer.element, this.runs.element, this.figures.element)));
  }

  protected restore() {
    if (!Object.hasOwn(presets, this.settings.preset)) this.settings.preset = defaults.preset;
    this.settings.outer = Math.round(clamp(this.settings.outer, 1, most));
    const p = presets[this.settings.preset];
    const own = unpackGraph(this.settings.a) !== null || unpackGraph(this.settings.b) !== null;
    const copy = (g: Drawn): Drawn => structuredClone(g);
    this.scene.a = copy(unpackGraph(this.settings.a) ?? p.a);
    this.scene.b = copy(unpackGraph(this.settings.b) ?? p.b);
    const truth = unpackTruth(this.settings.truth) ?? p.truth;
    const [n, m] = [this.scene.a.colors.length, this.scene.b.colors.length];
    this.scene.truth = truth && truth.length === n && truth.every((j) => j >= 0 && j < m) ? truth : null;
    this.note.textContent = own ? "None of the examples." : p.note;
    this.graphs.forget();
    this.fillControls();
    this.point(pointedOf(this.settings.at));
    this.change();
  }

  protected override remember() {
    super.remember();
    this.controls.preset.value = (this.settings.a || this.settings.b ? "" : this.settings.preset) as never;
  }

  /** Shows an example with its settings. */
  preset(name: string) {
    Object.assign(this.settings, this.defaultsOf({ ...defaults, preset: name }), { preset: name });
    this.restore();
  }

  /** An example sets some of the keys. */
  protected override defaultsOf(s: Settings): Settings {
    return { ...defaults, ...presets[s.preset]?.settings };
  }

  private edited(shape: boolean) {
    if (shape) {
      this.scene.truth = null;
      this.settings.truth = "-";
    }
    this.settings.a = packGraph(this.scene.a);
    this.settings.b = packGraph(this.scene.b);
    this.note.textContent = "None of the examples.";
    this.change();
  }

  private change() {
    this.dirty = true;
    this.remember();
  }

  private point(p: Pointed) {
    if (p.row === this.map.pointed.row && p.column === this.map.pointed.column) return;
    this.map.pointed = this.graphs.pointed = p;
    this.settings.at = p.row >= 0 && p.column >= 0 ? `${p.row}.${p.column}` : "";
    this.pending = true;
    this.remember();
  }

  private steps(outer: number) {
    this.settings.outer = this.controls.outer.value = outer as never;
    this.change();
  }

  /** What the solver takes. */
  problem(): Graphs {
    const s = this.settings;
    const flat = (g: Drawn): Graph => ({ points: Float64Array.from(g.points), edges: Int32Array.from(g.edges.flat()), colors: Int32Array.from(g.colors) });
    return { a: flat(this.scene.a), b: flat(this.scene.b), structure: s.structure === "distances" ? 1 : 0, epsilon: s.eps, sigma: s.sigma,
      factor: s.factor, outer: s.outer, sweeps, tolerance: 1e-9, loop: s.loop === "proximal" ? 1 : 0,
      truth: this.scene.truth ? Int32Array.from(this.scene.truth) : undefined };
  }

  protected work(solver: Solver, at: number): boolean {
    if (this.runs.due(at)) {
      if (this.plan && this.plan.outer < this.settings.outer) this.runs.play(false); // it has settled
      else if (this.settings.outer >= most) this.runs.play(false);
      else this.steps(this.settings.outer + 1);
    }
    const news = this.dirty || this.pending;
    if (this.dirty) this.solve(solver);
    this.dirty = this.pending = false;
    return news;
  }

  private solve(solver: Solver) {
    try {
      this.plan = solver.gromov(this.problem());
      this.status.clearFault();
    } catch (error) {
      this.plan = null;
      this.status.say((error as Error).message, true);
    }
    this.scene.plan = this.plan?.plan ?? null;
  }

  protected pictures() { return [this.graphs, this.map]; }

  protected show() {
    const { a, b, truth } = this.scene;
    const p = this.plan;
    const [n, m] = [a.colors.length, b.colors.length];
    const color = (g: Drawn) => (k: number, t: Theme) => t.classes[[0, 1, 3, 4][g.colors[k]]];
    this.map.shown = { n, m, plan: p && p.plan.length === n * m ? p.plan : null, f: p?.f, g: p?.g, rowColor: color(a), columnColor: color(b) };
    for (const p of this.pictures()) p.paint();
    this.status.point(this.map.words());
    const right = p && truth ? truth.reduce((sum, j, i) => sum + p.plan[i * m + j], 0) : NaN;
    const set = (key: string, text: string | undefined) => this.figures.set(key, p && text ? text : "–");
    set("features", p ? figure(p.features) : "");
    set("structures", p ? figure(Math.abs(p.structures) < 1e-9 ? 0 : p.structures) : "");
    set("entropic", p ? figure(p.entropic) : "");
    set("truth", p?.truthStructures === undefined ? "" : figure(Math.abs(p.truthStructures) < 1e-9 ? 0 : p.truthStructures));
    set("right", Number.isNaN(right) ? "" : figure(right));
    set("outer", p ? String(p.outer) : "");
    set("change", p ? p.change.toExponential(1) : "");
    set("error", p ? p.marginalError.toExponential(1) : "");
  }
}

new GromovPage();
