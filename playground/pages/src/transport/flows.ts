// Flows of a plan as lines, in a few strengths, so that a picture takes a few strokes.

import type { Pen } from "../shell/shell";

const strengths = 8;
const faintest = 0.004; // of the largest entry: what is weaker does not show

let kept = new Uint8Array(0);

/** Draws the entries of a plan [n, m] as lines: line(i, j) adds one to the path. only restricts them to a row or a column. */
export function drawFlows(
  pen: Pen, plan: Float64Array, m: number, color: string,
  line: (i: number, j: number) => void, only: { row: number; column: number } = { row: -1, column: -1 },
) {
  let most = 0;
  for (const p of plan) if (p > most) most = p;
  if (!most) return;
  if (kept.length < plan.length) kept = new Uint8Array(plan.length);
  for (let k = 0; k < plan.length; k++) {
    const share = plan[k] / most;
    const other = (only.row >= 0 && Math.floor(k / m) !== only.row) || (only.column >= 0 && k % m !== only.column);
    kept[k] = share < faintest || other ? 0 : Math.max(1, Math.ceil(Math.sqrt(share) * strengths));
  }
  pen.strokeStyle = color;
  pen.lineCap = "round";
  for (let s = 1; s <= strengths; s++) {
    pen.beginPath();
    for (let k = 0; k < plan.length; k++) if (kept[k] === s) line(Math.floor(k / m), k % m);
    pen.globalAlpha = 0.06 + 0.74 * (s / strengths) ** 1.6;
    pen.lineWidth = 0.6 + 2.4 * (s / strengths) ** 1.5;
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** A color between two, which are #rrggbb. */
export function mix(a: string, b: string, t: number): string {
  const part = (c: string, k: number) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
  return `rgb(${[0, 1, 2].map((k) => Math.round(part(a, k) + t * (part(b, k) - part(a, k)))).join(",")})`;
}
