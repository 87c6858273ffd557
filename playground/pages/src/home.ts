// The first page: small pictures of the others.

import { type Theme, onTheme, outline, sequential } from "../../viewer/src/theme";
import { presets } from "./gromov/presets";
import { Outline, Picture, type Pen, start } from "./shell/shell";
import { clouds } from "./transport/presets";

type Draw = (pen: Pen, width: number, height: number, theme: Theme) => void;

const cards: Record<string, Draw> = {
  transport(pen, width, height, theme) {
    const { x, y } = clouds.moons;
    const at = (p: number[], i: number): [number, number] => [width / 2 + (p[2 * i] - 0.5) * height * 1.25, height * (1 - p[2 * i + 1])];
    pen.strokeStyle = theme.faint;
    for (let i = 0; i < x.length / 2; i++) {
      pen.globalAlpha = 0.5;
      pen.beginPath();
      pen.moveTo(...at(x, i));
      pen.lineTo(...at(y, i));
      pen.stroke();
    }
    pen.globalAlpha = 1;
    for (const [p, c] of [[x, 0], [y, 1]] as const) {
      pen.fillStyle = theme.classes[c];
      for (let i = 0; i < p.length / 2; i++) pen.fill(new Outline(outline(c, ...at(p, i), 5)));
    }
  },
  gromov(pen, width, height, theme) {
    const { a, b, truth } = presets.features;
    const side = height * 0.95;
    const at = (p: number[], i: number, right: boolean): [number, number] =>
      [width * (right ? 0.75 : 0.25) + (p[2 * i] - 0.5) * side * 0.8, height / 2 + (0.5 - p[2 * i + 1]) * side];
    const line = (from: [number, number], to: [number, number]) => {
      pen.beginPath();
      pen.moveTo(...from);
      pen.lineTo(...to);
      pen.stroke();
    };
    for (const [g, right] of [[a, false], [b, true]] as const) {
      pen.strokeStyle = theme.text;
      pen.lineWidth = 2;
      for (const [i, j] of g.edges) line(at(g.points, i, right), at(g.points, j, right));
    }
    pen.strokeStyle = theme.classes[2];
    pen.lineWidth = 1.5;
    truth!.forEach((j, i) => line(at(a.points, i, false), at(b.points, j, true)));
    for (const [g, right] of [[a, false], [b, true]] as const)
      g.colors.forEach((c, i) => {
        pen.fillStyle = theme.classes[[0, 1, 3, 4][c]];
        pen.fill(new Outline(outline(c, ...at(g.points, i, right), 7)));
      });
  },
  continual(pen, width, height) {
    const n = 6;
    const cell = (height * 0.92) / n;
    const ramp = sequential();
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) {
        pen.fillStyle = ramp[Math.round((ramp.length - 1) * (0.95 - 0.11 * (i - j)))];
        pen.fillRect(width / 2 + (j - n / 2) * cell, height * 0.04 + i * cell, cell - 2, cell - 2);
      }
  },
};

class Card extends Picture {
  constructor(canvas: HTMLCanvasElement, private readonly how: Draw) {
    super("", "card", canvas);
  }
  protected draw(theme: Theme) {
    this.how(this.pen, this.width, this.height, theme);
  }
}

start();
for (const canvas of document.querySelectorAll<HTMLCanvasElement>("canvas[data-card]")) {
  const card = new Card(canvas, cards[canvas.dataset.card!]);
  onTheme(() => card.paint());
}
