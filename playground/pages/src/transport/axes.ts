// Two histograms on one axis, painted with the pointer: μ stands above, ν hangs below, and mass flows from one to the other.

import { keyOf } from "../../../viewer/src/dom";
import type { Theme } from "../../../viewer/src/theme";
import { Picture } from "../shell/shell";
import { snap } from "../shell/state";
import type { Actions } from "./clouds";
import { drawFlows, mix } from "./flows";
import type { Pointed } from "./map";
import { Problem, masses } from "./problem";

const margin = 12;
const tall = 0.34; // of the picture, for a height of 1
const someMass = "A histogram keeps some mass.";

export class AxesPicture extends Picture {
  pointed: Pointed = { row: -1, column: -1 };
  private held = -1;
  private last: [number, number] | null = null; // bin and height of the last painted place
  private side: "x" | "y" = "x";
  private cursor = -1; // the bin that keys change

  constructor(private readonly problem: Problem, private readonly actions: Actions) {
    super("two histograms on one axis. Left and right arrows choose a bin, up and down change its height, Tab leaves; x " +
      "and y choose the upper or the lower histogram.", "axes");
    const c = this.canvas;
    c.tabIndex = 0;
    c.setAttribute("role", "application");
    c.addEventListener("pointerdown", (e) => this.down(e));
    c.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"] as const) c.addEventListener(end, (e) => this.up(e));
    c.addEventListener("pointerleave", () => {
      if (this.held < 0) this.actions.point({ row: -1, column: -1 });
    });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  /** Chooses nothing: the histograms are others now. */
  forget() {
    this.cursor = -1;
    this.last = null;
  }

  private get bins() { return this.problem.n; }
  private px(s: number) { return margin + s * (this.width - 2 * margin); }
  private base(side: "x" | "y") { return this.height * (side === "x" ? tall + 0.03 : 1 - tall - 0.03); }

  private bin(x: number) {
    return Math.min(this.bins - 1, Math.max(0, Math.floor(((x - margin) / (this.width - 2 * margin)) * this.bins)));
  }

  private heightAt(y: number): number {
    const up = this.side === "x" ? this.base("x") - y : y - this.base("y");
    return snap(up / (tall * this.height));
  }

  private down(e: PointerEvent) {
    if (e.button) return;
    const [x, y] = this.place(e);
    this.side = y < this.height / 2 ? "x" : "y";
    this.held = e.pointerId;
    this.canvas.setPointerCapture(e.pointerId);
    this.actions.dragging(true);
    this.last = null;
    this.brush(x, y);
  }

  private move(e: PointerEvent) {
    if (!e.buttons) this.up(e); // a menu or a dialog may take the release
    const [x, y] = this.place(e);
    if (this.held === e.pointerId) return this.brush(x, y);
    if (this.held >= 0 || e.pointerType !== "mouse") return;
    const over = y < this.height / 2;
    this.actions.point({ row: over ? this.bin(x) : -1, column: over ? -1 : this.bin(x) });
  }

  private up(e: PointerEvent) {
    if (this.held !== e.pointerId) return;
    this.held = -1;
    this.actions.dragging(false);
  }

  /** Paints the bins between the last place and this one. */
  private brush(x: number, y: number) {
    const [to, height] = [this.bin(x), this.heightAt(y)];
    const [from, before]: [number, number] = this.last ?? [to, height];
    let refused = false;
    for (let k = Math.min(from, to); k <= Math.max(from, to); k++)
      refused = !this.paintBin(k, from === to ? height : before + ((height - before) * (k - from)) / (to - from)) || refused;
    this.last = [to, height];
    if (refused) this.actions.say(someMass);
    this.actions.changed();
  }

  /** Paints a bin, unless that takes the histogram's last mass. It returns whether it did. */
  private paintBin(k: number, height: number): boolean {
    const h = this.problem[this.side];
    const old = h[k];
    h[k] = snap(height);
    if (h.some((v) => v > 0)) return true;
    h[k] = old;
    return false;
  }

  private key(e: KeyboardEvent) {
    const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };
    const lifts: Record<string, number> = { ArrowUp: 0.05, ArrowDown: -0.05 };
    const key = keyOf(e);
    const [by, lift] = [moves[key], lifts[key]];
    let painted = true;
    if (by) this.cursor = Math.min(this.bins - 1, Math.max(0, this.cursor + by));
    else if (lift && this.cursor >= 0) {
      painted = this.paintBin(this.cursor, this.problem[this.side][this.cursor] + lift);
      this.actions.changed();
    } else if (key === "x" || key === "y") this.side = key;
    else if (key === "Escape") this.cursor = -1;
    else return;
    e.preventDefault();
    this.actions.point({ row: this.side === "x" ? this.cursor : -1, column: this.side === "y" ? this.cursor : -1 });
    if (!painted) this.actions.say(someMass);
    else if (this.cursor >= 0)
      this.actions.say(`${this.side === "x" ? "upper" : "lower"} bin ${this.cursor + 1}: ${this.problem[this.side][this.cursor].toFixed(2)}`);
  }

