// The table of methods: what is trained, what the viewer shows, and how each run fares.

import { element } from "../../../viewer/src/dom";
import { make } from "../../../viewer/src/panel";
import { outline } from "../../../viewer/src/theme";
import { glossary } from "../shell/controls";
import { keysOf, methods } from "./methods";
import type { LiveRun } from "./run";

interface Row {
  train: HTMLInputElement;
  view: HTMLInputElement;
  bar: HTMLProgressElement;
  words: HTMLElement;
  figures: HTMLElement[];
  save: HTMLButtonElement;
}

const columns = ["class-il", "task-il"];

export class MethodTable {
  readonly element: HTMLElement;
  readonly help = glossary("what the methods do", methods.map((m) => [m.label, m.about]));
  private readonly rows = new Map<string, Row>();
  private shown: string[] = [];

  constructor(private readonly choose: (methods: string[], show: string[]) => void, private readonly save: (key: string) => void) {
    const heads = ["train", "view", "method", "progress", "AP", "AF", "AP", "AF", ""];
    const head = element("thead", {}, element("tr", {}, element("td", { colspan: "4" }), element("th", { colspan: "2", scope: "colgroup" }, "Class-IL"),
      element("th", { colspan: "2", scope: "colgroup" }, "Task-IL"), element("td", {})),
      element("tr", {}, ...heads.map((h) => element(h ? "th" : "td", h ? { scope: "col" } : {}, h))));
    const body = element("tbody", {}, ...methods.map((m, i) => this.row(m.key, m.label, m.about, i)));
    this.element = element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "methods" },
      element("table", { class: "methods" }, head, body));
  }

  colorOf(key: string): number {
    return methods.findIndex((m) => m.key === key);
  }

  private row(key: string, label: string, about: string, color: number): HTMLElement {
    const box = (name: string, title: string) => element("input", { type: "checkbox", name: `${name}-${key}`, "aria-label": `${title} ${label}` });
    const r: Row = { train: box("train", "train"), view: box("view", "show"), bar: element("progress", { max: "1", value: "0", "aria-label": `progress of ${label}` }),
      words: element("span", { class: "words" }), figures: columns.flatMap(() => [element("td", {}, "–"), element("td", {}, "–")]),
      save: element("button", { type: "button", title: `save the run folder of ${label}, with result.json, as a zip`, "aria-label": `save ${label}` }, "zip") };
    r.train.addEventListener("change", () => this.picked());
    r.view.addEventListener("change", () => {
      this.shown = r.view.checked ? [...this.shown, key].slice(-2) : this.shown.filter((k) => k !== key);
      this.picked();
    });
    r.save.addEventListener("click", () => this.save(key));
    this.rows.set(key, r);
    return element("tr", { "data-method": key }, element("td", {}, r.train), element("td", {}, r.view),
      element("th", { scope: "row", title: about }, make("svg", { class: `swatch c${color}`, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
        make("path", { d: outline(color, 0, 0, 6) })), label),
      element("td", {}, r.bar, r.words), ...r.figures, element("td", {}, r.save));
  }

  private picked() {
    const trained = methods.map((m) => m.key).filter((k) => this.rows.get(k)!.train.checked);
    this.choose(trained, keysOf(this.shown.join(".")));
  }

  show(chosen: string[], shown: string[], runs: Map<string, LiveRun>) {
    this.shown = shown;
    for (const [key, r] of this.rows) {
      const run = runs.get(key);
      r.train.checked = chosen.includes(key);
      r.view.checked = shown.includes(key);
      r.bar.value = run?.state === "done" ? 1 : run?.share ?? 0;
      r.bar.hidden = !run;
      const words = !run ? "" : run.state === "failed" ? "failed" : run.state === "lost" ? "worker lost" : run.state === "paused" ? `paused, ${run.words}` : run.words;
      if (r.words.textContent !== words) r.words.textContent = words;
      columns.forEach((setting, k) => {
        const f = run?.figures(setting);
        r.figures[2 * k].textContent = f ? f.ap.toFixed(1) : "–";
        r.figures[2 * k + 1].textContent = f && f.aps.length > 1 ? `${f.af < 0 ? "−" : "+"}${Math.abs(f.af).toFixed(1)}` : "–";
      });
      r.save.hidden = run?.state !== "done";
    }
  }
}
