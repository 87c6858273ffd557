import source from "../../../docs/schematic.svg";
import { element } from "./dom";
import type { Kind } from "./panel";

// A strict content security policy forbids style elements: the viewer's sheet takes the rules.
const [whole, rules] = /<style>(.*?)<\/style>/s.exec(source)!;

export const schematicStyle = rules;

const ofMaps: Record<Kind, string[]> = {
  z: ["plan-z"], g: ["plan-g"], t: ["plan-t"], "z-g": ["plan-z", "plan-g"], "z-t": ["plan-z", "plan-t"], pin: ["plan-z"], ab: ["plan-z"],
};

/** The parts of the method that a panel shows. */
export function partsOf(panel: string, kind: Kind): string[] {
  const parts: Record<string, string[]> = { plan: ofMaps[kind], embedding: ["embeddings"], graphs: ["views"], matrix: ["matrix"],
    curves: ["losses"] };
  return parts[panel] ?? [];
}

/** The drawing of the method, on which what is shown is marked. */
export class Schematic {
  readonly element: HTMLDetailsElement;
  private readonly svg: SVGSVGElement;

  constructor() {
    const page = new DOMParser().parseFromString(source.replace(whole, ""), "image/svg+xml");
    this.svg = document.importNode(page.documentElement, true) as unknown as SVGSVGElement;
    this.element = element("details", { class: "method" }, element("summary", {}, "where this is in the method"), this.svg);
  }

  mark(parts: string[]) {
    for (const g of this.svg.querySelectorAll("[data-part]"))
      g.classList.toggle("shown", parts.includes(g.getAttribute("data-part")!));
  }
}
