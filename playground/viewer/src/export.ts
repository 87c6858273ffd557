import { make } from "./panel";
import type { Theme } from "./theme";

const gap = 10;
const head = 30;

/** Joins the panels and the headings of a stage to one picture, as they stand on the page, under a caption. */
export function compose(stage: HTMLElement, caption: string, theme: Theme): SVGSVGElement {
  const from = stage.getBoundingClientRect();
  const parts: SVGElement[] = [];
  for (const heading of stage.querySelectorAll("h2")) {
    const box = heading.getBoundingClientRect();
    parts.push(make("text", { x: box.left - from.left, y: head + box.bottom - from.top - 5, fill: theme.text,
      "font-size": 15, "font-weight": 600 }, heading.textContent!));
  }
  for (const panel of stage.querySelectorAll<SVGSVGElement>("svg.panel")) {
    const box = panel.getBoundingClientRect();
    const copy = panel.cloneNode(true) as SVGSVGElement;
    for (const name of ["tabindex", "class", "role", "aria-roledescription"]) copy.removeAttribute(name);
    copy.setAttribute("x", String(box.left - from.left));
    copy.setAttribute("y", String(head + box.top - from.top));
    parts.push(copy);
  }
  return sheet(Math.ceil(from.width), Math.ceil(head + from.height + gap), theme,
    make("text", { x: gap, y: 20, fill: theme.faint, "font-size": 13 }, caption), ...parts);
}

/** A picture with a background. */
export function sheet(width: number, height: number, theme: Theme, ...parts: SVGElement[]): SVGSVGElement {
  return make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height,
    "font-family": "system-ui, sans-serif" }, make("rect", { width, height, fill: theme.back }), ...parts);
}

export function text(svg: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(svg);
}

/** Draws a picture at a scale that makes it at most a number of pixels wide. */
export async function pixels(svg: SVGSVGElement, widest: number): Promise<ImageData> {
  const width = Number(svg.getAttribute("width"));
  const scale = Math.min(1, widest / width);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(Number(svg.getAttribute("height")) * scale);
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

export function download(content: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
