import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";

import { Panel, Scene, figure, make, set } from "./panel";
import type { Moment, Run } from "./recording";
import type { Theme } from "./theme";

export const groups: [string, string][] = [
  ["loss", "loss terms"],
  ["gradient", "norms of gradients"],
  ["error", "marginal errors"],
  ["other", "other figures"],
];

interface Series {
  name: string;
  values: (number | null)[]; // a moment each
}

function named(run: Run, of: (m: Moment) => [string, number | null][]): Series[] {
  const all = new Map<string, Series>();
  run.moments.forEach((m, i) => {
    for (const [name, value] of of(m)) {
      if (!all.has(name)) all.set(name, { name, values: new Array(run.moments.length).fill(null) });
      all.get(name)!.values[i] = value;
    }
  });
  return [...all.values()].filter((s) => s.values.some((v) => v !== null && v !== 0));
}

/** The curves of a group over all moments of a run. Curves that are 0 throughout are left out. */
export function seriesOf(run: Run, group: string): Series[] {
  const figures = (keep: (name: string) => boolean) => (m: Moment) =>
    m.task.figures.flatMap((name, k): [string, number | null][] =>
      keep(name) ? [[name.replace("gradient_", "").replaceAll("_", " "), m.frame.figures[k] ?? null]] : [],
    );
  const isGradient = (name: string) => name.startsWith("gradient_");
  const isError = (name: string) => name.endsWith("marginal_error");
  switch (group) {
    case "loss":
      return named(run, (m) => m.task.terms.map((name, k) => [name, m.frame.terms[k] ?? null]));
    case "gradient":
      return named(run, figures(isGradient));
    case "error":
      return named(run, (m) => [
        ["of the step's π_Z", m.frame.terms.length ? m.frame.marginalError : null],
        ["of the shown π_Z", m.frame.plan?.error ?? null],
        ...figures(isError)(m),
      ]);
  }
  return named(run, figures((name) => !isGradient(name) && !isError(name)));
}

const left = 46;
const foot = 26;
const sample = 14; // pixels of a curve next to its name
const pen = document.createElement("canvas").getContext("2d")!; // which measures texts, drawn or not

