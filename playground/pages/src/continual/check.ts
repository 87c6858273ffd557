// Checks of the files of a recording: what Read of saot/continual/record checks, so that a recording that passes can be
// drawn. Errors name the field.

import { type Packed, type PackedRun, type PackedTask, unpack } from "../../../viewer/src/recording";

const most = { tasks: 9_999, nodes: 256, frames: 100_000, names: 64, name: 100, dataset: 10_000, scale: 3.4028234663852886e38 };

type Fields = Record<string, unknown>;

function shown(x: unknown): string {
  return (JSON.stringify(x) ?? "missing").slice(0, 40);
}

function whole(field: string, x: unknown, low: number, high = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(x) && (x as number) >= low && (x as number) <= high) return x as number;
  throw new Error(`field ${field} is ${shown(x)}, want a whole number from ${low} to ${high}`);
}

function words(field: string, x: unknown, high: number) {
  if (typeof x !== "string" || x.length > high) throw new Error(`field ${field} is ${shown(x)}, want a text of at most ${high} characters`);
}

function fields(field: string, x: unknown): Fields {
  if (typeof x === "object" && x !== null && !Array.isArray(x)) return x as Fields;
  throw new Error(`field ${field} is ${shown(x)}, want an object`);
}

/** A list with a bounded number of entries. Go writes an empty list as null. */
function list(field: string, x: unknown, high: number, low = 0): unknown[] {
  const all = x ?? [];
  if (!Array.isArray(all)) throw new Error(`field ${field} is ${shown(x)}, want a list`);
  if (all.length >= low && all.length <= high) return all;
  throw new Error(`field ${field} has ${all.length} entries, want ${low === high ? low : `${low} to ${high}`}`);
}

/** A list of figures, of which some may be missing. */
function figures(field: string, x: unknown, high: number, low = 0) {
  for (const v of list(field, x, high, low))
    if (v !== null && typeof v !== "number") throw new Error(`field ${field} has the entry ${shown(v)}, want a number`);
}

function names(field: string, x: unknown): number {
  const all = list(field, x, most.names);
  for (const name of all)
    if (typeof name !== "string" || !name || name.length > most.name)
      throw new Error(`field ${field} has the name ${shown(name)}, want 1 to ${most.name} characters`);
  return all.length;
}

function edges(field: string, x: unknown, n: number) {
  for (const e of list(field, x, n * n)) {
    const ends = list(field, e, 2, 2);
    if (!ends.every((i) => Number.isInteger(i) && (i as number) >= 0 && (i as number) < n))
      throw new Error(`field ${field} has the edge ${shown(e)}, which leads out of ${n} nodes`);
  }
}

function packed(field: string, x: unknown, n: number): ArrayLike<number> {
  const { scale, base64 } = fields(field, x);
  if (typeof scale !== "number" || !(scale >= 0) || scale > most.scale)
    throw new Error(`field ${field}: the scale is ${shown(scale)}, want a number of 0 or more`);
  const want = 4 * Math.ceil((2 * n) / 3);
  if (typeof base64 !== "string" || base64.length !== want)
    throw new Error(`field ${field}: base64 has ${typeof base64 === "string" ? base64.length : "no"} characters, want ${want} for ${n} numbers`);
  let values: ArrayLike<number> = [];
  try {
    values = unpack(x as Packed);
  } catch {
    // What cannot be read has no numbers.
  }
  if (values.length !== n) throw new Error(`field ${field}: base64 holds no ${n} numbers`);
  return values;
}

function plan(field: string, x: unknown, n: number) {
  if (x === undefined || x === null) return;
  const { values, marginal_error: error } = fields(field, x);
  const negative = Array.from(packed(field, values, n * n)).find((v) => v < 0);
  if (negative !== undefined) throw new Error(`field ${field}: a plan has the entry ${negative}, want 0 or more`);
  if (typeof error !== "number" || !(error >= 0) || error === Infinity)
    throw new Error(`field ${field}: the marginal error is ${shown(error)}`);
}

function scores(x: unknown, task: number) {
  for (const entry of list("scores", x, most.names)) {
    const { setting, probe, accuracy } = fields("scores", entry);
    names("scores", [setting, probe]);
    figures("scores, accuracy", accuracy, task + 1, task + 1);
  }
}

/** Checks a frame after one of a step, and returns its own step. */
function frame(at: string, x: unknown, before: number, n: number, terms: number, more: number): number {
  const f = fields(at, x);
  figures(`${at}, terms`, f.terms, terms);
  figures(`${at}, figures`, f.figures, more);
  figures(`${at}, marginal_error`, [f.marginal_error ?? null], 1);
  const shares = list(`${at}, shares`, f.shares, 2).length;
  if (shares) figures(`${at}, shares`, f.shares, 2, 2);
  if (f.points !== undefined && f.points !== null) packed(`${at}, points`, f.points, 2 * n);
  plan(`${at}, plan`, f.plan, n);
  return whole(`${at}, step`, f.step, before + 1);
}

/** Checks the head of a recording. */
export function checkHead(x: unknown): PackedRun["recording"]["head"] {
  const h = fields("head", x);
  whole("every", h.every, 1);
  whole("tasks", h.tasks, 1, most.tasks);
  words("method", h.method, most.name);
  words("dataset", h.dataset, most.dataset);
  if (typeof h.seed !== "number") throw new Error(`field seed is ${shown(h.seed)}, want a number`);
  return x as PackedRun["recording"]["head"];
}

/** Checks a task, given its place in the stream and the number of tasks. */
export function checkTask(x: unknown, task: number, tasks: number): PackedTask {
  const t = fields("task", x);
  whole("task", t.task, task, task);
  if (task >= tasks) throw new Error(`field task is ${task}: the head has ${tasks} tasks, from 0`);
  const n = list("nodes", t.nodes, most.nodes, 1).length;
  for (const field of ["nodes", "classes"]) for (const v of list(field, t[field], n, n)) whole(field, v, -(2 ** 31), 2 ** 31 - 1);
  edges("edges", t.edges, n);
  const views = list("views", t.views, 2);
  if (views.length === 1) throw new Error("field views has 1 entries, want 2 or none");
  for (const v of views) edges("views", v, n);
  const terms = names("terms", t.terms);
  const more = names("figures", t.figures);
  plan("graph", t.graph, n);
  plan("teacher", t.teacher, n);
  scores(t.scores, task);
  let last = -1;
  list("frames", t.frames, most.frames).forEach((f, i) => (last = frame(`frames, entry ${i}`, f, last, n, terms, more)));
  return x as PackedTask;
}

/** Checks a run of a page. */
export function checkRun(x: unknown): PackedRun {
  const { name, recording } = fields("run", x);
  words("name", name, most.dataset);
  const { head, tasks: all } = fields("recording", recording);
  const { tasks } = checkHead(head);
  let next = 0;
  let shown = false;
  for (const t of list("tasks", all, tasks)) {
    const task = whole("task", fields("task", t).task, next);
    shown = !!checkTask(t, task, tasks).frames?.length || shown;
    next = task + 1;
  }
  if (!shown) throw new Error("the recording has no frames");
  return x as PackedRun;
}
