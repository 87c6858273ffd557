import type { Moment, Run } from "./recording";
import type { Theme } from "./theme";

/** What a map shows. */
export type Kind = "z" | "g" | "t" | "z-g" | "z-t" | "pin" | "ab";

export interface Pointed {
  row: number; // a node in view 1, by its place
  column: number; // a node in view 2
}

/** What all panels of a run draw from. */
export interface Scene {
  run: Run;
  at: number; // the moment of this run, or -1
  now: Moment | null;
  pinned: Moment | null; // of the same run
  other: Moment | null; // of the other run, at the same time
  kind: Kind;
  group: string; // of curves
  score: string; // setting and probe of the matrix
  low: number; // the least accuracy of the matrices of all runs, in percent: where their colors begin
  pointed: Pointed | null;
  zoom: boolean; // fit each frame's embedding to its panel, instead of all frames of a task
  theme: Theme;
}

/** What panels tell the viewer. */
export interface Actions {
  point(p: Pointed | null): void;
  pointed(): Pointed | null; // which may be ahead of what is drawn
  jump(run: Run, moment: number): void;
  say(text: string): void;
}

const namespace = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number | null | undefined>;

export function make<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const e = document.createElementNS(namespace, name);
  set(e, attributes);
  e.append(...children);
  return e;
}

export function set(e: Element, attributes: Attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) e.removeAttribute(name);
    else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, String(value));
  }
}

/** A name such as π_Z, with its subscript set as one. */
export function formula(text: string, attributes: Attributes = {}): SVGTextElement {
  const e = make("text", attributes);
  for (const part of text.split(/(_[A-Za-z])/)) {
    if (!part.startsWith("_")) e.append(make("tspan", { dy: e.childNodes.length ? -3 : 0 }, part));
    else e.append(make("tspan", { dy: 3, "font-size": "75%" }, part.slice(1)));
  }
  return e;
}

/** A figure in three digits, with a power of ten where it is small or large. */
export function figure(x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 0.001 && size < 10_000) return String(Number(x.toPrecision(3))).replace("-", "−");
  const [lead, exponent] = x.toExponential(1).split("e").map(Number);
  const digits = [...String(exponent)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] ?? "⁻").join("");
  return (lead === 1 ? "" : `${lead}·`.replace("-", "−")) + `10${digits}`;
}

/** A picture in the viewer. Its texts and colors stand in attributes, so that it can be exported as it is. */
export abstract class Panel {
  readonly svg: SVGSVGElement;
  width = 340;
  height = 320;
  protected readonly body: SVGGElement;
  private readonly heading: SVGGElement;

  constructor(
    readonly name: string,
    protected readonly actions: Actions,
  ) {
    this.heading = make("g");
    this.body = make("g");
    this.svg = make("svg", { class: `panel ${name}`, "data-panel": name, "font-family": "system-ui, sans-serif" });
    this.svg.append(this.heading, this.body);
  }

  /** Whether the run has anything for the panel. */
  has(_: Run): boolean {
    return true;
  }

  fit(width: number) {
    this.width = Math.max(200, Math.round(width));
    this.height = this.heightFor(this.width);
    set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}`, width: this.width, height: this.height });
  }

  protected heightFor(width: number): number {
    return width + 46;
  }

  protected title(text: string, theme: Theme, label = text) {
    this.heading.replaceChildren(
      formula(text, { x: 8, y: 18, fill: theme.text, "font-size": 13, "font-weight": 600 }),
    );
    set(this.svg, { "aria-label": label });
  }

  protected empty(text: string, theme: Theme) {
    this.body.replaceChildren(
      make("text", { x: this.width / 2, y: this.height / 2, fill: theme.faint, "font-size": 12,
        "text-anchor": "middle" }, text),
    );
  }

  abstract draw(s: Scene): void;

  /** The place of an event in the picture's own units. */
  protected place(event: { clientX: number; clientY: number }): [number, number] {
    const box = this.svg.getBoundingClientRect();
    return [((event.clientX - box.left) * this.width) / box.width, ((event.clientY - box.top) * this.height) / box.height];
  }
}

/** The neighbors of nodes, and the nodes themselves. */
export function around(edges: [number, number][], nodes: number[]): Set<number> {
  const near = new Set(nodes);
  for (const [a, b] of edges) {
    if (nodes.includes(a)) near.add(b);
    if (nodes.includes(b)) near.add(a);
  }
  return near;
}
