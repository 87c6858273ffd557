// What pictures draw, as an SVG file: a pen that writes elements where a canvas sets pixels. A script of its own, which a page
// loads when it is first used.

import { download, sheet, text } from "../../../viewer/src/export";
import { make } from "../../../viewer/src/panel";
import { theme } from "../../../viewer/src/theme";
import type { Outline, Pen, Picture } from "./shell";

const gap = 16;

/** Saves pictures next to each other, and says so. The file names the address that shows them. */
export function savePictures(page: string, address: string, pictures: Picture[]): string {
  let width = gap;
  const parts = pictures.map((p) => {
    const pen = new SvgPen(p.canvas.getContext("2d")!);
    p.drawWith(pen);
    pen.element.setAttribute("transform", `translate(${width} ${gap})`);
    width += p.canvas.clientWidth + gap;
    return pen.element;
  });
  const height = Math.max(...pictures.map((p) => p.canvas.clientHeight)) + 2 * gap;
  const svg = sheet(width, height, theme(), make("title", {}, document.title), make("desc", {}, `${page}.html#${address}`),
    ...parts);
  const content = new Blob([text(svg)], { type: "image/svg+xml" });
  download(content, `${page}.svg`);
  return `${page}.svg: ${Math.ceil(content.size / 1000)} kB`;
}

class SvgPen implements Pen {
  readonly element = make("g");
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  lineCap: CanvasLineCap = "butt";
  globalAlpha = 1;
  font = "";
  textAlign: CanvasTextAlign = "left";
  imageSmoothingEnabled = false;
  private path = "";
  private dash: number[] = [];

  constructor(private readonly screen: CanvasRenderingContext2D) {}

  /** Adds commands of SVG and their numbers. */
  private add(...parts: (string | number)[]) {
    this.path += parts.map((p) => (typeof p === "string" ? p : Math.round(p * 100) / 100)).join(" ");
  }

  private put(name: "path" | "text", attributes: Record<string, string | number | undefined>, ...words: string[]) {
    const opacity = this.globalAlpha < 1 ? this.globalAlpha : undefined;
    this.element.append(make(name, { ...attributes, opacity }, ...words));
  }

  beginPath() { this.path = ""; }
  closePath() { this.add("z"); }
  moveTo(x: number, y: number) { this.add("M", x, y); }
  lineTo(x: number, y: number) { this.add("L", x, y); }
  bezierCurveTo(...at: number[]) { this.add("C", ...at); }

  /** A circle. */
  arc(x: number, y: number, r: number) {
    this.add("M", x - r, y, "a", r, r, 0, 1, 0, 2 * r, 0, "a", r, r, 0, 1, 0, -2 * r, 0);
  }

  /** As a path, which takes heights below 0 as a canvas does. */
  rect(x: number, y: number, width: number, height: number) {
    this.add("M", x, y, "h", width, "v", height, "h", -width, "z");
  }

  setLineDash(dash: number[]) { this.dash = dash; }

  fill(of?: Outline, own = {}) {
    this.put("path", { d: of?.d ?? this.path, fill: this.fillStyle, ...own });
  }

  stroke(of?: Outline) {
    this.put("path", { d: of?.d ?? this.path, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth,
      "stroke-linecap": this.lineCap, "stroke-dasharray": this.dash.join(" ") || undefined });
  }

  fillRect(...box: [number, number, number, number]) {
    this.beginPath();
    this.rect(...box);
    this.fill();
  }

  strokeRect(...box: [number, number, number, number]) {
    this.beginPath();
    this.rect(...box);
    this.stroke();
  }

  fillText(words: string, x: number, y: number) {
    const [, slant, weight, size, family] = this.font.match(/(?:(italic) )?(?:(\d+) )?(\d+)px (.+)/)!;
    this.put("text", { x, y, fill: this.fillStyle, "text-anchor": { center: "middle", right: "end" }[this.textAlign as string],
      "font-style": slant, "font-weight": weight, "font-size": size, "font-family": family }, words);
  }

  measureText(words: string) {
    this.screen.font = this.font;
    return this.screen.measureText(words);
  }

  /** Pixels as rectangles, a path for each color. */
  drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number) {
    const { width: m, height: n } = image;
    const { data } = image.getContext("2d")!.getImageData(0, 0, m, n);
    const colors = Array.from({ length: n * m }, (_, k) => `rgb(${data.slice(4 * k, 4 * k + 3)})`);
    for (const fill of new Set(colors)) {
      this.beginPath();
      colors.forEach((c, k) => {
        if (c === fill) this.rect(x + ((k % m) * width) / m, y + (Math.floor(k / m) * height) / n, width / m, height / n);
      });
      this.fill(undefined, { fill, "shape-rendering": "crispEdges" });
    }
  }
}
