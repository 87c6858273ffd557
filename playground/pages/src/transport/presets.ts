// Clouds and histograms to begin with. Points are in order along their shape, so that the map of a plan has one, too.

import { snap } from "../shell/state";

export interface Preset {
  label: string;
  x: number[]; // coordinates in [0, 1]
  y: number[];
}

/** Numbers from a seed, the same each time: Marsaglia's xorshift, with 32 bits. */
function random(seed: number): () => number {
  let s = seed;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return (s >>> 0) / 2 ** 32;
  };
}

/** n points along a curve of the parameter s in [0, 1], each off by some noise. */
function along(n: number, seed: number, noise: number, curve: (s: number) => [number, number]): number[] {
  const next = random(seed);
  const bell = () => (next() + next() + next() - 1.5) * noise;
  return Array.from({ length: n }, (_, i) => curve((i + 0.5) / n)).flatMap(([x, y]) => [snap(x + bell()), snap(y + bell())]);
}

const arc = (cx: number, cy: number, r: number, from: number, to: number) => (s: number): [number, number] => {
  const a = 2 * Math.PI * (from + (to - from) * s);
  return [cx + r * Math.cos(a), cy + r * Math.sin(a)];
};

const blob = (centers: [number, number][]) => (s: number): [number, number] =>
  centers[Math.min(centers.length - 1, Math.floor(s * centers.length))];

const square = (s: number): [number, number] => {
  const side = Math.floor(s * 4) % 4;
  const f = (s * 4) % 1;
  const corners: [number, number][] = [[0.08, 0.08], [0.92, 0.08], [0.92, 0.92], [0.08, 0.92]];
  const [a, b] = [corners[side], corners[(side + 1) % 4]];
  return [a[0] + f * (b[0] - a[0]), a[1] + f * (b[1] - a[1])];
};

export const clouds: Record<string, Preset> = {
  moons: { label: "two moons", x: along(28, 7, 0.07, arc(0.38, 0.5, 0.32, 0.5, 0)), y: along(28, 11, 0.07, arc(0.62, 0.5, 0.32, 0.5, 1)) },
  split: { label: "one blob to three", x: along(30, 5, 0.22, blob([[0.2, 0.5]])), y: along(30, 3, 0.13, blob([[0.8, 0.15], [0.85, 0.5], [0.8, 0.85]])) },
  ring: { label: "ring to square", x: along(32, 9, 0, arc(0.5, 0.5, 0.2, 0, 1)), y: along(32, 13, 0, square) },
  outlier: { label: "outliers", x: along(20, 21, 0.14, blob([[0.3, 0.4]])).concat(0.08, 0.93), y: along(20, 23, 0.14, blob([[0.6, 0.5]])).concat(0.93, 0.06) },
  many: { label: "60 to 60 points", x: along(60, 31, 0.08, arc(0.42, 0.5, 0.3, 0.9, 0.1)), y: along(60, 37, 0.08, arc(0.58, 0.5, 0.3, 0.4, -0.4)) },
};

const bins = 48;

const bump = (s: number, center: number, width: number) => Math.exp(-(((s - center) / width) ** 2) / 2);

/** Heights of bins, in [0, 1]. */
function heights(of: (s: number) => number): number[] {
  return Array.from({ length: bins }, (_, i) => snap(of((i + 0.5) / bins)));
}

/** In a histogram, x holds the heights of μ and y those of ν. */
export const axes: Record<string, Preset> = {
  bumps: { label: "one bump to two", x: heights((s) => 0.9 * bump(s, 0.3, 0.09)), y: heights((s) => 0.8 * bump(s, 0.55, 0.06) + 0.5 * bump(s, 0.85, 0.05)) },
  shift: { label: "a shift", x: heights((s) => 0.9 * bump(s, 0.25, 0.07)), y: heights((s) => 0.9 * bump(s, 0.75, 0.07)) },
  uneven: { label: "block to ramp", x: heights((s) => (s > 0.1 && s < 0.5 ? 0.7 : 0)), y: heights((s) => (s > 0.35 ? 0.95 * (s - 0.35) / 0.65 : 0)) },
};
