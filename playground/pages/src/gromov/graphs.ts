// Two graphs next to each other, with the plan between their nodes.

import { keyOf } from "../../../viewer/src/dom";
import type { Theme } from "../../../viewer/src/theme";
import { outline } from "../../../viewer/src/theme";
import { Outline, Picture } from "../shell/shell";
import { snap } from "../shell/state";
import { drawFlows } from "../transport/flows";
import type { Pointed } from "../transport/map";
import { type Drawn, most, palette } from "./presets";

export type Tool = "move" | "edge" | "color" | "add" | "remove";
export type Side = "a" | "b";
export interface Grip {
  side: Side;
  node: number;
}

export interface Scene {
  a: Drawn;
  b: Drawn;
  plan: Float64Array | null;
  truth: number[] | null;
}

export interface Actions {
  changed(shape: boolean): void; // shape: nodes came or went
  dragging(on: boolean): void;
  point(p: Pointed): void;
  say(text: string): void;
}

const reach = 24;
const slip = 4; // pixels that a tap may move
const margin = 26;

export class GraphsPicture extends Picture {
  tool: Tool = "move";
  pointed: Pointed = { row: -1, column: -1 };
  grip: Grip | null = null;
  private first: Grip | null = null; // the first end of an edge
  private held = -1;
  private pressed: [number, number] | null = null; // where a press began that acts when it ends
  private lifted: Grip | null = null; // the node that the next tap places

