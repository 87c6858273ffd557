// The problem of the transport page, its plan, and the work to keep the plan up to date.

import type { Clouds, Plan, Solver } from "../shell/solver";
import { clamp, pack, unpack } from "../shell/state";
import { axes, clouds } from "./presets";

/** The state in the address. README.md describes the keys. */
export const defaults = {
  mode: "clouds", // or "axes"
  preset: "moons",
  x: "", // packed, where the clouds or histograms are not the preset's
  y: "",
  cost: "squared",
  solver: "entropic",
  eps: 0.01,
  rho: 0, // exact marginals
  sweeps: 0, // until converged
  t: 0,
  bary: false,
  at: "", // row.column that is pointed at
};

export type Settings = typeof defaults;

const costs: Record<string, number> = { cosine: 0, squared: 1, euclidean: 2 };
const tolerance = 1e-9;
const most = 20000; // sweeps after which it stops, with the error that is left
const budget = 7; // milliseconds of a frame for sweeps
const mostBins = 96; // of a histogram
export const mostPoints = 60; // of a cloud

export class Problem {
  x: number[] = []; // coordinates of clouds, or heights of histograms
  y: number[] = [];
  plan: Plan | null = null;
  trace: number[] = [];
  done = 0; // sweeps
  settled = false; // nothing to do until something changes
  z: Float64Array | null = null; // points of the barycenter
  moved = Infinity; // by the last step to the barycenter
  fault = "";

  constructor(readonly settings: Settings) {
    this.load();
  }

  get painted() { return this.settings.mode === "axes"; }
  get n() { return this.painted ? this.x.length : this.x.length / 2; }
  get m() { return this.painted ? this.y.length : this.y.length / 2; }

  /** Takes the clouds of the settings. */
  load() {
    const s = this.settings;
    const set = this.painted ? axes : clouds;
    if (!Object.hasOwn(set, s.preset)) s.preset = Object.keys(set)[0];
    [s.sweeps, s.t] = [Math.round(clamp(s.sweeps, 0, most)), clamp(s.t, 0, 1)];
    const of = (text: string, preset: number[]) => {
      const numbers = unpack(text);
      const fits = this.painted ? numbers.length <= mostBins && Math.max(...numbers) > 0
        : numbers.length % 2 === 0 && numbers.length <= 2 * mostPoints;
      return numbers.length > 0 && fits ? numbers : [...preset];
    };
    this.x = of(s.x, set[s.preset].x);
    this.y = of(s.y, set[s.preset].y);
    if (this.painted && this.x.length !== this.y.length) [this.x, this.y] = [[...set[s.preset].x], [...set[s.preset].y]];
    this.restart();
  }

  /** Puts changed clouds into the settings. */
  store() {
    this.settings.x = pack(this.x);
    this.settings.y = pack(this.y);
  }

  /** Forgets the plan: the next one starts from zero potentials. */
  restart() {
    this.plan = null;
    this.z = null;
    this.changed();
  }

  /** The problem is another one: its plan starts from the potentials of the last one, where they fit. */
  changed() {
    this.settled = false;
    this.done = 0;
    this.trace = [];
    this.moved = Infinity;
  }

  /** What the solver takes. */
  clouds(): Clouds {
    const s = this.settings;
    const common = { cost: Object.hasOwn(costs, s.cost) ? costs[s.cost] : 1, exact: s.solver === "exact", center: s.cost === "cosine" ? 0.5 : 0,
      epsilon: s.eps, rho: s.rho, sweeps: most, tolerance };
    if (!this.painted) return { ...common, x: Float64Array.from(this.x), y: Float64Array.from(this.y) };
    const place = Float64Array.from({ length: 2 * this.n }, (_, k) => (k % 2 ? common.center : (k / 2 + 0.5) / this.n));
    return { ...common, x: place, y: place, mu: masses(this.x), nu: masses(this.y) };
  }

  /** Works for a part of a frame; says whether something changed. */
  work(solver: Solver): boolean {
    const baryDone = !this.settings.bary || this.moved < 2e-4;
    if (this.settled && baryDone) return false;
    try {
      if (!this.settled) this.solve(solver);
      if (this.settings.bary && this.settled && !baryDone) this.toBarycenter(solver);
      this.fault = "";
    } catch (error) {
      this.fault = (error as Error).message;
      this.settled = true;
      this.moved = 0;
      this.plan = null;
    }
    return true;
  }

  private solve(solver: Solver) {
    const p = this.clouds();
    const only = this.settings.sweeps;
    if (p.exact || only > 0) {
      this.plan = solver.transport({ ...p, sweeps: Math.max(1, only) });
      this.trace = [...this.plan.trace];
      this.done = this.plan.sweeps;
      this.settled = true;
      return;
    }
    const until = performance.now() + budget;
    do {
      const start = this.plan && this.plan.f.length === this.n ? this.plan.f : undefined;
      // A step at a time while it is cheap, so that the picture keeps up with the pointer.
      this.plan = solver.transport({ ...p, sweeps: this.done < 40 ? 10 : 40, start });
      this.done += this.plan.sweeps;
      for (const e of this.plan.trace) this.trace.push(e);
      this.settled = this.plan.marginalError <= tolerance || this.done >= most;
    } while (!this.settled && performance.now() < until);
  }

  private toBarycenter(solver: Solver) {
    const k = Math.min(this.n, this.m);
    const p = this.clouds();
    if (this.z?.length !== 2 * k)
      this.z = Float64Array.from({ length: 2 * k }, (_, i) => (p.x[2 * Math.floor((Math.floor(i / 2) * this.n) / k) + (i % 2)] +
        p.y[2 * Math.floor((Math.floor(i / 2) * this.m) / k) + (i % 2)]) / 2);
    const next = solver.barycenter({ ...p, exact: true }, this.z, this.settings.t, 1);
    this.moved = next.reduce((far, v, i) => Math.max(far, Math.abs(v - this.z![i])), 0);
    this.z = next;
  }
}

/** Heights as masses that sum to 1. */
export function masses(heights: number[]): Float64Array {
  const sum = heights.reduce((a, b) => a + b, 0);
  return Float64Array.from(heights, (h) => h / sum);
}
