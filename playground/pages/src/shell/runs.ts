// The buttons that run a solver: restart, step, play, converge. Their keys work while a picture or one of the buttons has the
// focus: single letters elsewhere may be words that a reader dictates.

import { element, keyOf } from "../../../viewer/src/dom";
import { button } from "./controls";

/** A button: its text, the title without its key, and what it does. */
export type Act = readonly [string, string, () => void];

export class Runs {
  readonly element: HTMLElement;
  private readonly playing: HTMLButtonElement;
  private readonly buttons: HTMLButtonElement[];
  private next = 0; // when the next step is due; 0: does not play

  /** Pace is the milliseconds of a step that plays. Begin is called when playing begins. */
  constructor(private readonly pace: number, play: string, private readonly acts: { restart: Act; step: Act; converge: Act },
    private readonly begin = () => {}) {
    const of = (name: string, key: string, [text, title, act]: Act) => button(name, text, `${title} (${key})`, act);
    this.playing = of("play", "space", ["Play", play, () => this.toggle()]);
    this.buttons = [of("restart", "R", acts.restart), of("step", "S", acts.step), this.playing, of("converge", "C", acts.converge)];
    this.element = element("div", { class: "tools", role: "group", "aria-label": "run" }, ...this.buttons);
    addEventListener("keydown", (e) => this.key(e));
  }

  private key(e: KeyboardEvent) {
    const onButton = this.element.contains(e.target as Node);
    if (!this.enabled || !(onButton || e.target instanceof HTMLCanvasElement)) return;
    const { restart, step, converge } = this.acts;
    const act = ({ " ": () => this.toggle(), r: restart[2], s: step[2], c: converge[2] } as Record<string, () => void>)[keyOf(e)];
    if (!act || (onButton && e.key === " ")) return; // a space presses the button
    e.preventDefault();
    act();
  }

  get enabled(): boolean { return !this.playing.disabled; }

  /** Whether there is something to run: else neither buttons nor keys do anything. */
  set enabled(on: boolean) {
    if (!on) this.play(false);
    for (const b of this.buttons) b.disabled = !on;
  }

  private toggle() { this.play(this.next === 0); }

  play(on: boolean) {
    if (on) this.begin();
    this.next = on ? performance.now() + this.pace : 0;
    this.playing.textContent = on ? "Pause" : "Play";
    this.playing.setAttribute("aria-pressed", String(on));
  }

  /** Says whether a step is due at a time. */
  due(at: number): boolean {
    if (!this.next || at < this.next) return false;
    this.next = at + this.pace;
    return true;
  }
}
