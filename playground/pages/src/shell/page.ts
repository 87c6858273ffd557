// A page that solves: it loads the solver, and once a frame lets its problem work and its pictures follow.

import { onTheme } from "../../../viewer/src/theme";
import { type Control, button } from "./controls";
import { type Picture, Status, start } from "./shell";
import { Solver } from "./solver";
import { Values, fragment, read, write } from "./state";

/** Times of the frames while something moves, in milliseconds. */
export class Meter {
  private frames: number[] = [];
  private works: number[] = [];
  private last = 0;

  /** Counts a frame that began at a time and worked that long. active says whether the frame before moved, too. */
  count(began: number, worked: number, active: boolean) {
    if (active && this.last) {
      this.frames.push(began - this.last);
      this.works.push(worked);
      if (this.frames.length > 600) this.reset();
    }
    this.last = began;
  }

  reset() {
    this.frames = [];
    this.works = [];
  }

  /** Median and longest of the frames' intervals, and of the page's work in them. */
  figures() {
    const of = (x: number[]) => {
      const sorted = [...x].sort((a, b) => a - b);
      return { median: sorted[sorted.length >> 1] ?? 0, longest: sorted[sorted.length - 1] ?? 0 };
    };
    return { count: this.frames.length, frame: of(this.frames), work: of(this.works) };
  }
}

export abstract class Page<S extends Values> {
  readonly status = new Status();
  readonly meter = new Meter();
  readonly settings: S;
  protected readonly place: HTMLElement;
  protected readonly controls: Record<string, Control<never>> = {}; // by the settings' keys
  protected solver: Solver | null = null;
  private moved = false;

  constructor(protected readonly defaults: S) {
    this.settings = this.addressed();
    this.place = start(this.status, () => this.address());
  }

  /** Begins: subclasses have built their content. */
  protected begin() {
    document.getElementById("tools")!.append(button("save", "Save picture (SVG)", "one file with the picture and the plan",
      () => void this.save()));
    onTheme(() => this.show());
    addEventListener("hashchange", () => {
      Object.assign(this.settings, this.addressed());
      this.restore();
    });
    this.show();
    requestAnimationFrame((at) => this.frame(at));
    this.status.say("Loading the solver…");
    Solver.load(() => this.lose()).then(
      (solver) => {
        this.solver = solver;
        this.status.say("");
        document.body.dataset.ready = "";
      },
      (error) => this.status.say(`The solver cannot be loaded. ${error.message}`, true),
    );
    Object.assign(window, { page: this }); // for the curious, and for tests
  }

  /** The module has failed: it solves nothing more. */
  private lose() {
    this.solver = null;
    this.status.say("The solver has ended: reload the page.", true);
  }

  private frame(at: number) {
    const began = performance.now();
    const moves = this.solver !== null && this.work(this.solver, at);
    if (moves) this.show();
    if (moves || this.moved) this.meter.count(at, performance.now() - began, this.moved);
    this.moved = moves;
    requestAnimationFrame((next) => this.frame(next));
  }

  /** The settings of the address. */
  private addressed(): S {
    return read(this.defaultsOf(read(this.defaults)));
  }

  /** What keys have that an address with these settings lacks. */
  protected defaultsOf(_: S): S {
    return this.defaults;
  }

  /** The fragment of the address that shows the page's state. */
  address(): string {
    return fragment(this.settings, this.defaultsOf(this.settings));
  }

  /** The controls show the settings. */
  protected fillControls() {
    for (const [key, control] of Object.entries(this.controls)) control.value = this.settings[key] as never;
  }

  /** The address follows the settings. */
  protected remember() {
    write(this.address());
  }

  private async save() {
    try {
      const { savePictures } = await import("./save.js"); // of the folder assets
      this.status.say(savePictures(document.body.dataset.page!, this.address(), this.pictures()));
    } catch (error) {
      this.status.say(`The picture cannot be saved. ${(error as Error).message}`, true);
    }
  }

  /** Works for a part of a frame. Says whether there is something new to show. */
  protected abstract work(solver: Solver, at: number): boolean;
  /** What is saved as a picture. */
  protected abstract pictures(): Picture[];
  /** Shows everything. */
  protected abstract show(): void;
  /** Takes settings that came from the address. */
  protected abstract restore(): void;
}
