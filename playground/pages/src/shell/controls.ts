// Controls with labels. Each shows a value, and calls back when the reader changes it.

import { element } from "../../../viewer/src/dom";

let count = 0;

export interface Control<T> {
  element: HTMLElement;
  value: T;
  enabled: boolean;
}

/** A slider. scale "log" has equal ratios at equal distances; off, if given, is the word for the right end, whose value is 0. */
export function slider(o: {
  name: string; label: string; title: string; low: number; high: number; value: number; scale?: "log" | "linear";
  step?: number; off?: string; change(v: number): void;
}): Control<number> {
  const log = o.scale === "log";
  const to = (v: number) => (log ? Math.log10(v) : v);
  const from = (v: number) => (log ? Number((10 ** v).toPrecision(2)) : v);
  const step = o.step ?? (log ? 0.02 : 0.01);
  // Browsers round down to whole steps from the left end, so the right end, off, is one of them.
  const high = o.off ? to(o.low) + (Math.ceil((to(o.high) - to(o.low)) / step - 1e-9) + 1) * step : to(o.high);
  const id = `c${++count}`;
  const input = element("input", { type: "range", id, name: o.name, min: String(to(o.low)), max: String(high),
    step: String(step), title: o.title });
  const shown = element("output", { for: id, "aria-live": "off" }); // the slider itself says its value
  let value = o.value;
  const isOff = () => o.off !== undefined && Number(input.value) > high - step / 2;
  const show = () => {
    shown.textContent = o.off !== undefined && value === 0 ? o.off : String(Number(value.toPrecision(3)));
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  input.addEventListener("input", () => {
    value = isOff() ? 0 : from(Number(input.value));
    show();
    o.change(value);
  });
  const control = {
    element: element("div", { class: "control" }, element("label", { for: id, title: o.title }, o.label), input, shown),
    get value() { return value; },
    set value(v: number) {
      value = v;
      input.value = String(o.off !== undefined && v === 0 ? high : to(v));
      show();
    },
    get enabled() { return !input.disabled; },
    set enabled(on: boolean) { input.disabled = !on; },
  };
  control.value = o.value;
  return control;
}

/** A choice from a list. */
export function choice<T extends string>(o: {
  name: string; label: string; options: readonly (readonly [T, string])[]; value: T; change(v: T): void;
}): Control<T> {
  const id = `c${++count}`;
  const select = element("select", { id, name: o.name }, ...o.options.map(([value, text]) => element("option", { value }, text)));
  select.value = o.value;
  select.addEventListener("change", () => o.change(select.value as T));
  return {
    element: element("div", { class: "control" }, element("label", { for: id }, o.label), select),
    get value() { return select.value as T; },
    set value(v: T) { select.value = v; },
    get enabled() { return !select.disabled; },
    set enabled(on: boolean) { select.disabled = !on; },
  };
}

/** The option that a list of examples shows for a state that is none of them. Its value is "". */
export function noExample(): HTMLOptionElement {
  return element("option", { value: "", hidden: "", disabled: "" }, "none of these");
}

/** A row of buttons of which one is pressed. */
export function tools<T extends string>(o: {
  name: string; label: string; options: readonly (readonly [T, string, string])[]; value: T; change(v: T): void;
}): Control<T> {
  let value = o.value;
  const buttons = o.options.map(([v, text, title]) => {
    const b = element("button", { type: "button", title, "data-tool": v }, text);
    b.addEventListener("click", () => {
      control.value = v;
      o.change(v);
    });
    return b;
  });
  const control = {
    element: element("div", { class: "tools", role: "group", "aria-label": o.label, "data-name": o.name }, ...buttons),
    get value() { return value; },
    set value(v: T) {
      value = v;
      buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(o.options[i][0] === v)));
    },
    get enabled() { return !buttons[0].disabled; },
    set enabled(on: boolean) { buttons.forEach((b) => (b.disabled = !on)); },
  };
  control.value = value;
  return control;
}

/** A button. */
export function button(name: string, text: string, title: string, act: () => void): HTMLButtonElement {
  const b = element("button", { type: "button", id: name, title }, text);
  b.addEventListener("click", act);
  return b;
}

/** A switch. */
export function check(o: { name: string; label: string; title: string; value: boolean; change(v: boolean): void }): Control<boolean> {
  const input = element("input", { type: "checkbox", name: o.name });
  input.addEventListener("change", () => o.change(input.checked));
  const control = {
    element: element("label", { class: "check", title: o.title }, input, o.label),
    get value() { return input.checked; },
    set value(v: boolean) { input.checked = v; },
    get enabled() { return !input.disabled; },
    set enabled(on: boolean) { input.disabled = !on; },
  };
  control.value = o.value;
  return control;
}

/** What names mean, for readers without a pointer that could rest on them: folded, below what it explains. */
export function glossary(summary: string, names: readonly (readonly [string, string])[]): HTMLElement {
  return element("details", { class: "hint" }, element("summary", {}, summary),
    element("ul", {}, ...names.map(([name, meaning]) => element("li", {}, element("b", {}, name), `: ${meaning}`))));
}

/** Figures in two columns: name and value. */
export class Figures {
  readonly element = element("div");
  private readonly values = new Map<string, HTMLElement>();

  constructor(names: readonly (readonly [string, string, string])[]) {
    const list = element("dl", { class: "figures" });
    for (const [key, text, title] of names) {
      const value = element("dd", { "data-figure": key }, "–");
      this.values.set(key, value);
      list.append(element("div", { title }, element("dt", {}, text), value));
    }
    this.element.append(list, glossary("what the figures mean", names.map(([, text, title]) => [text, title])));
  }

  set(key: string, text: string) {
    const value = this.values.get(key)!;
    if (value.textContent !== text) value.textContent = text;
  }
}
