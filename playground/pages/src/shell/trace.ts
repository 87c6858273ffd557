// The marginal error by sweep, on a logarithmic scale.

import type { Theme } from "../../../viewer/src/theme";
import { Picture } from "./shell";

const lowest = -12; // decades
const [left, foot, top] = [44, 22, 8];

export class Trace extends Picture {
  values: number[] = [];

  constructor() {
    super("marginal error by sweep, on a logarithmic scale", "trace");
    this.canvas.setAttribute("role", "img");
  }

  protected draw(theme: Theme) {
    const pen = this.pen;
    const [wide, high] = [this.width - left - 8, this.height - foot - top];
    const y = (e: number) => top + (Math.min(0, Math.max(lowest, Math.log10(e || 1e-300))) / lowest) * high;
    const n = Math.max(10, this.values.length);
    pen.font = "12px system-ui, sans-serif";
    pen.lineWidth = 1;
    for (let d = 0; d >= lowest; d -= 3) {
      pen.strokeStyle = theme.line;
      pen.beginPath();
      pen.moveTo(left, y(10 ** d));
      pen.lineTo(left + wide, y(10 ** d));
      pen.stroke();
      pen.fillStyle = theme.faint;
      pen.textAlign = "right";
      pen.fillText(d ? `1e${d}` : "1", left - 6, y(10 ** d) + 4);
    }
    pen.textAlign = "left";
    pen.fillText("sweep 1", left, this.height - 6);
    pen.textAlign = "right";
    pen.fillText(String(n), left + wide, this.height - 6);
    pen.strokeStyle = theme.classes[0];
    pen.lineWidth = 2;
    pen.beginPath();
    this.values.forEach((e, k) => pen.lineTo(left + (k / (n - 1)) * wide, y(e)));
    pen.stroke();
    const last = this.values.length - 1;
    if (last < 0) return;
    pen.fillStyle = theme.classes[0];
    pen.beginPath();
    pen.arc(left + (last / (n - 1)) * wide, y(this.values[last]), 4, 0, 2 * Math.PI);
    pen.fill();
  }
}
