import { keyOf } from "./dom";
import { Panel, Scene, make, set } from "./panel";
import type { Run, Score } from "./recording";
import { bins, sequential } from "./theme";

const nameOf = (s: Score) => `${s.setting}, ${s.probe}`;

export function scoreNames(run: Run): string[] {
  return [...new Set(run.tasks.flatMap((t) => t.scores.map(nameOf)))];
}

/** The least accuracy of a matrix over all runs. */
export function lowest(runs: Run[], name: string): number {
  const scores = runs.flatMap((r) => r.tasks.flatMap((t) => t.scores)).filter((s) => nameOf(s) === name);
  return scores.flatMap((s) => s.accuracy).reduce<number>((low, v) => Math.min(low, v ?? 100), 100);
}

const left = 30;
const top = 46;
const least = 2; // pixels of a cell
const legible = 26; // pixels of a cell with its number

/** The performance matrix so far: a row for each task learned, a column for each task scored. */
export class MatrixPanel extends Panel {
  private scene: Scene | null = null;
  private active: [number, number] | null = null; // the cell of the keyboard
  private side = 1;

  constructor(actions: Panel["actions"]) {
    super("matrix", actions);
    set(this.svg, { tabindex: 0, role: "application", "aria-roledescription": "performance matrix" });
    // By place, not by target: while the film plays, cells are drawn again between press and release.
    this.svg.addEventListener("pointerup", (e) => {
      if (e.button) return;
      const [x, y] = this.place(e);
      const row = Math.floor((y - top) / this.side);
      const column = Math.floor((x - left) / this.side);
      if (row >= 0 && column >= 0 && column <= row && row < (this.scene?.run.head.tasks ?? 0)) this.go(row);
    });
    this.svg.addEventListener("pointerover", (e) => {
      const cell = (e.target as Element).closest("[data-row]");
      if (cell) this.actions.say(cell.getAttribute("aria-label")!);
    });
    this.svg.addEventListener("keydown", (e) => this.key(e));
    this.svg.addEventListener("blur", () => {
      this.active = null;
      if (this.scene) this.draw(this.scene);
    });
  }

  override has(run: Run) {
    return scoreNames(run).length > 0;
  }

  private key(e: KeyboardEvent) {
    const move: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    };
    const s = this.scene;
    if (!s || this.side < least) return;
    const key = keyOf(e);
    if (key === "Enter" && this.active) {
      e.preventDefault();
      return this.go(this.active[0]);
    }
    const by = move[key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    const [row, column] = this.active ?? [(s.now?.task.task ?? 0) - by[0], -by[1]];
    const next = Math.min(s.run.head.tasks - 1, Math.max(0, row + by[0]));
    this.active = [next, Math.min(next, Math.max(0, column + by[1]))];
    this.draw(s);
    const cell = this.svg.querySelector(`[data-row="${this.active[0]}"][data-column="${this.active[1]}"]`);
    this.actions.say(cell?.getAttribute("aria-label") ?? `after task ${next + 1}: not scored`);
  }

  /** Shows the last frame of the task. */
  private go(task: number) {
    const run = this.scene!.run;
    const last = run.moments.findLastIndex((m) => m.task.task === task);
    if (last >= 0) this.actions.jump(run, last);
  }

  draw(s: Scene) {
    this.scene = s;
    this.title("Accuracy in percent", s.theme, `Performance matrix, ${s.score}. Arrow keys move from cell to cell, ` +
      `Enter shows the task.`);
    const tasks = s.run.head.tasks;
    const side = Math.min(this.width - left - 8, this.height - top - 8) / tasks;
    this.side = side;
    if (side < least) return this.empty(`The cells of ${tasks} tasks are too small to draw.`, s.theme);
    const ramp = sequential();
    const rows = new Map<number, Score>();
    for (const t of s.run.tasks) {
      const score = t.scores.find((x) => nameOf(x) === s.score);
      if (score) rows.set(t.task, score);
    }
    const parts: SVGElement[] = [
      make("text", { x: left, y: 34, fill: s.theme.faint, "font-size": 11 }, `on task →  (${s.score})`),
      make("text", { x: 0, y: 0, fill: s.theme.faint, "font-size": 11, "text-anchor": "end",
        transform: `translate(9 ${top}) rotate(-90)` }, "after task"),
    ];
    const crowded = Math.ceil(16 / side);
    for (let i = 0; i < tasks; i++) {
      if (i % crowded === 0) parts.push(make("text", { x: left - 4, y: top + (i + 0.5) * side + 4, fill: s.theme.faint,
        "font-size": 10, "text-anchor": "end" }, String(i + 1)));
      const ends = s.run.moments.findLast((m) => m.task.task === i);
      const known = ends && s.now && (s.now.task.task > i || s.now.frame === ends.frame);
      const scores = known ? rows.get(i)?.accuracy : undefined;
      for (let j = 0; j <= i; j++) parts.push(...this.cell(s, i, j, scores?.[j] ?? null, ramp));
    }
    if (side < legible) parts.push(...this.legend(s, ramp));
    this.body.replaceChildren(...parts);
  }

  /** What the colors mean, in the empty corner, where cells are too small for numbers. */
  private legend(s: Scene, ramp: string[]): SVGElement[] {
    const wide = Math.min(110, (this.width - left) * 0.35);
    const x = this.width - 8 - wide;
    const text = { y: top + 22, fill: s.theme.faint, "font-size": 11 };
    return [
      ...ramp.map((fill, i) => make("rect", { x: x + (i * wide) / bins, y: top, width: wide / bins + 0.5, height: 8, fill })),
      make("text", { ...text, x }, s.low.toFixed(0)),
      make("text", { ...text, x: x + wide, "text-anchor": "end" }, "100"),
    ];
  }

  private cell(s: Scene, i: number, j: number, value: number | null, ramp: string[]) {
    const side = this.side;
    const share = value === null ? 0 : s.low < 100 ? (value - s.low) / (100 - s.low) : 1;
    const is = s.now?.task.task === i;
    const active = this.active?.[0] === i && this.active[1] === j;
    const label = value === null ? `after task ${i + 1}, on task ${j + 1}: not scored yet`
      : `after task ${i + 1}, on task ${j + 1}: ${value.toFixed(1)} percent`;
    const rect = make("rect", { "data-row": i, "data-column": j, "aria-label": label, role: "img",
      "data-value": value === null ? null : value.toFixed(1), x: left + j * side, y: top + i * side, width: side - 1,
      height: side - 1, fill: value === null ? s.theme.panel : ramp[Math.round(share * (bins - 1))],
      stroke: active ? s.theme.mark : is ? s.theme.text : s.theme.line, "stroke-width": active ? 3 : is ? 1.6 : 0.8 });
    if (value === null || side < legible) return [rect];
    return [rect, make("text", { x: left + (j + 0.5) * side, y: top + (i + 0.5) * side + 4, "pointer-events": "none",
      "font-size": Math.min(12, side / 2.9), "text-anchor": "middle", fill: share > 0.44 ? "#000" : "#fff" },
      value.toFixed(side > 34 ? 1 : 0))];
  }
}
