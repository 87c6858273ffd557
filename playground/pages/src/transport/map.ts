// The map of a plan: rows are points of the first cloud, columns of the second; potentials stand at its edges.

import { keyOf } from "../../../viewer/src/dom";
import { figure } from "../../../viewer/src/panel";
import { Theme, bins, sequential } from "../../../viewer/src/theme";
import { Picture } from "../shell/shell";

export interface Shown {
  n: number;
  m: number;
  plan: Float64Array | null;
  f?: Float64Array;
  g?: Float64Array;
  rowColor(i: number, theme: Theme): string;
  columnColor(j: number, theme: Theme): string;
}

export interface Pointed {
  row: number; // -1: none
  column: number;
}

export const none: Pointed = { row: -1, column: -1 };

/** The entry that an address names as row.column. */
export function pointedOf(at: string): Pointed {
  const [row, column] = at.split(".").map(Number);
  return column >= 0 ? { row, column } : none;
}

const edge = 40; // for the potentials
const legend = 26;

export class PlanMap extends Picture {
  private readonly cells = document.createElement("canvas");
  private image: ImageData | null = null;
  private readonly ramp = Uint32Array.from(sequential(), (c) => {
    const [r, g, b] = c.match(/\d+/g)!.map(Number);
    return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
  });
  shown: Shown = { n: 0, m: 0, plan: null, rowColor: () => "", columnColor: () => "" };
  pointed = none;

