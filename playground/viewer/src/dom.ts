import { make } from "./panel";

// Signs of the buttons, in a square of 16: fonts lack some of them.
const signs: Record<string, string> = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2v12l10-6z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M5 3v10l7-5z",
};

/** A sign for a button. */
export function sign(name: string): SVGSVGElement {
  return make("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", fill: "currentColor" },
    make("path", { d: signs[name] }));
}

/**
 * The key of an event; "" with Alt, Ctrl or Meta, which make shortcuts of the browser. Letters are in lower case: shift and
 * caps lock change nothing.
 */
export function keyOf(e: KeyboardEvent): string {
  if (e.altKey || e.ctrlKey || e.metaKey) return "";
  return e.key.length === 1 ? e.key.toLowerCase() : e.key;
}

/** An element with attributes and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/** Gives a root its style: by a sheet, which a strict content security policy allows, or by an element in older browsers. */
export function dress(root: ShadowRoot, rules: string) {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    root.adoptedStyleSheets = [sheet];
  } catch {
    root.append(element("style", {}, rules));
  }
}
