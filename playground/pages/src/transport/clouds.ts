// Two clouds in the plane: circles are the first, squares the second. Points are dragged, added and removed.

import { keyOf } from "../../../viewer/src/dom";
import type { Theme } from "../../../viewer/src/theme";
import { Picture } from "../shell/shell";
import { snap } from "../shell/state";
import { drawFlows, mix } from "./flows";
import type { Pointed } from "./map";
import { mostPoints, type Problem } from "./problem";

export type Tool = "move" | "x" | "y" | "remove";

/** A point of a cloud. */
export interface Grip {
  cloud: "x" | "y";
  index: number;
}

const margin = 16;
const reach = 22; // pixels from a point that count as on it

export interface Actions {
  changed(): void; // points moved, came or went
  dragging(on: boolean): void;
  point(p: Pointed): void;
  say(text: string): void;
}

export class CloudsPicture extends Picture {
  tool: Tool = "move";
  pointed: Pointed = { row: -1, column: -1 };
  grip: Grip | null = null; // chosen by keys, or held by the pointer
  private held = -1; // the pointer's id
  private pressed: Grip | null = null; // which is removed if the press ends on it

  constructor(private readonly problem: Problem, private readonly actions: Actions) {
    super("two clouds of points. n chooses the next point, p the one before, arrow keys move it, a adds one " +
      "next to it, Delete removes it.", "clouds");
    const c = this.canvas;
    c.tabIndex = 0;
    c.setAttribute("role", "application");
    c.addEventListener("pointerdown", (e) => this.down(e));
    c.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"] as const) c.addEventListener(end, (e) => this.up(e));
    c.addEventListener("pointerleave", (e) => {
      if (this.held < 0 && e.pointerType === "mouse") this.actions.point({ row: -1, column: -1 });
    });
    c.addEventListener("touchstart", (e) => {
      const t = e.touches[0];
      const box = c.getBoundingClientRect();
      // A finger on a point drags it; elsewhere it scrolls the page.
      if (this.tool !== "move" || this.hit(t.clientX - box.left, t.clientY - box.top)) e.preventDefault();
    }, { passive: false });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  /** Chooses nothing: the points are others now. */
  forget() { this.grip = this.pressed = null; }

  private px(v: number) { return margin + v * (this.width - 2 * margin); }
  private py(v: number) { return this.height - margin - v * (this.height - 2 * margin); }

  /** The coordinates of a place, in [0, 1]. */
  private at(x: number, y: number): [number, number] {
    return [snap((x - margin) / (this.width - 2 * margin)), snap((this.height - margin - y) / (this.height - 2 * margin))];
  }

  private hit(x: number, y: number): Grip | null {
    let best: Grip | null = null;
    let least = reach ** 2;
    for (const cloud of ["x", "y"] as const) {
      const p = this.problem[cloud];
      for (let i = 0; i < p.length; i += 2) {
        const far = (this.px(p[i]) - x) ** 2 + (this.py(p[i + 1]) - y) ** 2;
        if (far < least) [least, best] = [far, { cloud, index: i / 2 }];
      }
    }
    return best;
  }

  private down(e: PointerEvent) {
    if (e.button) return;
    const [x, y] = this.place(e);
    const on = this.hit(x, y);
    this.pressed = this.tool === "remove" ? on : null;
    if (this.tool === "remove" || (this.tool === "move" && !on)) return;
    this.grip = this.tool === "move" ? on : this.add(this.tool, ...this.at(x, y));
    if (!this.grip) return;
    this.held = e.pointerId;
    this.canvas.setPointerCapture(e.pointerId);
    this.actions.dragging(true);
    this.show(this.grip);
  }

  private move(e: PointerEvent) {
    if (!e.buttons) this.up(e); // a menu or a dialog may take the release
    const [x, y] = this.place(e);
    if (this.held === e.pointerId && this.grip) {
      [this.problem[this.grip.cloud][2 * this.grip.index], this.problem[this.grip.cloud][2 * this.grip.index + 1]] = this.at(x, y);
      this.actions.changed();
    } else if (this.held < 0 && e.pointerType === "mouse") {
      const on = this.hit(x, y);
      this.canvas.style.cursor = on ? "grab" : this.tool === "x" || this.tool === "y" ? "copy" : "default";
      this.show(on);
    }
  }

  private up(e: PointerEvent) {
    if (e.type === "pointerup" && this.pressed) this.release(this.pressed, this.hit(...this.place(e)));
    this.pressed = null;
    if (this.held !== e.pointerId) return;
    this.held = -1;
    this.actions.dragging(false);
  }

  /** Removes the point that was pressed. Who leaves it before the press ends takes it back. */
  private release(from: Grip, on: Grip | null) {
    if (on?.cloud === from.cloud && on.index === from.index) this.remove(on);
  }

  private show(on: Grip | null) {
    this.actions.point({ row: on?.cloud === "x" ? on.index : -1, column: on?.cloud === "y" ? on.index : -1 });
  }

  /** Adds a point; null where the cloud is full. */
  add(cloud: "x" | "y", x: number, y: number): Grip | null {
    const p = this.problem[cloud];
    if (p.length >= 2 * mostPoints) {
      this.actions.say(`A cloud holds at most ${mostPoints} points.`);
      return null;
    }
    p.push(snap(x), snap(y));
    this.actions.changed();
    return { cloud, index: p.length / 2 - 1 };
  }

  remove(grip: Grip) {
    const p = this.problem[grip.cloud];
    if (p.length <= 2) return this.actions.say("A cloud keeps at least one point.");
    p.splice(2 * grip.index, 2);
    this.grip = null;
    this.show(null);
    this.actions.changed();
  }

  private key(e: KeyboardEvent) {
    const moves: Record<string, [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const key = keyOf(e);
    const by = moves[key];
    const step = e.shiftKey ? 0.1 : 0.02;
    const g = this.grip;
    if (key === "n" || key === "p") this.choose(key === "n" ? 1 : -1);
    else if (key === "Escape") this.choose(0);
    else if (!g) return;
    else if (by) {
      const p = this.problem[g.cloud];
      p[2 * g.index] = snap(p[2 * g.index] + by[0] * step);
      p[2 * g.index + 1] = snap(p[2 * g.index + 1] + by[1] * step);
      this.actions.changed();
      this.tell();
    } else if (key === "Delete" || key === "Backspace") this.remove(g);
    else if (key === "a") {
      const p = this.problem[g.cloud];
      this.grip = this.add(g.cloud, p[2 * g.index] + 0.04, p[2 * g.index + 1] + 0.04) ?? g;
      this.show(this.grip);
      this.tell();
    } else return;
    e.preventDefault();
  }

  /** Chooses the next point, the one before, or none. */
  private choose(by: number) {
    const { n, m } = this.problem;
    const now = !this.grip ? (by > 0 ? -1 : 0) : this.grip.cloud === "x" ? this.grip.index : n + this.grip.index;
    const next = (now + by + n + m) % (n + m);
    this.grip = by === 0 ? null : next < n ? { cloud: "x", index: next } : { cloud: "y", index: next - n };
    this.show(this.grip);
    this.tell();
  }

  private tell() {
    const g = this.grip;
    if (!g) return;
    const p = this.problem[g.cloud];
    this.actions.say(`${g.cloud === "x" ? "circle" : "square"} ${g.index + 1} at ${p[2 * g.index].toFixed(2)}, ${p[2 * g.index + 1].toFixed(2)}`);
  }

  protected draw(theme: Theme) {
    const { x, y, plan, m, n, settings } = this.problem;
    const [blue, orange] = theme.classes;
    const pen = this.pen;
    if (settings.cost === "cosine") this.cross(theme);
    const fits = plan && plan.plan.length === n * m;
    const line = (i: number, j: number) => {
      pen.moveTo(this.px(x[2 * i]), this.py(x[2 * i + 1]));
      pen.lineTo(this.px(y[2 * j]), this.py(y[2 * j + 1]));
    };
    const chosen = this.pointed.row >= 0 || this.pointed.column >= 0;
    if (fits) {
      drawFlows(pen, plan.plan, m, chosen ? theme.line : theme.faint, line);
      if (chosen) drawFlows(pen, plan.plan, m, theme.mark, line, this.pointed);
    }
    this.cloud(x, blue, false, plan && fits ? plan.rows : null, n);
    this.cloud(y, orange, true, plan && fits ? plan.columns : null, m);
    if (fits && settings.t > 0) this.between(plan.plan, mix(blue, orange, settings.t), theme);
    if (settings.bary && this.problem.z) this.barycenter(theme);
    this.ring(theme);
  }

  /** The origin, from which the cosine cost takes its angles. */
  private cross(theme: Theme) {
    const pen = this.pen;
    pen.strokeStyle = theme.faint;
    pen.beginPath();
    pen.moveTo(this.px(0.5) - 8, this.py(0.5));
    pen.lineTo(this.px(0.5) + 8, this.py(0.5));
    pen.moveTo(this.px(0.5), this.py(0.5) - 8);
    pen.lineTo(this.px(0.5), this.py(0.5) + 8);
    pen.stroke();
  }

  /** Points; with relaxed marginals the fill shows how much of a point's mass the plan takes. */
  private cloud(p: number[], color: string, square: boolean, moved: Float64Array | null, n: number) {
    const pen = this.pen;
    const r = Math.max(4.5, Math.min(8, this.width / 60));
    pen.fillStyle = pen.strokeStyle = color;
    pen.lineWidth = 1.6;
    for (let i = 0; i < n; i++) {
      const [cx, cy] = [this.px(p[2 * i]), this.py(p[2 * i + 1])];
      pen.beginPath();
      if (square) pen.rect(cx - r * 0.9, cy - r * 0.9, 1.8 * r, 1.8 * r);
      else pen.arc(cx, cy, r, 0, 2 * Math.PI);
      pen.globalAlpha = moved ? Math.min(1, Math.max(0.08, moved[i] * n)) : 1;
      pen.fill();
      pen.globalAlpha = 1;
      pen.stroke();
    }
  }

  /** The mass on its way: each entry of the plan at its place at time t, its area by its mass. */
  private between(plan: Float64Array, color: string, theme: Theme) {
    const { x, y, m, n, settings: { t } } = this.problem;
    const pen = this.pen;
    const r = Math.max(4.5, Math.min(8, this.width / 60)) * Math.sqrt(Math.max(n, m));
    pen.beginPath();
    for (let k = 0; k < plan.length; k++) {
      if (plan[k] * n * m < 0.02) continue;
      const [i, j] = [Math.floor(k / m), k % m];
      const cx = this.px((1 - t) * x[2 * i] + t * y[2 * j]);
      const cy = this.py((1 - t) * x[2 * i + 1] + t * y[2 * j + 1]);
      const radius = r * Math.sqrt(plan[k]);
      pen.moveTo(cx + radius, cy);
      pen.arc(cx, cy, radius, 0, 2 * Math.PI);
    }
    pen.fillStyle = color;
    pen.fill();
    pen.strokeStyle = theme.panel;
    pen.lineWidth = 0.5;
    pen.stroke();
  }

  private barycenter(theme: Theme) {
    const z = this.problem.z!;
    const pen = this.pen;
    pen.fillStyle = theme.classes[2];
    pen.strokeStyle = theme.panel;
    pen.lineWidth = 1;
    for (let i = 0; i < z.length; i += 2) {
      const [cx, cy] = [this.px(z[i]), this.py(z[i + 1])];
      pen.beginPath();
      pen.moveTo(cx, cy - 7);
      pen.lineTo(cx + 7, cy);
      pen.lineTo(cx, cy + 7);
      pen.lineTo(cx - 7, cy);
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  }

  private ring(theme: Theme) {
    const pen = this.pen;
    pen.strokeStyle = theme.mark;
    pen.lineWidth = 2.5;
    const { x, y } = this.problem;
    for (const [p, k] of [[x, this.pointed.row], [y, this.pointed.column]] as const) {
      if (k < 0 || 2 * k >= p.length) continue;
      pen.beginPath();
      pen.arc(this.px(p[2 * k]), this.py(p[2 * k + 1]), 12, 0, 2 * Math.PI);
      pen.stroke();
    }
  }
}
