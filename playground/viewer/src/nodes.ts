import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";

import { keyOf } from "./dom";
import { Panel, Scene, around, figure, make, set } from "./panel";
import type { Edge, Run, Task } from "./recording";
import { outline } from "./theme";

const top = 28;
const keys = "Arrow keys move from node to node.";

/** Draws nodes and edges, the pointed ones and their neighbors in full and the others faint. */
function drawNodes(s: Scene, edges: Edge[], at: (i: number) => [number, number], view: 0 | 1 | 2): SVGGElement {
  const task = s.now!.task;
  const classes = [...new Set(task.classes)];
  const p = s.pointed;
  const inTask = (v: number) => v < task.nodes.length;
  const chosen = p ? (view === 0 ? [p.row, p.column] : view === 1 ? [p.row] : [p.column]).filter(inTask) : [];
  const near = around(edges, chosen);
  const g = make("g");
  for (const [a, b] of edges) {
    const bright = chosen.includes(a) || chosen.includes(b);
    const [x1, y1] = at(a);
    const [x2, y2] = at(b);
    g.append(make("line", { x1, y1, x2, y2, stroke: bright ? s.theme.mark : s.theme.faint,
      "stroke-opacity": bright ? 0.9 : 0.66, "stroke-width": bright ? 1.6 : 1 }));
  }
  const nodes = task.nodes.map((_, i) => i).sort((a, b) => Number(near.has(a)) - Number(near.has(b)));
  for (const i of nodes) {
    const [x, y] = at(i);
    const c = classes.indexOf(task.classes[i]);
    const is = chosen.includes(i);
    g.append(make("path", { class: is ? "node chosen" : near.has(i) ? "node near" : "node", "data-node": i,
      d: outline(c, x, y, is ? 6.5 : 4.2), fill: s.theme.classes[c % s.theme.classes.length],
      "fill-opacity": chosen.length && !near.has(i) ? 0.3 : 0.95, stroke: is ? s.theme.mark : s.theme.panel,
      "stroke-width": is ? 2.2 : 0.8 }));
  }
  for (const i of chosen) {
    const [x, y] = at(i);
    const label = view === 0 && p!.row !== p!.column ? (i === p!.row ? "row" : "column") : String(task.nodes[i]);
    g.append(make("text", { x: x + 9, y: y - 7, "font-size": 11, "font-weight": 600, fill: s.theme.text,
      stroke: s.theme.panel, "stroke-width": 3, "paint-order": "stroke" }, label));
  }
  return g;
}

/** Pointing at a node points at its own entry of the plan. */
abstract class NodesPanel extends Panel {
  protected places: [number, number, number][] = []; // x, y, node

  constructor(name: string, actions: Panel["actions"]) {
    super(name, actions);
    set(this.svg, { tabindex: 0, role: "application", "aria-roledescription": "picture of nodes" });
    this.svg.addEventListener("keydown", (e) => this.key(e));
    const at = (e: PointerEvent) => {
      const [x, y] = this.place(e);
      let best = -1;
      let nearest = 14;
      for (const [px, py, node] of this.places) {
        const d = Math.hypot(px - x, py - y);
        if (d < nearest) [best, nearest] = [node, d];
      }
      this.actions.point(best < 0 ? null : { row: best, column: best });
    };
    this.svg.addEventListener("pointermove", at);
    this.svg.addEventListener("pointerdown", at);
    this.svg.addEventListener("pointerleave", (e) => {
      if (e.pointerType === "mouse") this.actions.point(null);
    });
  }

  /** Arrow keys go through the nodes, so that they need no plan. Views have the same nodes. */
  private key(e: KeyboardEvent) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[keyOf(e)];
    const n = new Set(this.places.map(([, , node]) => node)).size;
    if (!by || !n) return;
    e.preventDefault();
    e.stopPropagation();
    const now = this.actions.pointed()?.row ?? (by > 0 ? -1 : n);
    const next = Math.min(n - 1, Math.max(0, now + by));
    this.actions.point({ row: next, column: next });
  }
}


/** The watched nodes by their embeddings. */
export class ScatterPanel extends NodesPanel {
  constructor(actions: Panel["actions"]) {
    super("embedding", actions);
  }

  override has(run: Run) {
    return run.moments.some((m) => m.frame.points);
  }

