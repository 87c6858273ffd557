import { keyOf } from "./dom";
import { Kind, Panel, Pointed, Scene, figure, formula, make, set } from "./panel";
import { Moment, Run, Task, sameNodes } from "./recording";
import { bins, diverging, sequential } from "./theme";

/** The maps: how they are chosen, and their titles. */
export const kinds: [Kind, string, string][] = [
  ["z", "embeddings", "π_Z, between the embeddings"],
  ["g", "graphs", "π_G, between the graphs"],
  ["t", "teacher", "the teacher's plan"],
  ["z-g", "embeddings − graphs", "π_Z − π_G"],
  ["z-t", "embeddings − teacher", "π_Z − the teacher's plan"],
  ["pin", "now − pinned frame", "π_Z now − π_Z of the pinned frame"],
  ["ab", "this run − other run", "π_Z of this run − π_Z of the other"],
];

/** A map's values, or the reason why there are none. */
export function mapOf(s: Scene): Float64Array | string {
  const now = s.now;
  if (!now) return "no frame of this task";
  const z = now.frame.plan?.values;
  const minus = (a: Float64Array | undefined, b: Float64Array | undefined, why: string) =>
    a && b ? a.map((v, i) => v - b[i]) : why;
  switch (s.kind) {
    case "z":
      return z ?? "no plan in this frame";
    case "g":
      return now.task.graph?.values ?? "no plan between graphs";
    case "t":
      return now.task.teacher?.values ?? "no teacher in this task";
    case "z-g":
      return minus(z, now.task.graph?.values, "no plan between graphs");
    case "z-t":
      return minus(z, now.task.teacher?.values, "no teacher in this task");
    case "pin":
      return from(z, now.task, s.pinned, "pin a frame of this task");
    case "ab":
      return from(z, now.task, s.other, "no other run with these nodes");
  }
}

function from(z: Float64Array | undefined, task: Task, other: Moment | null, why: string) {
  const before = other?.frame.plan?.values;
  if (!z || !before || !other || !sameNodes(task, other.task)) return why;
  return z.map((v, i) => v - before[i]);
}

const left = 22;
const top = 34;
const foot = 42;

/** The map of a plan: a row for each node of view 1, a column for each node of view 2, by class. */
export class PlanPanel extends Panel {
  private readonly cells = make("g", { "shape-rendering": "crispEdges" });
  private readonly frame = make("g");
  private readonly cursor = make("g", { fill: "none", "pointer-events": "none" });
  private paths: SVGPathElement[] = [];
  private n = 0;
  private side = 0;

  constructor(actions: Panel["actions"]) {
    super("plan", actions);
    this.body.append(this.cells, this.frame, this.cursor);
    set(this.svg, { tabindex: 0, role: "application", "aria-roledescription": "map of a plan" });
    const at = (e: PointerEvent) => this.actions.point(this.entry(e));
    this.svg.addEventListener("pointermove", at);
    this.svg.addEventListener("pointerdown", at);
    this.svg.addEventListener("pointerleave", (e) => {
      if (e.pointerType === "mouse") this.actions.point(null);
    });
    this.svg.addEventListener("keydown", (e) => this.key(e));
  }

  override has(run: Run) {
    return run.tasks.some((t) => t.graph || t.frames.some((f) => f.plan));
  }

  protected override heightFor(width: number) {
    return width - left - 8 + top + foot;
  }

  private entry(e: PointerEvent): Pointed | null {
    const [x, y] = this.place(e);
    const column = Math.floor(((x - left) / this.side) * this.n);
    const row = Math.floor(((y - top) / this.side) * this.n);
    return row >= 0 && row < this.n && column >= 0 && column < this.n ? { row, column } : null;
  }

