import { make } from "./panel";
import type { Theme } from "./theme";

/** Joins panels to one picture, as they stand on the page, under a caption. */
export function compose(columns: SVGSVGElement[][], caption: string, theme: Theme): SVGSVGElement {
  const gap = 10;
  const head = 30;
  const parts: SVGElement[] = [];
  let x = gap;
  let height = 0;
  for (const column of columns) {
    let y = head;
    let wide = 0;
    let row: SVGSVGElement[] = [];
    const place = () => {
      let at = x;
      for (const p of row) {
        const copy = p.cloneNode(true) as SVGSVGElement;
        for (const name of ["tabindex", "class", "role", "aria-roledescription"]) copy.removeAttribute(name);
        copy.setAttribute("x", String(at));
        copy.setAttribute("y", String(y));
        parts.push(copy);
        at += Number(p.getAttribute("width")) + gap;
      }
      wide = Math.max(wide, at - x);
      y += Math.max(0, ...row.map((p) => Number(p.getAttribute("height")))) + gap;
      row = [];
    };
    for (const p of column) {
      if (p.dataset.panel === "curves" || row.length === 2) place();
      row.push(p);
    }
    place();
    x += wide;
    height = Math.max(height, y);
  }
  return make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${x} ${height}`, width: x, height,
    "font-family": "system-ui, sans-serif" },
    make("rect", { width: x, height, fill: theme.back }),
    make("text", { x: gap + 4, y: 20, fill: theme.text, "font-size": 14, "font-weight": 600 }, caption),
    ...parts);
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
