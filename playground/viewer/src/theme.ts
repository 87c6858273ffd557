// Colors, as values: pictures carry them with themselves when they are exported. The address chooses between light and dark.

export interface Theme {
  dark: boolean;
  back: string;
  panel: string;
  text: string;
  faint: string;
  line: string;
  mark: string;
  classes: string[];
}

// Classes have Okabe and Ito's colors, which color-blind readers tell apart, and two more. On white, the light ones are darker,
// so that lines and marks have a contrast of 3 to 1 (WCAG 2). On black, the first blue is lighter.

export const light: Theme = {
  dark: false,
  back: "#ffffff",
  panel: "#ffffff",
  text: "#222222",
  faint: "#5c5c5c",
  line: "#d4d4d4",
  mark: "#d0104c",
  classes: ["#0072b2", "#bf8500", "#009e73", "#cc79a7", "#4896c2", "#d55e00", "#9e9500", "#8c6bb1"],
};

export const dark: Theme = {
  dark: true,
  back: "#16181c",
  panel: "#1d2026",
  text: "#e8e8e8",
  faint: "#a9adb5",
  line: "#3b4048",
  mark: "#ff6b8f",
  classes: ["#2c80dc", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b3a800", "#8c6bb1"],
};

const preference = matchMedia("(prefers-color-scheme: dark)");

/** The colors that the key theme of the address names, or else the system's. */
export function theme(): Theme {
  return isDark() ? dark : light;
}

export function isDark(): boolean {
  const asked = new URLSearchParams(location.hash.slice(1)).get("theme");
  return asked === "dark" || (asked !== "light" && preference.matches);
}

/** Acts when that may have changed, until the signal aborts. */
export function onTheme(act: () => void, signal?: AbortSignal) {
  preference.addEventListener("change", act, { signal });
  addEventListener("hashchange", act, { signal });
}

type Stops = [number, number, number][];

// Viridis (Smith and van der Walt 2015) in nine points.
const viridis: Stops = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

const divergingLight: Stops = [
  [33, 102, 172],
  [103, 169, 207],
  [209, 229, 240],
  [247, 247, 247],
  [253, 219, 199],
  [239, 138, 98],
  [178, 24, 43],
];

const divergingDark: Stops = [
  [120, 190, 255],
  [58, 130, 200],
  [38, 70, 110],
  [36, 39, 46],
  [110, 52, 52],
  [200, 90, 72],
  [255, 150, 120],
];

function between(stops: Stops, x: number): string {
  const at = Math.min(1, Math.max(0, x)) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(at));
  const f = at - k;
  const mix = stops[k].map((v, c) => Math.round(v + f * (stops[k + 1][c] - v)));
  return `rgb(${mix.join(",")})`;
}

/** The number of colors of a map. Odd, so that zero has its own in a difference. */
export const bins = 63;

function sampled(stops: Stops): string[] {
  return Array.from({ length: bins }, (_, i) => between(stops, i / (bins - 1)));
}

/** The colors of amounts, from nothing to the most. A function of its own: pages without differences load no colors of them. */
export function sequential(): string[] {
  return sampled(viridis);
}

/** The colors of differences, with zero in the middle. */
export function diverging(theme: Theme): string[] {
  return sampled(theme.dark ? divergingDark : divergingLight);
}

// Six shapes, and six dashes of curves. With five, colors 6 and 1 would have the same one, with seven, colors 7 and 0. Some
// color-blind readers take these colors for one another.
const shapes = 6;

/** The outline of a node of a class: classes differ in color and in shape. */
export function outline(index: number, x: number, y: number, r: number): string {
  const [wide, thin] = [1.2 * r, 0.45 * r];
  switch (index % shapes) {
    case 1:
      return `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case 2:
      return `M${x},${y - 1.2 * r}L${x + 1.1 * r},${y + 0.8 * r}H${x - 1.1 * r}z`;
    case 3:
      return `M${x},${y - 1.3 * r}L${x + 1.3 * r},${y}L${x},${y + 1.3 * r}L${x - 1.3 * r},${y}z`;
    case 4:
      return `M${x},${y + 1.2 * r}L${x + 1.1 * r},${y - 0.8 * r}H${x - 1.1 * r}z`;
    case 5: // a plus
      return `M${x - thin},${y - wide}H${x + thin}V${y - thin}H${x + wide}V${y + thin}H${x + thin}V${y + wide}` +
        `H${x - thin}V${y + thin}H${x - wide}V${y - thin}H${x - thin}z`;
  }
  return `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`;
}