  protected draw(theme: Theme) {
    const { x, y, plan, settings } = this.problem;
    const [blue, orange] = theme.classes;
    const pen = this.pen;
    const [top, bottom] = [this.base("x") + 2, this.base("y") - 2];
    const middle = (top + bottom) / 2;
    const line = (i: number, j: number) => {
      const [a, b] = [this.px((i + 0.5) / this.bins), this.px((j + 0.5) / this.bins)];
      pen.moveTo(a, top);
      pen.bezierCurveTo(a, middle, b, middle, b, bottom);
    };
    const chosen = this.pointed.row >= 0 || this.pointed.column >= 0;
    if (plan) {
      drawFlows(pen, plan.plan, this.bins, chosen ? theme.line : theme.faint, line);
      if (chosen) drawFlows(pen, plan.plan, this.bins, theme.mark, line, this.pointed);
    }
    this.histogram(x, this.base("x"), -1, blue);
    this.histogram(y, this.base("y"), 1, orange);
    if (plan && settings.t > 0) this.between(plan.plan, mix(blue, orange, settings.t));
    if (settings.bary && this.problem.z) this.barycenter(theme, middle);
    this.mark(theme);
    pen.fillStyle = theme.faint;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillText("paint μ here", margin, 20);
    pen.fillText("paint ν here", margin, this.height - 12);
  }

  private histogram(h: number[], base: number, up: number, color: string) {
    const wide = (this.width - 2 * margin) / this.bins;
    this.pen.fillStyle = color;
    h.forEach((v, k) => this.pen.fillRect(this.px(k / this.bins) + 0.5, base, wide - 1, up * (v * tall * this.height + 1)));
  }

  /** The mass of each bin at time t: an entry of the plan is split between its two nearest bins. */
  private moved(plan: Float64Array): number[] {
    const { t } = this.problem.settings;
    const h = new Array<number>(this.bins).fill(0);
    for (let k = 0; k < plan.length; k++) {
      const place = (1 - t) * Math.floor(k / this.bins) + t * (k % this.bins);
      const bin = Math.min(this.bins - 1, Math.floor(place));
      const share = place - bin;
      h[bin] += (1 - share) * plan[k];
      if (share > 0 && bin < this.bins - 1) h[bin + 1] += share * plan[k];
    }
    return h;
  }

  /** Draws the histogram at time t, between the two others. */
  private between(plan: Float64Array, color: string) {
    const { t } = this.problem.settings;
    const scale = (tall * this.height * 0.9) / Math.max(...masses(this.problem.x), ...masses(this.problem.y));
    const level = (1 - t) * this.base("x") + t * this.base("y");
    const wide = (this.width - 2 * margin) / this.bins;
    this.pen.fillStyle = color;
    this.moved(plan).forEach((v, k) =>
      this.pen.fillRect(this.px(k / this.bins) + 0.5, level, wide - 1, -Math.min(v * scale, tall * this.height)));
  }

  private barycenter(theme: Theme, level: number) {
    this.pen.fillStyle = theme.classes[2];
    for (let i = 0; i < this.problem.z!.length; i += 2) {
      const cx = this.px(this.problem.z![i]);
      this.pen.beginPath();
      this.pen.moveTo(cx, level - 7);
      this.pen.lineTo(cx + 5, level);
      this.pen.lineTo(cx, level + 7);
      this.pen.lineTo(cx - 5, level);
      this.pen.fill();
    }
  }

  private mark(theme: Theme) {
    this.pen.strokeStyle = theme.mark;
    this.pen.lineWidth = 2;
    const wide = (this.width - 2 * margin) / this.bins;
    const { row, column } = this.pointed;
    if (row >= 0) this.pen.strokeRect(this.px(row / this.bins), this.base("x"), wide, -this.problem.x[row] * tall * this.height - 2);
    if (column >= 0) this.pen.strokeRect(this.px(column / this.bins), this.base("y"), wide, this.problem.y[column] * tall * this.height + 2);
  }
}