  draw(s: Scene) {
    const points = s.now?.frame.points;
    this.places = [];
    this.title("Embedding", s.theme);
    if (!points) return this.empty("no embedding before the task is learned", s.theme);
    const task = s.now!.task;
    const room = (Math.min(this.width, this.height - top - 20) - 24) / 2;
    const limit = s.zoom ? points.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1 : task.limit;
    const at = (i: number): [number, number] => [
      this.width / 2 + (points[2 * i] / limit) * room,
      (this.height - 20 + top) / 2 - (points[2 * i + 1] / limit) * room,
    ];
    const percent = s.now!.frame.shares.map((v) => `${Math.round(100 * (v ?? 0))} %`).join(" and ");
    const caption = `components of ${percent} of the variance; ±${figure(limit)}`;
    set(this.svg, { "aria-label": `Embedding of ${task.nodes.length} nodes, ${caption}. ${keys}` });
    this.places = task.nodes.map((_, i) => [...at(i), i]);
    this.body.replaceChildren(
      drawNodes(s, task.edges, at, 0),
      this.legend(task, s),
      make("text", { x: this.width / 2, y: this.height - 8, fill: s.theme.faint, "font-size": 11,
        "text-anchor": "middle" }, caption),
    );
  }

  private legend(task: Task, s: Scene): SVGGElement {
    const g = make("g");
    [...new Set(task.classes)].forEach((c, i) => {
      const y = top + 10 + 15 * i;
      g.append(make("path", { d: outline(i, 14, y - 4, 4), fill: s.theme.classes[i % s.theme.classes.length] }));
      g.append(make("text", { x: 23, y, fill: s.theme.faint, "font-size": 11 }, `class ${c}`));
    });
    return g;
  }
}

/** Where nodes stand in a drawing of a task's graph, in the unit square. It is computed once for a task. */
function layout(task: Task): [number, number][] {
  const nodes = task.nodes.map((_, i) => ({ index: i }) as { index: number; x: number; y: number });
  forceSimulation(nodes)
    .force("link", forceLink(task.edges.map(([source, target]) => ({ source, target }))).distance(24))
    .force("charge", forceManyBody().strength(-55))
    .force("collide", forceCollide(9))
    .force("x", forceX(0).strength(0.12))
    .force("y", forceY(0).strength(0.12))
    .force("center", forceCenter(0, 0))
    .stop()
    .tick(300);
  const low = [Math.min(...nodes.map((v) => v.x)), Math.min(...nodes.map((v) => v.y))];
  const high = [Math.max(...nodes.map((v) => v.x)), Math.max(...nodes.map((v) => v.y))];
  return nodes.map((v) => [(v.x - low[0]) / (high[0] - low[0] || 1), (v.y - low[1]) / (high[1] - low[1] || 1)]);
}

/** The two views as graphs, with the pointed row in view 1 and the pointed column in view 2. */
export class GraphsPanel extends NodesPanel {
  private readonly layouts = new WeakMap<Task, [number, number][]>();

  constructor(actions: Panel["actions"]) {
    super("graphs", actions);
  }

  draw(s: Scene) {
    this.places = [];
    const task = s.now?.task;
    const title = task?.views ? "Graphs: view 1 over view 2" : "Graph";
    this.title(title, s.theme, `${title}. ${keys}`);
    if (!task) return this.empty("no frame of this task", s.theme);
    let unit = this.layouts.get(task);
    if (!unit) this.layouts.set(task, (unit = layout(task)));
    const views: [Edge[], 0 | 1 | 2][] = task.views ? [[task.views[0], 1], [task.views[1], 2]] : [[task.edges, 0]];
    const tall = (this.height - top - 8) / views.length;
    const parts: SVGElement[] = [];
    views.forEach(([edges, view], k) => {
      const at = (i: number): [number, number] => [
        30 + unit![i][0] * (this.width - 70),
        top + k * tall + 26 + unit![i][1] * (tall - 40),
      ];
      task.nodes.forEach((_, i) => this.places.push([...at(i), i]));
      if (k) parts.push(make("line", { x1: 8, x2: this.width - 8, y1: top + tall, y2: top + tall, stroke: s.theme.line }));
      parts.push(drawNodes(s, edges, at, view));
      if (view) parts.push(make("text", { x: this.width - 8, y: top + k * tall + 16, "text-anchor": "end",
        fill: s.theme.faint, "font-size": 11 }, `view ${view}, ${figure(edges.length)} edges`));
    });
    this.body.replaceChildren(...parts);
  }
}
