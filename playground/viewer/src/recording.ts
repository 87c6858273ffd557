// What docs/recording.md describes, unpacked.

export type Edge = [number, number];

export interface Packed {
  scale: number;
  base64: string;
}

interface PackedPlan {
  values: Packed;
  marginal_error: number;
}

export interface PackedFrame {
  step: number;
  terms?: (number | null)[];
  figures?: (number | null)[];
  marginal_error?: number | null;
  points?: Packed;
  shares?: (number | null)[];
  plan?: PackedPlan;
}

export interface Score {
  setting: string;
  probe: string;
  accuracy: (number | null)[];
}

export interface PackedTask {
  task: number;
  nodes: number[];
  classes: number[];
  edges: Edge[] | null;
  views?: (Edge[] | null)[] | null; // two or none
  graph?: PackedPlan;
  teacher?: PackedPlan;
  terms: string[] | null;
  figures: string[] | null;
  frames: PackedFrame[] | null;
  scores?: Score[];
}

export interface PackedRun {
  name: string;
  recording: {
    head: { method: string; dataset: string; seed: number; every: number; tasks: number };
    tasks: PackedTask[] | null;
  };
}

export interface Plan {
  values: Float64Array;
  error: number;
}

export interface Frame {
  step: number;
  terms: (number | null)[];
  figures: (number | null)[];
  marginalError: number | null;
  points: Float64Array | null;
  shares: (number | null)[];
  plan: Plan | null;
}

/** A task. Nodes are in the order of their classes; order says where they stand in the file. */
export interface Task {
  task: number;
  nodes: number[];
  classes: number[];
  edges: Edge[];
  views: [Edge[], Edge[]] | null;
  graph: Plan | null;
  teacher: Plan | null;
  terms: string[];
  figures: string[];
  frames: Frame[];
  scores: Score[];
  limit: number; // of the magnitude of coordinates, over all frames
  most: number; // the largest entry of all plans, 0 without any
}

/** A moment is a frame of a run. */
export interface Moment {
  task: Task;
  frame: Frame;
  share: number; // of the task's steps that are taken
}

export interface Run {
  name: string;
  head: PackedRun["recording"]["head"];
  tasks: Task[];
  moments: Moment[];
}

export function unpack(p: Packed): Float64Array {
  const raw = atob(p.base64);
  const out = new Float64Array(raw.length / 2);
  for (let i = 0; i < out.length; i++) {
    const q = raw.charCodeAt(2 * i) | (raw.charCodeAt(2 * i + 1) << 8);
    out[i] = (p.scale * ((q << 16) >> 16)) / 32767;
  }
  return out;
}

function unpackPlan(p: PackedPlan | undefined, order: number[]): Plan | null {
  if (!p) return null;
  const n = order.length;
  const raw = unpack(p.values);
  const values = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) values[i * n + j] = raw[order[i] * n + order[j]];
  return { values, error: p.marginal_error };
}

function unpackFrame(f: PackedFrame, order: number[]): Frame {
  let points: Float64Array | null = null;
  if (f.points) {
    const raw = unpack(f.points);
    points = new Float64Array(raw.length);
    order.forEach((from, i) => {
      points![2 * i] = raw[2 * from];
      points![2 * i + 1] = raw[2 * from + 1];
    });
  }
  return {
    step: f.step,
    terms: f.terms ?? [],
    figures: f.figures ?? [],
    marginalError: f.marginal_error ?? null,
    points,
    shares: f.shares ?? [],
    plan: unpackPlan(f.plan, order),
  };
}

function unpackTask(t: PackedTask): Task {
  const order = t.nodes.map((_, i) => i).sort((a, b) => t.classes[a] - t.classes[b] || t.nodes[a] - t.nodes[b]);
  const place: number[] = [];
  order.forEach((from, i) => (place[from] = i));
  const edges = (all: Edge[] | null): Edge[] => (all ?? []).map(([a, b]) => [place[a], place[b]]);
  const frames = (t.frames ?? []).map((f) => unpackFrame(f, order));
  const graph = unpackPlan(t.graph, order);
  const teacher = unpackPlan(t.teacher, order);
  const largest = (all: Iterable<Float64Array | null | undefined>) => {
    let most = 0;
    for (const x of all) for (const v of x ?? []) most = Math.max(most, Math.abs(v));
    return most;
  };
  return {
    task: t.task,
    nodes: order.map((i) => t.nodes[i]),
    classes: order.map((i) => t.classes[i]),
    edges: edges(t.edges),
    views: t.views?.length ? [edges(t.views[0]), edges(t.views[1])] : null,
    graph,
    teacher,
    terms: t.terms ?? [],
    figures: t.figures ?? [],
    frames,
    scores: t.scores ?? [],
    limit: largest(frames.map((f) => f.points)) || 1,
    most: largest([graph?.values, teacher?.values, ...frames.map((f) => f.plan?.values)]),
  };
}

export function unpackRun(p: PackedRun): Run {
  const run = { name: p.name, head: p.recording.head, tasks: (p.recording.tasks ?? []).map(unpackTask), moments: [] };
  fillMoments(run);
  return run;
}

/** Takes over what was added to a recording since its run was unpacked. Tasks that are known stay the same objects. */
export function growRun(run: Run, p: PackedRun) {
  (p.recording.tasks ?? []).forEach((packed, i) => {
    const known = run.tasks[i];
    if (!known) run.tasks.push(unpackTask(packed));
    else if (known.frames.length !== packed.frames?.length || known.scores.length !== (packed.scores?.length ?? 0))
      Object.assign(known, unpackTask(packed));
  });
  run.head = p.recording.head;
  run.tasks.length = p.recording.tasks?.length ?? 0;
  fillMoments(run);
}

function fillMoments(run: Run) {
  run.moments = [];
  for (const task of run.tasks) {
    const last = Math.max(1, task.frames.at(-1)?.step ?? 1);
    for (const frame of task.frames) run.moments.push({ task, frame, share: frame.step / last });
  }
}

/**
 * The place in a run of the frame that is nearest to a moment of another run: same task, same share of its steps. How many
 * steps a task takes is known once it is scored; until then, the same step.
 */
export function alike(run: Run, m: Moment): number {
  const far = (x: Moment) => x.task.scores.length && m.task.scores.length ? Math.abs(x.share - m.share)
    : Math.abs(x.frame.step - m.frame.step);
  let best = -1;
  run.moments.forEach((x, i) => {
    if (x.task.task === m.task.task && (best < 0 || far(x) < far(run.moments[best]))) best = i;
  });
  return best;
}

/** Whether plans of two tasks are between the same nodes. */
export function sameNodes(a: Task, b: Task): boolean {
  return a.nodes.length === b.nodes.length && a.nodes.every((v, i) => v === b.nodes[i]);
}
