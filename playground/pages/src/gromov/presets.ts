// Pairs of graphs to begin with. Some are there to fail: what goes wrong is in their note.

import { pack, snap, unpack } from "../shell/state";

/** A graph to draw and to match. */
export interface Drawn {
  points: number[]; // coordinates in [0, 1]
  colors: number[];
  edges: [number, number][];
}

export interface Preset {
  label: string;
  note: string;
  a: Drawn;
  b: Drawn;
  truth?: number[]; // the node of b that each node of a stands for
  settings: Record<string, string | number>;
}

type Edges = [number, number][];

function circle(n: number, turn = 0, r = 0.36): number[] {
  return Array.from({ length: n }, (_, i) => 2 * Math.PI * (i / n + turn)).flatMap((a) => [snap(0.5 + r * Math.cos(a)), snap(0.5 + r * Math.sin(a))]);
}

const drawn = (points: number[], edges: Edges, colors = new Array<number>(points.length / 2).fill(0)): Drawn => ({ points, colors, edges });

/** The same graph with other numbers: node i becomes node perm[i], on a circle of its own. */
function relabeled(g: Drawn, perm: number[]): Drawn {
  const colors = new Array<number>(perm.length);
  perm.forEach((to, i) => (colors[to] = g.colors[i]));
  return { points: circle(perm.length, 0.25), colors, edges: g.edges.map(([i, j]) => [perm[i], perm[j]]) };
}

function pair(label: string, note: string, a: Drawn, perm: number[], settings = {}): Preset {
  return { label, note, a, b: relabeled(a, perm), truth: perm, settings };
}

const kite: Edges = [[1, 0], [2, 1], [3, 2], [4, 0], [5, 1], [6, 2], [3, 5], [0, 5]];
const trap: Edges = [[1, 0], [2, 1], [3, 2], [4, 2], [5, 2], [6, 3], [5, 3], [5, 1]];
const ring: Edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]];
const path: Edges = [[0, 1], [1, 2], [2, 3], [3, 4]];
const corner = [[0.15, 0.15], [0.15, 0.4], [0.15, 0.65], [0.15, 0.9], [0.42, 0.15], [0.7, 0.15]].flat().map(snap);
const turned = [[0.85, 0.85], [0.85, 0.6], [0.85, 0.35], [0.85, 0.1], [0.58, 0.85], [0.3, 0.85]].flat().map(snap);

export const presets: Record<string, Preset> = {
  relabel: pair("the same graph, renumbered", "All colors agree, so only edges can tell. The plan finds every node.",
    drawn(circle(7), kite), [6, 1, 4, 5, 0, 3, 2]),
  features: pair("edges and colors", "Edges alone end in a wrong plan here; colors lead to the right one.",
    drawn(circle(7), trap, [0, 1, 2, 0, 1, 2, 0]), [6, 3, 4, 5, 1, 2, 0]),
  ring: pair("two rings", "A ring looks the same from each node: the first step prefers none, and the plan stays uniform, although " +
    "the right matching costs nothing.",
    drawn(circle(6), ring), [2, 3, 4, 5, 0, 1], { sigma: 0 }),
  path: pair("two paths", "A path may be read from both ends, so each end node goes to both ends, half and half.",
    drawn([0.1, 0.5, 0.3, 0.6, 0.5, 0.5, 0.7, 0.6, 0.9, 0.5].map(snap), path), [4, 3, 2, 1, 0], { sigma: 0 }),
  local: pair("a local optimum", "The steps settle, and edges still disagree that the right matching keeps: nodes that look alike " +
    "share their mass. Projected gradient jumps between two wrong plans instead; with factor 1 it finds a right one.",
    drawn(circle(7), trap), [6, 3, 4, 5, 1, 2, 0], { sigma: 0, outer: 60, loop: "proximal" }),
  shape: { label: "a shape, turned", note: "Distances in the picture are compared instead of edges. Drag a node, and the plan follows.",
    a: drawn(corner, [[0, 1], [1, 2], [2, 3], [0, 4], [4, 5]]), b: drawn(turned, [[0, 1], [1, 2], [2, 3], [0, 4], [4, 5]]),
    truth: [0, 1, 2, 3, 4, 5], settings: { structure: "distances", sigma: 0 } },
};

const signs = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A graph as text: coordinates, colors, edges. */
export function packGraph(g: Drawn): string {
  return [pack(g.points), g.colors.map((c) => signs[c]).join(""), g.edges.map(([i, j]) => signs[i] + signs[j]).join("")].join(".");
}

/** The graph of a text, or null where it does not fit. */
export function unpackGraph(text: string): Drawn | null {
  const [places, paints = "", ends = ""] = text.split(".");
  const points = unpack(places ?? "");
  const colors = [...paints].map((c) => signs.indexOf(c));
  const list = [...ends].map((c) => signs.indexOf(c));
  const n = colors.length;
  const good = n > 0 && n <= most && points.length === 2 * n && list.length % 2 === 0 &&
    list.every((i) => i >= 0 && i < n) && colors.every((c) => c >= 0 && c < palette);
  if (!good) return null;
  return { points, colors, edges: Array.from({ length: list.length / 2 }, (_, k) => [list[2 * k], list[2 * k + 1]]) };
}

/** A matching as text: for each node of A, the sign of its node of B. Null for no text; no nodes for one that is none. */
export function unpackTruth(text: string): number[] | null {
  if (!text) return null;
  const to = [...text].map((c) => signs.indexOf(c));
  return to.includes(-1) ? [] : to;
}

/** Nodes of a graph, at most, and colors. */
export const most = 16;
export const palette = 4;
