// What all pages share: the header, the line of status, and pictures on canvas.

import { element } from "../../../viewer/src/dom";
import { type Theme, onTheme, theme } from "../../../viewer/src/theme";
import { fragment, has } from "./state";

/** Says on the page that its script failed: else a browser that lacks something shows a page that does nothing. */
function tellFailure(error: unknown) {
  const line = document.querySelector(".status") ?? place().appendChild(element("p", { role: "alert" }));
  line.textContent = `The page failed (${error}). This browser may lack something that it needs: reload, or use a newer one.`;
  line.className = "status wrong";
}

// An event without an error is a notice of the browser, such as that sizes changed too often in a frame.
addEventListener("error", (e) => e.error && tellFailure(e.error));
addEventListener("unhandledrejection", (e) => tellFailure(e.reason));

/** The element for the page's content. */
function place(): HTMLElement {
  return document.getElementById("page") ?? document.getElementById("main")!;
}

/** Says something, on the page and to screen readers. */
export class Status {
  readonly element = element("p", { class: "status", role: "status", "aria-live": "polite" });
  private pointed = "";
  say(text: string, wrong = false) {
    if (this.element.textContent === text) return;
    this.element.textContent = text;
    this.element.classList.toggle("wrong", wrong);
  }

  /** Says what holds of the entry that is pointed at; "" takes it back. */
  point(text: string) {
    if (text === this.pointed) return;
    if (text || this.element.textContent === this.pointed) this.say(text);
    this.pointed = text;
  }

  /** Takes back what it said was wrong. */
  clearFault() {
    if (this.element.classList.contains("wrong")) this.say("");
  }
}

/**
 * Fills the header, obeys "embed" in the address, and returns the place for the page's content. With a status and an
 * address, the header has a button that copies a link.
 */
export function start(status?: Status, address?: () => string): HTMLElement {
  const skip = document.querySelector<HTMLAnchorElement>(".skip");
  skip?.addEventListener("click", (e) => {
    e.preventDefault(); // the fragment is the page's state
    document.getElementById("main")!.focus();
  });
  if (has("embed")) document.body.classList.add("embed");
  keepTheme();
  onTheme(keepTheme);
  if (status && address) {
    const share = element("button", { type: "button", id: "share", title: "copy a link that shows what you see" }, "Copy link");
    share.addEventListener("click", () => copy(status, address()));
    document.getElementById("tools")!.append(share);
  }
  return place();
}

/** Links to other pages have the theme of the address, too. */
function keepTheme() {
  const theme = fragment({}, {});
  for (const link of document.querySelectorAll(".top a, a.card"))
    link.setAttribute("href", link.getAttribute("href")!.split("#")[0] + (theme && `#${theme}`));
}

async function copy(status: Status, address: string) {
  try {
    await navigator.clipboard.writeText(location.href.split("#")[0] + (address && `#${address}`));
    status.say("The link is copied.");
  } catch {
    status.say("The browser does not let the page copy: take the link from the address bar.");
  }
}

/** An outline as a path of SVG. */
export class Outline extends Path2D {
  constructor(readonly d: string) { super(d); }
}

/** What pictures use of a canvas. */
export type Pen = Pick<CanvasRenderingContext2D, "lineWidth" | "lineCap" | "globalAlpha" | "font" | "textAlign" |
  "imageSmoothingEnabled" | "beginPath" | "closePath" | "moveTo" | "lineTo" | "bezierCurveTo" | "arc" | "rect" | "fillRect" |
  "strokeRect" | "fillText" | "measureText" | "setLineDash"> & {
    fillStyle: unknown;
    strokeStyle: unknown;
    fill(): void;
    fill(of: Outline): void;
    stroke(): void;
    stroke(of: Outline): void;
    drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
  };

/** A picture that is drawn when it changes, at most once a frame, with the screen's pixels. */
export abstract class Picture {
  readonly canvas: HTMLCanvasElement;
  protected pen: Pen;
  protected width = 0;
  protected height = 0;
  private readonly screen: CanvasRenderingContext2D;

  constructor(label: string, name: string, canvas = element("canvas")) {
    this.canvas = canvas;
    if (label) canvas.setAttribute("aria-label", label);
    canvas.dataset.picture = name;
    this.pen = this.screen = this.canvas.getContext("2d")!;
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    this.followScreen();
  }

  /** Fits when a pixel of the page has another size on the screen: after a zoom, or on another monitor. */
  private followScreen() {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
      this.fit();
      this.followScreen();
    }, { once: true });
  }

  private fit() {
    const scale = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.screen.setTransform(this.canvas.width / width, 0, 0, this.canvas.height / height, 0, 0);
    this.paint();
  }

  /** Draws now. */
  paint() {
    if (!this.width) return;
    this.screen.clearRect(0, 0, this.width, this.height);
    this.draw(theme());
  }

  /** Draws with another pen. */
  drawWith(pen: Pen) {
    this.pen = pen;
    try {
      this.draw(theme());
    } finally {
      this.pen = this.screen;
    }
  }

  /** The place of a pointer, in pixels of the picture. */
  protected place(e: PointerEvent | MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  protected abstract draw(theme: Theme): void;
}
