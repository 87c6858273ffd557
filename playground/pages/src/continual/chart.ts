// AP after each task, a line a method; those of controls are dashed.

import { type Theme, outline } from "../../../viewer/src/theme";
import { Outline, Picture } from "../shell/shell";

export interface Line {
  label: string;
  color: number; // of the theme's classes
  control: boolean;
  values: number[]; // percent, a task each
}

const [left, foot, top, right] = [40, 26, 10, 12];

export class Chart extends Picture {
  lines: Line[] = [];
  tasks = 1;

  constructor() {
    super("AP after each task", "ap");
    this.canvas.setAttribute("role", "img");
  }

  show(lines: Line[], tasks: number) {
    [this.lines, this.tasks] = [lines, tasks];
    const words = lines.filter((l) => l.values.length).map((l) => `${l.label} ${l.values.at(-1)!.toFixed(1)}`);
    this.canvas.setAttribute("aria-label", `AP in percent after each task; newest: ${words.join(", ") || "none yet"}`);
    this.paint();
  }

  protected draw(theme: Theme) {
    const pen = this.pen;
    const all = this.lines.flatMap((l) => l.values);
    const low = Math.floor(Math.min(90, ...all) / 10) * 10;
    const x = (k: number) => left + 10 + ((this.width - left - right - 20) * k) / Math.max(1, this.tasks - 1);
    const y = (v: number) => top + ((this.height - top - foot) * (100 - v)) / (100 - low);
    pen.font = "12px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.textAlign = "right";
    for (let v = low; v <= 100; v += 100 - low > 40 ? 20 : 10) {
      pen.strokeStyle = theme.line;
      pen.beginPath();
      pen.moveTo(left, y(v));
      pen.lineTo(this.width - right, y(v));
      pen.stroke();
      pen.fillStyle = theme.faint;
      pen.fillText(`${v}`, left - 6, y(v) + 4);
    }
    pen.textAlign = "center";
    for (let k = 0; k < this.tasks; k++) pen.fillText(k ? String(k + 1) : "task 1", x(k), this.height - 6);
    if (!all.length) pen.fillText("no task is learned yet", (this.width + left) / 2, this.height / 2);
    for (const l of this.lines) {
      if (!l.values.length) continue;
      pen.strokeStyle = pen.fillStyle = theme.classes[l.color % theme.classes.length];
      pen.lineWidth = l.control ? 1.6 : 2.4;
      pen.setLineDash(l.control ? [6, 4] : []);
      pen.beginPath();
      l.values.forEach((v, k) => pen.lineTo(x(k), y(v)));
      pen.stroke();
      pen.setLineDash([]);
      l.values.forEach((v, k) => pen.fill(new Outline(outline(l.color, x(k), y(v), 4))));
    }
  }
}