  constructor(private readonly scene: Scene, private readonly actions: Actions) {
    super("two graphs, A on the left, B on the right. n chooses the next node, p the one before, arrow keys move it, a adds " +
      "one next to it, c changes its color, e begins an edge and ends it at another node, Delete removes the node.", "graphs");
    const c = this.canvas;
    c.tabIndex = 0;
    c.setAttribute("role", "application");
    c.addEventListener("pointerdown", (e) => this.down(e));
    c.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"] as const) c.addEventListener(end, (e) => this.up(e));
    c.addEventListener("pointerleave", (e) => {
      if (this.held < 0 && e.pointerType === "mouse") this.show(null);
    });
    c.addEventListener("touchstart", (e) => {
      const box = c.getBoundingClientRect();
      if (this.tool !== "move" || this.hit(e.touches[0].clientX - box.left, e.touches[0].clientY - box.top)) e.preventDefault();
    }, { passive: false });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  /** Changes what the pointer does. */
  take(tool: Tool) {
    this.tool = tool;
    this.first = this.lifted = null; // what another tool was to end
  }

  /** Chooses nothing: the graphs are others now. */
  forget() { this.grip = this.first = this.pressed = this.lifted = null; }

  private sideAt(x: number): Side { return x < this.width / 2 ? "a" : "b"; }

  private px(side: Side, v: number) {
    const half = this.width / 2;
    return (side === "a" ? 0 : half) + margin + v * (half - 2 * margin);
  }
  private py(v: number) { return this.height - margin - v * (this.height - 2 * margin); }

  private at(side: Side, x: number, y: number): [number, number] {
    const half = this.width / 2;
    return [snap((x - (side === "a" ? 0 : half) - margin) / (half - 2 * margin)), snap((this.height - margin - y) / (this.height - 2 * margin))];
  }

  private hit(x: number, y: number): Grip | null {
    let best: Grip | null = null;
    let least = reach ** 2;
    for (const side of ["a", "b"] as const)
      this.scene[side].colors.forEach((_, node) => {
        const p = this.scene[side].points;
        const far = (this.px(side, p[2 * node]) - x) ** 2 + (this.py(p[2 * node + 1]) - y) ** 2;
        if (far < least) [least, best] = [far, { side, node }];
      });
    return best;
  }

  private down(e: PointerEvent) {
    if (e.button) return;
    const [x, y] = this.place(e);
    const on = this.hit(x, y);
    if (this.tool === "add") return void this.add(this.sideAt(x), ...this.at(this.sideAt(x), x, y));
    this.pressed = [x, y];
    if (this.tool !== "move" || !on) return;
    this.grip = on;
    this.held = e.pointerId;
    this.canvas.setPointerCapture(e.pointerId);
    this.actions.dragging(true);
    this.show(on);
  }

  private move(e: PointerEvent) {
    if (!e.buttons) this.up(e); // a menu or a dialog may take the release
    const [x, y] = this.place(e);
    const g = this.grip;
    if (this.held === e.pointerId && g) {
      if (this.pressed && Math.hypot(x - this.pressed[0], y - this.pressed[1]) <= slip) return;
      this.pressed = this.lifted = null; // a drag, not a tap
      this.put(g, ...this.at(g.side, x, y));
    } else if (this.held < 0 && e.pointerType === "mouse") {
      const on = this.hit(x, y);
      this.canvas.style.cursor = this.tool === "add" ? "copy" : on ? (this.tool === "move" ? "grab" : "pointer") : "default";
      this.show(on);
    }
  }

  private up(e: PointerEvent) {
    if (e.type === "pointerup") this.release(e);
    this.pressed = null;
    if (this.held !== e.pointerId) return;
    this.held = -1;
    this.actions.dragging(false);
  }

  /** What a press does when it ends: who leaves the node before that takes it back. */
  private release(e: PointerEvent) {
    if (!this.pressed) return;
    const to = this.place(e);
    const on = this.hit(...to);
    const from = this.hit(...this.pressed);
    if (this.tool === "move") return this.tap(on, this.pressed, to);
    if (!on || on.side !== from?.side || on.node !== from.node) return;
    if (this.tool === "color") this.recolor(on);
    else if (this.tool === "remove") this.remove(on);
    else this.link(on);
  }

  /** Moves a node without a drag: a tap lifts it, and the next tap on its side places it. */
  private tap(on: Grip | null, from: [number, number], to: [number, number]) {
    const g = this.lifted;
    this.lifted = null;
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) > slip) return; // a drag
    if (on) {
      this.lifted = on;
      this.actions.say(`${this.words(on)}: drag it, or press where it is to go.`);
    } else if (g && g.side === this.sideAt(to[0])) {
      this.put(g, ...this.at(g.side, ...to));
      this.grip = g;
      this.tell();
    }
  }

  private show(on: Grip | null) {
    this.actions.point({ row: on?.side === "a" ? on.node : -1, column: on?.side === "b" ? on.node : -1 });
  }

  private recolor(g: Grip) {
    const colors = this.scene[g.side].colors;
    colors[g.node] = (colors[g.node] + 1) % palette;
    this.actions.changed(false);
    this.actions.say(`${g.side.toUpperCase()} ${g.node + 1} has color ${colors[g.node] + 1}`);
  }

  /** The first node of an edge, or the second: then the edge comes or goes. */
  private link(g: Grip) {
    const from = this.first;
    if (!from || from.side !== g.side) {
      this.first = g;
      this.actions.say(`Edge from ${g.side.toUpperCase()} ${g.node + 1}: choose the other end.`);
      return this.paint();
    }
    this.first = null;
    if (from.node === g.node) return this.paint();
    const edges = this.scene[g.side].edges;
    const at = edges.findIndex(([i, j]) => (i === from.node && j === g.node) || (j === from.node && i === g.node));
    if (at >= 0) edges.splice(at, 1);
    else edges.push([from.node, g.node]);
    this.actions.changed(false);
    this.actions.say(`${g.side.toUpperCase()} ${from.node + 1} and ${g.node + 1} are ${at >= 0 ? "no longer " : ""}joined`);
  }

  /** Adds a node; null where the graph is full. */
  private add(side: Side, x: number, y: number): Grip | null {
    const g = this.scene[side];
    if (g.colors.length >= most) {
      this.actions.say(`A graph holds at most ${most} nodes.`);
      return null;
    }
    g.points.push(x, y);
    g.colors.push(0);
    this.actions.changed(true);
    return { side, node: g.colors.length - 1 };
  }

  /** Adds a node next to another, toward the middle, so that both show. */
  private addNextTo(g: Grip) {
    const [x, y] = this.whereIs(g);
    const inward = (v: number) => snap(v > 0.5 ? v - 0.12 : v + 0.12);
    const added = this.add(g.side, inward(x), inward(y));
    if (!added) return;
    this.grip = added;
    this.show(added);
    this.tell();
  }

  private whereIs(g: Grip): [number, number] {
    const p = this.scene[g.side].points;
    return [p[2 * g.node], p[2 * g.node + 1]];
  }

  private put(g: Grip, x: number, y: number) {
    this.scene[g.side].points.splice(2 * g.node, 2, snap(x), snap(y));
    this.actions.changed(false);
  }

  private words(g: Grip): string {
    return `node ${g.node + 1} of ${g.side.toUpperCase()}`;
  }

  /** Says which node is chosen, and where it is. */
  private tell() {
    if (!this.grip) return;
    const [x, y] = this.whereIs(this.grip);
    this.actions.say(`${this.words(this.grip)} at ${x.toFixed(2)}, ${y.toFixed(2)}`);
  }

  private remove({ side, node }: Grip) {
    const g = this.scene[side];
    if (g.colors.length <= 1) return this.actions.say("A graph keeps at least one node.");
    g.points.splice(2 * node, 2);
    g.colors.splice(node, 1);
    g.edges = g.edges.filter((e) => !e.includes(node)).map(([i, j]) => [i - Number(i > node), j - Number(j > node)]);
    this.forget();
    this.show(null);
    this.actions.changed(true);
  }

  private key(e: KeyboardEvent) {
    const moves: Record<string, [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const key = keyOf(e);
    const g = this.grip;
    if (key === "n" || key === "p" || key === "Escape") this.choose(key === "n" ? 1 : key === "p" ? -1 : 0);
    else if (!g) {
      if (!["a", "c", "e"].includes(key)) return;
      this.actions.say("Choose a node first, with n or p."); // and not what the key c does elsewhere on the page
    } else if (moves[key]) {
      const [x, y] = this.whereIs(g);
      const step = e.shiftKey ? 0.1 : 0.03;
      this.put(g, x + moves[key][0] * step, y + moves[key][1] * step);
      this.tell();
    } else if (key === "a") this.addNextTo(g);
    else if (key === "c") this.recolor(g);
    else if (key === "e") this.link(g);
    else if (key === "Delete" || key === "Backspace") this.remove(g);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  private choose(by: number) {
    const n = this.scene.a.colors.length;
    const all = n + this.scene.b.colors.length;
    const now = !this.grip ? (by > 0 ? -1 : 0) : this.grip.side === "a" ? this.grip.node : n + this.grip.node;
    const next = (now + by + all) % all;
    this.grip = by === 0 ? null : next < n ? { side: "a", node: next } : { side: "b", node: next - n };
    this.lifted = null;
    if (by === 0 && this.first) {
      this.first = null;
      this.actions.say("");
      this.paint();
    }
    this.show(this.grip);
    this.tell();
  }

  protected draw(theme: Theme) {
    const { a, b, plan } = this.scene;
    const pen = this.pen;
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.setLineDash([3, 5]);
    pen.beginPath();
    pen.moveTo(this.width / 2, 8);
    pen.lineTo(this.width / 2, this.height - 8);
    pen.stroke();
    pen.setLineDash([]);
    const m = b.colors.length;
    const arrow = (i: number, j: number) => this.arrow(a, i, b, j);
    const chosen = this.pointed.row >= 0 || this.pointed.column >= 0;
    this.edges(a, "a", theme);
    this.edges(b, "b", theme);
    if (plan && plan.length === a.colors.length * m) {
      drawFlows(pen, plan, m, chosen ? theme.line : theme.classes[2], arrow);
      if (chosen) drawFlows(pen, plan, m, theme.mark, arrow, this.pointed);
    }
    this.nodes(a, "a", theme);
    this.nodes(b, "b", theme);
    pen.fillStyle = theme.faint;
    pen.font = "600 14px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillText("A", 9, 20);
    pen.fillText("B", this.width / 2 + 9, 20);
  }

  private arrow(a: Drawn, i: number, b: Drawn, j: number) {
    const [x1, y1] = [this.px("a", a.points[2 * i]), this.py(a.points[2 * i + 1])];
    const [x2, y2] = [this.px("b", b.points[2 * j]), this.py(b.points[2 * j + 1])];
    const far = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / far, (y2 - y1) / far];
    const [ex, ey] = [x2 - 13 * ux, y2 - 13 * uy];
    const pen = this.pen;
    pen.moveTo(x1, y1);
    pen.lineTo(ex, ey);
    pen.moveTo(ex - 8 * ux - 4 * uy, ey - 8 * uy + 4 * ux);
    pen.lineTo(ex, ey);
    pen.lineTo(ex - 8 * ux + 4 * uy, ey - 8 * uy - 4 * ux);
  }

  private edges(g: Drawn, side: Side, theme: Theme) {
    this.pen.strokeStyle = theme.text;
    this.pen.lineWidth = 2.5;
    this.pen.beginPath();
    for (const [i, j] of g.edges) {
      this.pen.moveTo(this.px(side, g.points[2 * i]), this.py(g.points[2 * i + 1]));
      this.pen.lineTo(this.px(side, g.points[2 * j]), this.py(g.points[2 * j + 1]));
    }
    this.pen.stroke();
  }

  /** Nodes differ in color and in shape, and carry their numbers. */
  private nodes(g: Drawn, side: Side, theme: Theme) {
    const pen = this.pen;
    const marked = side === "a" ? this.pointed.row : this.pointed.column;
    g.colors.forEach((c, k) => {
      const [x, y] = [this.px(side, g.points[2 * k]), this.py(g.points[2 * k + 1])];
      const shape = new Outline(outline(c, x, y, 11));
      pen.fillStyle = theme.classes[[0, 1, 3, 4][c]];
      pen.fill(shape);
      const first = this.first?.side === side && this.first.node === k;
      pen.strokeStyle = k === marked || first ? theme.mark : theme.panel;
      pen.lineWidth = k === marked || first ? 3.5 : 2;
      pen.stroke(shape);
      pen.fillStyle = c === 0 && !theme.dark ? "#ffffff" : "#101216";
      pen.font = "600 12px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.fillText(String(k + 1), x, y + 4);
    });
  }
}
