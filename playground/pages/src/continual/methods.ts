// What the page trains, and with which settings.

import { type Values, clamp, fragment, has, read } from "../shell/state";

/** The page's state. Keys are those of the address. */
export interface Settings extends Values {
  tasks: number;
  nodes: number;
  homophily: number;
  imbalance: number;
  words: number;
  alpha: number;
  beta: number;
  eps: number;
  points: number;
  buffer: number;
  epochs: number;
  seed: number;
  methods: string; // by their keys, with dots between
  show: string; // one or two of them
  recording: string; // that is shown instead of the runs; "" shows the runs
  at: string; // task.step of the frame that is shown; "" is the newest
  play: boolean; // the runs were started
}

const defaults: Settings = {
  tasks: 3, nodes: 360, homophily: 0.8, imbalance: 3, words: 30, alpha: 1, beta: 0.5, eps: 0.2, points: 64, buffer: 40,
  epochs: 20, seed: 0, methods: "saot.naive.random.hellinger", show: "saot.naive", recording: "uai", at: "", play: false,
};

/** The settings of the address. Where it starts the runs and names no recording, the runs are shown. */
export function addressed(): Settings {
  const s = read(defaults);
  [s.tasks, s.nodes] = [Math.round(clamp(s.tasks, 2, 8)), Math.round(clamp(s.nodes, 160, 800))];
  if (s.play && !has("recording")) s.recording = "";
  return s;
}

/** The fragment of an address that shows the same. One that shows a recording starts nothing. */
export function addressOf(s: Settings): string {
  return fragment({ ...s, play: s.play && !s.recording }, defaults);
}

export interface Method {
  key: string;
  label: string;
  name: string; // in the registry
  about: string;
  control: boolean; // takes no training step
  fixed: [string, string][]; // settings that make it what it is
  unread?: string[]; // of the page's settings, those that saot run refuses for it
}

/** Of the encoder: controls have it too, or they would stand next to narrower embeddings. */
const width: [string, string][] = [["encoder.hidden", "64"], ["encoder.out", "32"]];

export const methods: Method[] = [
  { key: "saot", label: "SAOT", name: "saot", control: false, fixed: [],
    about: "plans between views and embeddings, a memory and a teacher" },
  { key: "saot-l", label: "SAOT-L", name: "saot-l", control: false, fixed: [], unread: ["encoder.hidden", "beta"],
    about: "SAOT with a linear encoder and costs of propagated words" },
  { key: "naive", label: "naive", name: "saot-no-distill", control: false, fixed: [["buffer", "0"]], unread: ["beta"],
    about: "SAOT without memory and teacher: it learns each task and protects none" },
  { key: "barlow", label: "Barlow Twins", name: "saot-barlow", control: false, fixed: [], unread: ["alpha", "beta"],
    about: "decorrelates the columns of two views' embeddings, with SAOT's memory" },
  { key: "random", label: "random", name: "random", control: true, fixed: [...width],
    about: "the encoder as it begins: what training must beat" },
  { key: "hellinger", label: "propagated-hellinger", name: "propagated-hellinger", control: true, fixed: [["out", "32"]],
    about: "words over two hops, as square roots of shares; nothing is trained" },
];

export function methodOf(key: string): Method | undefined {
  return methods.find((m) => m.key === key);
}

/** The keys in a list of the address that name a method, each once, in the order of the list. */
export function keysOf(list: string): string[] {
  return [...new Set(list.split("."))].filter(methodOf);
}

/** The request of a run, and the command that does the same. */
export interface Request {
  dataset: string;
  method: string;
  seed: number;
  set: [string, string][];
  probes: string[];
  record: number;
}

export function requestOf(s: Settings, m: Method): Request {
  const dataset = `synthetic,nodes=${s.nodes},classes=${2 * s.tasks},degree=${degree(s)},homophily=${s.homophily},` +
    `imbalance=${s.imbalance},words=${s.words}`;
  const set: [string, string][] = [["epochs", s.epochs], ["points", s.points], ["epsilon", s.eps], ["alpha", s.alpha],
    ["beta", s.beta], ["buffer", s.buffer], ...width].map(([k, v]) => [String(k), String(v)]);
  const free = set.filter(([name]) => !m.fixed.some(([fixed]) => fixed === name) && !m.unread?.includes(name));
  return { dataset, method: m.name, seed: s.seed, set: m.control ? m.fixed : [...free, ...m.fixed], probes: ["converged"], record: 1 };
}

/** The mean degree: 5, or what the generator allows. */
function degree(s: Settings): number {
  return Math.min(5, Math.floor((10 * s.nodes) / (16 * s.tasks)) / 10);
}

export function commandOf(r: Request): string {
  const set = r.set.map(([name, value]) => ` --set ${name}=${value}`).join("");
  return `saot run --engine go --dataset ${r.dataset} --method ${r.method} --seed ${r.seed} --probe ${r.probes.join(",")} ` +
    `--record ${r.record}${set}`;
}