  private key(e: KeyboardEvent) {
    const move: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    };
    const key = keyOf(e);
    if (key === "Escape") return this.actions.point(null);
    const by = move[key];
    if (!by || !this.n) return;
    e.preventDefault();
    e.stopPropagation();
    const p = this.actions.pointed() ?? { row: by[0] > 0 ? -1 : 0, column: by[1] > 0 ? -1 : 0 };
    const inside = (v: number) => Math.min(this.n - 1, Math.max(0, v));
    this.actions.point({ row: inside(p.row + by[0]), column: inside(p.column + by[1]) });
  }

  draw(s: Scene) {
    const name = kinds.find(([kind]) => kind === s.kind)![2];
    const values = mapOf(s);
    if (typeof values === "string") {
      this.n = 0;
      this.title(name, s.theme, `${name}: ${values}`);
      this.paths = [];
      this.cells.replaceChildren();
      this.cursor.replaceChildren();
      this.frame.replaceChildren(make("text", { x: this.width / 2, y: this.height / 2, fill: s.theme.faint,
        "font-size": 12, "text-anchor": "middle" }, values));
      return;
    }
    const task = s.now!.task;
    this.n = task.nodes.length;
    this.side = this.width - left - 8;
    this.title(name, s.theme, `${name}, ${this.n} nodes by class. Arrow keys move from entry to entry.`);
    const difference = !["z", "g", "t"].includes(s.kind);
    const limit = this.limit(values, difference, s);
    this.fill(values, difference, limit, s);
    this.decorate(difference, limit, s);
    this.mark(s);
  }

  /** One scale for all frames of a task. That of a difference follows the frame, and says so by its legend. */
  private limit(values: Float64Array, difference: boolean, s: Scene): number {
    if (!difference) return Math.max(s.now!.task.most, s.other?.task.most ?? 0) || 1 / this.n ** 2;
    return values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1 / this.n ** 2;
  }

  private fill(values: Float64Array, difference: boolean, limit: number, s: Scene) {
    const ramp = difference ? diverging(s.theme) : sequential();
    const cell = this.side / this.n;
    const shapes = new Array<string>(bins).fill("");
    values.forEach((v, k) => {
      const root = Math.sign(v) * Math.sqrt(Math.abs(v) / limit); // small entries show, too
      const x = difference ? (root + 1) / 2 : root;
      const bin = Math.min(bins - 1, Math.max(0, Math.round(x * (bins - 1))));
      const column = k % this.n;
      const row = (k - column) / this.n;
      const round = (y: number) => Math.round(y * 100) / 100;
      shapes[bin] += `M${round(left + column * cell)},${round(top + row * cell)}h${round(cell)}v${round(cell)}h${-round(cell)}z`;
    });
    if (!this.paths.length) {
      this.paths = ramp.map(() => make("path"));
      this.cells.replaceChildren(...this.paths);
    }
    this.paths.forEach((p, i) => set(p, { d: shapes[i], fill: ramp[i] }));
  }

  /** Bands of classes at the edges, and the legend. */
  private decorate(difference: boolean, limit: number, s: Scene) {
    const { theme } = s;
    const task = s.now!.task;
    const cell = this.side / this.n;
    const parts: SVGElement[] = [];
    const classes = [...new Set(task.classes)];
    task.classes.forEach((c, i) => {
      const fill = theme.classes[classes.indexOf(c) % theme.classes.length];
      parts.push(make("rect", { x: left - 8, y: top + i * cell, width: 5, height: cell + 0.3, fill }));
      parts.push(make("rect", { x: left + i * cell, y: top - 8, width: cell + 0.3, height: 5, fill }));
    });
    const y = top + this.side + 12;
    const ramp = difference ? diverging(theme) : sequential();
    const wide = Math.min(150, this.side * 0.42);
    ramp.forEach((fill, i) =>
      parts.push(make("rect", { x: left + (i * wide) / bins, y, width: wide / bins + 0.5, height: 8, fill })),
    );
    const text = { fill: theme.faint, "font-size": 11, y: y + 20 };
    const uniform = this.n ** 2;
    parts.push(make("text", { ...text, x: left }, difference ? figure(-limit * uniform) : "0"));
    parts.push(make("text", { ...text, x: left + wide, "text-anchor": "end" },
      (difference ? "+" : "") + figure(limit * uniform)));
    const one = 1 / uniform / limit;
    if (!difference && one < 0.64 && one > 0.02)
      parts.push(make("text", { ...text, x: left + wide * Math.sqrt(one), "text-anchor": "middle" }, "1"));
    parts.push(make("text", { ...text, x: this.width - 8, y: y + 8, "text-anchor": "end" },
      "mass ÷ uniform, √ scale"));
    parts.push(make("text", { x: 0, y: 0, fill: theme.faint, "font-size": 11, "text-anchor": "middle",
      transform: `translate(10 ${top + this.side / 2}) rotate(-90)` }, "view 1"));
    parts.push(make("text", { x: this.width - 8, y: 18, fill: theme.faint, "font-size": 11, "text-anchor": "end" },
      "view 2 →"));
    const error = s.kind === "g" ? task.graph?.error : s.kind === "t" ? task.teacher?.error : s.now!.frame.plan?.error;
    parts.push(formula(`marginal error ${figure(error)}`, { ...text, x: this.width - 8, "text-anchor": "end" }));
    this.frame.replaceChildren(...parts);
  }

  private mark(s: Scene) {
    this.cursor.replaceChildren();
    const p = s.pointed;
    if (!p || p.row >= this.n || p.column >= this.n) return;
    const cell = this.side / this.n;
    const [x, y] = [left + p.column * cell, top + p.row * cell];
    this.cursor.append(
      ...this.outlined(s, { x: left, y, width: this.side, height: cell }, 1),
      ...this.outlined(s, { x, y: top, width: cell, height: this.side }, 1),
      ...this.outlined(s, { x, y, width: cell, height: cell }, 2.5),
    );
  }

  /** A rectangle in the color of marks. A wider one below it parts it from colors of the map that are near its own. */
  private outlined(s: Scene, place: Record<string, number>, width: number): SVGRectElement[] {
    return [make("rect", { ...place, stroke: s.theme.panel, "stroke-width": width + 2 }),
      make("rect", { ...place, stroke: s.theme.mark, "stroke-width": width })];
  }
}