function widthOf(text: string, size: number, weight: number): number {
  pen.font = `${weight} ${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

// As in pictures of package plotting.
const dashes = [null, "6 2", "2 2", "7 2 2 2", "10 3", "4 2 1 2 1 2"];

/** What tells a curve from the others. */
function strokeOf(k: number, theme: Theme) {
  return { fill: "none", stroke: theme.classes[k % theme.classes.length], "stroke-width": 1.8,
    "stroke-dasharray": dashes[k % dashes.length] };
}

/** Curves over the run, with a line at the moment that is shown. */
export class CurvesPanel extends Panel {
  private readonly cursor = make("line", { "stroke-width": 1.5, "pointer-events": "none" });
  private readonly picture = make("g");
  private drawn = ""; // what the picture was drawn for
  private scene: Scene | null = null;
  private top = 40; // below the names of the curves

  constructor(actions: Panel["actions"]) {
    super("curves", actions);
    this.body.append(this.picture, this.cursor);
    set(this.svg, { role: "img" });
    const at = (e: PointerEvent) => {
      const run = this.scene!.run;
      const share = (this.place(e)[0] - left) / (this.width - left - 10);
      const moment = Math.round(share * (run.moments.length - 1));
      this.actions.jump(run, Math.min(run.moments.length - 1, Math.max(0, moment)));
    };
    this.svg.addEventListener("pointerdown", (e) => {
      if (e.button) return;
      this.svg.setPointerCapture(e.pointerId);
      at(e);
    });
    this.svg.addEventListener("pointermove", (e) => {
      if (e.buttons & 1) at(e);
    });
  }

  protected override heightFor() {
    return 230;
  }

  draw(s: Scene) {
    this.scene = s;
    const key = [this.width, s.group, s.theme.dark, s.run.moments.length].join();
    if (key !== this.drawn) {
      this.drawn = key;
      this.redraw(s);
    }
    const x = this.x(s.run)(Math.max(0, s.at));
    set(this.cursor, { x1: x, x2: x, y1: this.top, y2: this.height - foot, stroke: s.theme.mark });
  }

  private x(run: Run) {
    return scaleLinear([0, Math.max(1, run.moments.length - 1)], [left, this.width - 10]);
  }

  private redraw(s: Scene) {
    const name = groups.find(([group]) => group === s.group)![1];
    const all = seriesOf(s.run, s.group);
    const title = name[0].toUpperCase() + name.slice(1);
    this.title(title, s.theme, `${name}: ${all.map((x) => x.name).join(", ")}`);
    const values = all.flatMap((x) => x.values).filter((v): v is number => v !== null && v !== 0);
    if (!values.length) {
      this.picture.replaceChildren(make("text", { x: this.width / 2, y: this.height / 2, fill: s.theme.faint,
        "font-size": 12, "text-anchor": "middle" }, "this run has no such figures"));
      return;
    }
    const names = this.names(all, title, s.theme);
    const low = Math.min(...values);
    const high = Math.max(...values);
    const log = low > 0 && high > 30 * low;
    const bottom = this.height - foot;
    const y = log
      ? scaleLog([low, high], [bottom, this.top + 6]).nice()
      : scaleLinear([Math.min(0, low), high], [bottom, this.top + 6]).nice();
    const x = this.x(s.run);
    const parts = this.axes(s, x, y, log);
    const path = line<number | null>()
      .defined((v) => v !== null && (!log || v > 0))
      .x((_, i) => x(i))
      .y((v) => y(v!));
    all.forEach((series, k) => parts.push(make("path", { d: path(series.values) ?? "", ...strokeOf(k, s.theme) })));
    this.picture.replaceChildren(...parts, ...names);
  }

  /** The names of the curves: next to the title if they fit there, else in lines below it. The picture begins below them. */
  private names(all: Series[], title: string, theme: Theme): SVGElement[] {
    const gap = 12;
    const indent = sample + 4;
    const right = this.width - 10;
    const widths = all.map((x) => gap + indent + widthOf(x.name, 11, 400));
    const sum = widths.reduce((a, b) => a + b, 0);
    const fits = 8 + widthOf(title, 13, 600) + sum <= right;
    let [x, y] = fits ? [right + gap - sum, 18] : [8, 34];
    const texts = all.flatMap(({ name }, k) => {
      if (!fits && x > 8 && x + widths[k] - gap > right) [x, y] = [8, y + 15];
      const parts = [make("path", { class: "sample", d: `M${x},${y - 4}h${sample}`, ...strokeOf(k, theme) }),
        make("text", { x: x + indent, y, fill: theme.text, "font-size": 11 }, name)];
      x += widths[k];
      return parts;
    });
    this.top = Math.max(40, y + 6);
    return texts;
  }

  private axes(s: Scene, x: (i: number) => number, y: { (v: number): number; ticks(n: number): number[] }, log: boolean) {
    const parts: SVGElement[] = [];
    const bottom = this.height - foot;
    let ticks = y.ticks(5);
    if (log) ticks = ticks.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
    if (ticks.length < 2) ticks = y.ticks(4);
    const each = Math.ceil(ticks.length / 6);
    ticks.forEach((v, i) => {
      if (i % each) return;
      parts.push(make("line", { x1: left, x2: this.width - 10, y1: y(v), y2: y(v), stroke: s.theme.line }));
      parts.push(make("text", { x: left - 5, y: y(v) + 4, fill: s.theme.faint, "font-size": 11, "text-anchor": "end" },
        figure(v)));
    });
    const crowded = Math.ceil((s.run.tasks.length * 46) / (this.width - left));
    let before = -1;
    s.run.moments.forEach((m, i) => {
      if (m.task.task === before) return;
      before = m.task.task;
      if (i) parts.push(make("line", { x1: x(i), x2: x(i), y1: this.top, y2: bottom, stroke: s.theme.line,
        "stroke-dasharray": "3 3" }));
      if (before % crowded === 0) parts.push(make("text", { x: x(i) + 3, y: bottom + 16, fill: s.theme.faint,
        "font-size": 11 }, `task ${before + 1}`));
    });
    return parts;
  }
}