  constructor(private readonly point: (p: Pointed, how: "pointer" | "keys") => void) {
    super("map of the plan: a row for each point of the first side, a column for each of the second. Arrow keys move " +
      "from entry to entry.", "plan");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    const at = (e: PointerEvent) => this.point(this.entry(e), "pointer");
    this.canvas.addEventListener("pointermove", at);
    this.canvas.addEventListener("pointerdown", at);
    this.canvas.addEventListener("pointerleave", (e) => {
      if (e.pointerType === "mouse") this.point(none, "pointer");
    });
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  /** The mass of the entry that is pointed at; undefined where there is none. */
  get mass(): number | undefined {
    const { row, column } = this.pointed;
    const { n, m, plan } = this.shown;
    return plan && row >= 0 && row < n && column >= 0 && column < m ? plan[row * m + column] : undefined;
  }

  /** Says which entry is pointed at, and its mass; "" where there is none. */
  words(): string {
    const { mass, pointed: { row, column } } = this;
    return mass === undefined ? "" : `π[${row + 1}, ${column + 1}] = ${figure(mass)}`;
  }

  private entry(e: PointerEvent): Pointed {
    const [x, y] = this.place(e);
    const column = Math.floor(((x - edge) / (this.width - edge - 2)) * this.shown.m);
    const row = Math.floor(((y - edge) / (this.height - edge - legend)) * this.shown.n);
    const inside = row >= 0 && row < this.shown.n && column >= 0 && column < this.shown.m;
    return inside ? { row, column } : none;
  }

  private key(e: KeyboardEvent) {
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const key = keyOf(e);
    if (key === "Escape") return this.point(none, "keys");
    const by = moves[key];
    if (!by || !this.shown.n) return;
    e.preventDefault();
    const clamp = (v: number, n: number) => Math.min(n - 1, Math.max(0, v));
    this.point({ row: clamp(this.pointed.row + by[0], this.shown.n),
      column: clamp(this.pointed.column + by[1], this.shown.m) }, "keys");
  }

  protected draw(theme: Theme) {
    const { n, m, plan } = this.shown;
    const wide = this.width - edge - 2;
    const high = this.height - edge - legend;
    if (!n || !m) return;
    this.pen.fillStyle = sequential()[0];
    this.pen.fillRect(edge, edge, wide, high);
    let most = 0;
    if (plan) {
      for (const p of plan) most = Math.max(most, p);
      this.fill(plan, most);
      this.pen.imageSmoothingEnabled = false;
      this.pen.drawImage(this.cells, edge, edge, wide, high);
    } else this.hint(theme, "no plan", edge + wide / 2, edge + high / 2);
    this.edges(theme, wide, high);
    this.explain(theme, wide, most);
    this.mark(theme, wide, high);
  }

  private hint(theme: Theme, text: string, x: number, y: number) {
    this.pen.fillStyle = theme.dark ? theme.text : "#ffffff";
    this.pen.font = "13px system-ui, sans-serif";
    this.pen.textAlign = "center";
    this.pen.fillText(text, x, y);
  }

  /** The square root of the mass, so that small entries show, too. */
  private fill(plan: Float64Array, most: number) {
    const { n, m } = this.shown;
    if (!this.image || this.image.width !== m || this.image.height !== n) {
      this.cells.width = m;
      this.cells.height = n;
      this.image = this.cells.getContext("2d")!.createImageData(m, n);
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let k = 0; k < plan.length; k++) pixels[k] = this.ramp[Math.round(Math.sqrt(plan[k] / most) * (bins - 1)) || 0];
    this.cells.getContext("2d")!.putImageData(this.image, 0, 0);
  }

  /** Points at the edges, and potentials as bars that grow away from the map. */
  private edges(theme: Theme, wide: number, high: number) {
    const { n, m, f, g } = this.shown;
    const bars = (values: Float64Array | undefined, count: number, bar: (k: number, share: number) => void) => {
      let [low, top] = [Infinity, -Infinity];
      for (const v of values ?? []) if (Number.isFinite(v)) [low, top] = [Math.min(low, v), Math.max(top, v)];
      for (let k = 0; k < count; k++) {
        const v = values?.[k] ?? NaN;
        bar(k, Number.isFinite(v) && top > low ? (v - low) / (top - low) : 0);
      }
    };
    const room = edge - 14;
    bars(f, n, (i, share) => {
      this.pen.fillStyle = this.shown.rowColor(i, theme);
      this.pen.fillRect(edge - 8, edge + (i * high) / n, 5, Math.max(1, high / n - 0.5));
      this.pen.globalAlpha = 0.45;
      this.pen.fillRect(edge - 9 - share * room, edge + (i * high) / n, share * room, Math.max(1, high / n - 0.5));
      this.pen.globalAlpha = 1;
    });
    bars(g, m, (j, share) => {
      this.pen.fillStyle = this.shown.columnColor(j, theme);
      this.pen.fillRect(edge + (j * wide) / m, edge - 8, Math.max(1, wide / m - 0.5), 5);
      this.pen.globalAlpha = 0.45;
      this.pen.fillRect(edge + (j * wide) / m, edge - 9 - share * room, Math.max(1, wide / m - 0.5), share * room);
      this.pen.globalAlpha = 1;
    });
    this.pen.fillStyle = theme.faint;
    this.pen.font = "italic 13px Georgia, serif";
    this.pen.textAlign = "left";
    if (f && g) this.pen.fillText("f, g", 3, 16); // each from its lowest
  }

  private explain(theme: Theme, wide: number, most: number) {
    const y = this.height - 16;
    const ramp = sequential();
    const text = most ? `0 to ${Number(most.toPrecision(2))} of the mass, √ scale` : "";
    this.pen.font = "12px system-ui, sans-serif";
    const bar = Math.max(24, Math.min(140, wide * 0.4, wide - 8 - this.pen.measureText(text).width));
    ramp.forEach((c, k) => {
      this.pen.fillStyle = c;
      this.pen.fillRect(edge + (k * bar) / bins, y, bar / bins + 0.6, 8);
    });
    this.pen.fillStyle = theme.faint;
    this.pen.textAlign = "left";
    this.pen.fillText(text, edge + bar + 8, y + 8);
  }

  private mark(theme: Theme, wide: number, high: number) {
    const { row, column } = this.pointed;
    const { n, m } = this.shown;
    const [x, y] = [edge + (column * wide) / m, edge + (row * high) / n];
    if (row >= 0 && row < n) this.outline(theme, 1, edge, y, wide, high / n);
    if (column >= 0 && column < m) this.outline(theme, 1, x, edge, wide / m, high);
    if (row < 0 || column < 0 || row >= n || column >= m) return;
    this.outline(theme, 2.5, x, y, wide / m, high / n);
  }

  /** Outlines a rectangle. A wider line below parts the mark from colors of the map that are near its own. */
  private outline(theme: Theme, width: number, ...place: [number, number, number, number]) {
    for (const [color, more] of [[theme.panel, 2], [theme.mark, 0]] as const) {
      this.pen.strokeStyle = color;
      this.pen.lineWidth = width + more;
      this.pen.strokeRect(...place);
    }
  }
}
