// The transport page: two clouds or two histograms, and the plan that moves one onto the other.

import { element } from "../../viewer/src/dom";
import { figure } from "../../viewer/src/panel";
import type { Theme } from "../../viewer/src/theme";
import { Figures, check, choice, noExample, slider, tools } from "./shell/controls";
import { Page } from "./shell/page";
import { Runs } from "./shell/runs";
import type { Solver } from "./shell/solver";
import { Trace } from "./shell/trace";
import { AxesPicture } from "./transport/axes";
import { Actions, CloudsPicture, Tool } from "./transport/clouds";
import { PlanMap, Pointed, pointedOf } from "./transport/map";
import { axes, clouds } from "./transport/presets";
import { Problem, Settings, defaults } from "./transport/problem";

const pace = 140; // milliseconds of a sweep that plays

class TransportPage extends Page<Settings> {
  readonly problem = new Problem(this.settings);
  private readonly actions: Actions = {
    changed: () => this.edited(),
    dragging: (on) => {
      this.dragging = on;
      if (on) this.meter.reset();
    },
    point: (p) => this.point(p),
    say: (text) => this.status.say(text),
  };
  private readonly clouds = new CloudsPicture(this.problem, this.actions);
  private readonly axes = new AxesPicture(this.problem, this.actions);
  private readonly map = new PlanMap((p, how) => this.point(p, how));
  private readonly trace = new Trace();
  private readonly figures = new Figures([
    ["cost", "cost ⟨C, π⟩", "what the plan pays"],
    ["error", "marginal error", "L1 distance of the plan's columns from their masses; with ρ, from ν·exp(−g/ρ), which the optimum has, over the mass moved"],
    ["sweeps", "sweeps", "pairs of updates of the potentials"],
    ["gap", "duality gap", "0 proves that the plan is optimal, where the marginal error is 0"],
    ["mass", "mass moved", "not 1 where marginals are relaxed: ρ lowers it, and ε raises it, because the entropy is smallest at entries of 1"],
    ["divergence", "Sinkhorn divergence", "the entropic cost without its bias, with exact marginals; 0 for equal clouds"],
  ]);
  private readonly runs = new Runs(pace, "a sweep after the other", {
    restart: ["Restart", "one sweep, from zero potentials", () => this.restartSweeps()],
    step: ["Step", "one sweep", () => this.step()],
    converge: ["Converge", "sweep until the marginal error is at most 10⁻⁹", () => this.converge()],
  }, () => this.converged && this.restartSweeps());
  private readonly add = tools<Tool>({ name: "tool", label: "what the pointer does", value: "move", options: [
    ["move", "Move", "drag points"], ["x", "Add ●", "press to add a point of the first cloud"],
    ["y", "Add ■", "press to add a point of the second cloud"], ["remove", "Remove", "press a point to remove it"],
  ], change: (v) => (this.clouds.tool = v) });
  private readonly heading = element("h2", {}, "Clouds");
  private sinceEdit = 0;
  private dragging = false;
  private pending = false; // something besides the plan changed
  private measured = false; // the divergence is that of the plan

  constructor() {
    super(defaults);
    this.build();
    this.restore();
    this.begin();
  }

  private build() {
    const s = this.settings;
    const set = <K extends keyof Settings>(key: K, after: () => void) => (v: Settings[K]) => {
      s[key] = v;
      after();
    };
    const changed = () => this.change();
    const look = () => this.look();
    const make = {
      mode: choice({ name: "mode", label: "move", options: [["clouds", "clouds of points"], ["axes", "painted histograms"]],
        value: s.mode, change: set("mode", () => this.preset("")) }),
      preset: choice({ name: "preset", label: "example", options: [], value: "", change: (v: string) => this.preset(v) }),
      cost: choice({ name: "cost", label: "cost", options: [["squared", "squared distance"], ["euclidean", "distance"],
        ["cosine", "cosine"]], value: s.cost, change: set("cost", changed) }),
      solver: choice({ name: "solver", label: "plan", options: [["entropic", "entropic (Sinkhorn)"], ["exact", "exact"]],
        value: s.solver, change: set("solver", changed) }),
      eps: slider({ name: "eps", label: "ε", title: "weight of the entropy: large blurs the plan", low: 0.0005, high: 1,
        scale: "log", value: s.eps, change: set("eps", changed) }),
      rho: slider({ name: "rho", label: "ρ", title: "price of missing a marginal: small leaves outliers alone", low: 0.01,
        high: 3, scale: "log", off: "exact", value: s.rho, change: set("rho", changed) }),
      t: slider({ name: "t", label: "time t", title: "the mass on its way from the first to the second", low: 0, high: 1,
        value: s.t, change: set("t", () => {
          this.problem.moved = Infinity;
          look();
        }) }),
      bary: check({ name: "bary", label: "◆ barycenter at t", title: "the cloud whose exact plans to both sides cost the least, in squared distances",
        value: s.bary, change: set("bary", () => {
          if (s.bary && (s.t === 0 || s.t === 1)) s.t = make.t.value = 0.5;
          this.problem.z = null;
          this.problem.moved = Infinity;
          look();
        }) }),
    };
    Object.assign(this.controls, make);
    this.place.append(element("div", { class: "stage" },
      element("section", { class: "card picture", "aria-label": "what is moved" }, this.heading, this.add.element, this.clouds.canvas,
        this.axes.canvas, make.t.element, make.bary.element),
      element("section", { class: "card picture", "aria-label": "plan" }, element("h2", {}, "Plan π"), this.map.canvas, this.status.element),
      element("section", { class: "card side", "aria-label": "settings and figures" },
        element("div", { class: "choices" }, make.mode.element, make.preset.element, make.cost.element, make.solver.element),
        make.eps.element, make.rho.element, this.runs.element, this.trace.canvas, this.figures.element)));
  }

  protected restore() {
    // On an axis a cosine is −1, 0 or 1: histograms have no such cost.
    if (this.problem.painted && this.settings.cost === "cosine") this.settings.cost = defaults.cost;
    this.problem.load();
    this.fillPresets();
    for (const picture of [this.clouds, this.axes]) picture.forget();
    this.fillControls();
    this.point(pointedOf(this.settings.at));
    this.change();
  }

  private fillPresets() {
    const select = this.controls.preset.element.querySelector("select")!;
    const set = this.problem.painted ? axes : clouds;
    select.replaceChildren(noExample(), ...Object.entries(set).map(([value, p]) => element("option", { value }, p.label)));
    const cosine = this.controls.cost.element.querySelector<HTMLOptionElement>("[value=cosine]")!;
    cosine.hidden = cosine.disabled = this.problem.painted;
    this.clouds.canvas.hidden = this.problem.painted;
    this.axes.canvas.hidden = !this.problem.painted;
    this.add.element.hidden = this.problem.painted;
    this.heading.textContent = this.problem.painted ? "Histograms" : "Clouds";
  }

  protected override remember() {
    super.remember();
    this.controls.preset.value = (this.settings.x || this.settings.y ? "" : this.settings.preset) as never;
  }

  /** Shows an example; "" is the first of the mode. */
  preset(name: string) {
    Object.assign(this.settings, { preset: name, x: "", y: "", at: "" });
    this.restore();
  }

  /** The points changed. */
  private edited() {
    this.problem.store();
    this.change();
  }

  /** The problem changed. */
  private change() {
    this.problem.changed();
    this.sinceEdit = performance.now();
    this.measured = false;
    this.look();
  }

  /** Something that is shown changed. */
  private look() {
    this.pending = true;
    const entropic = this.settings.solver === "entropic";
    this.controls.eps.enabled = this.controls.rho.enabled = this.runs.enabled = entropic; // an exact plan takes no sweeps
    this.remember();
  }

  private point(p: Pointed, how: "pointer" | "keys" = "pointer") {
    if (p.row === this.map.pointed.row && p.column === this.map.pointed.column) return;
    this.map.pointed = this.clouds.pointed = this.axes.pointed = p;
    const both = p.row >= 0 && p.column >= 0;
    this.settings.at = both ? `${p.row}.${p.column}` : "";
    if (!both && how === "pointer" && this.solver && !this.problem.fault) this.status.say("");
    this.look();
  }

  /** Returns to the plan after one sweep from zero potentials. */
  restartSweeps() {
    this.runs.play(false);
    this.settings.sweeps = 1;
    this.problem.restart();
    this.change();
  }

  /** One sweep more. */
  step() {
    this.settings.sweeps = this.settings.sweeps === 0 ? 1 : this.settings.sweeps + 1;
    this.change();
  }

  converge() {
    this.runs.play(false);
    this.settings.sweeps = 0;
    this.change();
  }

  /** Whether another sweep would change nothing. */
  private get converged(): boolean {
    return this.settings.sweeps > 0 && (this.problem.plan?.marginalError ?? 1) <= 1e-9;
  }

  protected work(solver: Solver, at: number): boolean {
    if (this.runs.due(at)) {
      if (this.converged) this.runs.play(false);
      else this.step();
    }
    const news = this.problem.work(solver) || this.pending;
    this.pending = false;
    if (news || this.measured || this.dragging || performance.now() - this.sinceEdit < 250) return news;
    this.measure(solver);
    return true;
  }

  /** The divergence takes three plans, so it waits until the pointer rests. */
  private measure(solver: Solver) {
    this.measured = true;
    const s = this.settings;
    let text = "–";
    if (s.solver === "entropic" && this.problem.plan) {
      try {
        text = figure(solver.divergence({ ...this.problem.clouds(), rho: 0, sweeps: 600, tolerance: 1e-6 }));
      } catch {
        text = "raise ε";
      }
    }
    this.figures.set("divergence", text);
  }

  protected pictures() { return [this.problem.painted ? this.axes : this.clouds, this.map]; }

  protected show() {
    const { plan, n, m, fault } = this.problem;
    this.map.shown = { n, m, plan: plan && plan.plan.length === n * m ? plan.plan : null, f: plan?.f, g: plan?.g,
      rowColor: (_: number, t: Theme) => t.classes[0], columnColor: (_: number, t: Theme) => t.classes[1] };
    this.trace.values = this.problem.trace;
    for (const p of [...this.pictures(), this.trace]) p.paint();
    if (fault) this.status.say(fault, true);
    else if (this.solver) this.status.clearFault();
    const share = ((this.map.mass ?? 0) * 100) / (plan?.rows[this.map.pointed.row] || 1);
    this.status.point(this.map.words() && `${this.map.words()}, ${figure(share)} % of the row`);
    const mass = plan ? plan.rows.reduce((a, b) => a + b, 0) : NaN;
    this.figures.set("cost", plan ? figure(plan.linear) : "–");
    this.figures.set("error", plan ? plan.marginalError.toExponential(1) : "–");
    this.figures.set("sweeps", this.settings.solver === "exact" ? "none" : String(this.problem.done));
    this.figures.set("gap", plan ? Math.abs(plan.primal - plan.dual).toExponential(1) : "–");
    this.figures.set("mass", plan ? figure(mass) : "–");
  }
}

new TransportPage();
