// The address holds the state of a page, in its fragment: page.html#key=value&key=value. A key that is missing has its
// default, so that short addresses stay right. README.md lists the keys.

export type Values = Record<string, string | number | boolean>;

let waiting = 0; // the timer of a write
let newest = ""; // what it writes
let known = ""; // the address as it was read or written last

/**
 * The values of the address. Those that are not of a default's type, or not finite, keep the default. A write that still
 * waits is dropped: the address is newer.
 */
export function read<T extends Values>(defaults: T): T {
  clearTimeout(waiting);
  waiting = 0;
  known = location.hash;
  const values: Values = { ...defaults };
  const address = new URLSearchParams(location.hash.slice(1));
  for (const [key, value] of Object.entries(defaults)) {
    const text = address.get(key);
    if (text === null) continue;
    if (typeof value === "boolean") values[key] = text !== "0" && text !== "false";
    else if (typeof value === "string") values[key] = text;
    else if (text !== "" && Number.isFinite(Number(text))) values[key] = Number(text);
  }
  return values as T;
}

/** The number within bounds that is nearest to x. */
export function clamp(x: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, x));
}

/** Whether the address has a key. */
export function has(key: string): boolean {
  return new URLSearchParams(location.hash.slice(1)).has(key);
}

/** The fragment of values: those that differ from their defaults, and the theme of the address. */
export function fragment<T extends Values>(values: T, defaults: T): string {
  const address = new URLSearchParams();
  const theme = new URLSearchParams(location.hash.slice(1)).get("theme");
  if (theme) address.set("theme", theme);
  for (const [key, value] of Object.entries(values)) {
    if (value === defaults[key]) continue;
    address.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return address.toString();
}

/**
 * Shows values in the address, without a new entry in the history. A page in a frame keeps its "embed" there. Browsers limit
 * how often: three times a second.
 */
export function write(text: string) {
  newest = document.body.classList.contains("embed") ? `embed${text && `&${text}`}` : text;
  if (waiting) return;
  waiting = window.setTimeout(() => {
    waiting = 0;
    if (location.hash !== known) return; // another address came: its hashchange event is on the way
    const address = newest ? `#${newest}` : location.pathname + location.search;
    if (location.hash.slice(1) !== newest) history.replaceState(null, "", address);
    known = location.hash;
  }, 350);
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The number of steps from 0 to 1 of a packed number. */
export const steps = 4095;

/** Rounds a number in [0, 1] to one that survives packing. */
export function snap(x: number): number {
  return Math.round(clamp(x, 0, 1) * steps) / steps;
}

/** Two characters for each number in [0, 1]. */
export function pack(numbers: ArrayLike<number>): string {
  return Array.from(numbers, (x) => {
    const k = Math.round(clamp(x, 0, 1) * steps);
    return digits[k >> 6] + digits[k & 63];
  }).join("");
}

/** The numbers of a packed text; what cannot be read counts as 0. */
export function unpack(text: string): number[] {
  const numbers: number[] = [];
  for (let i = 0; i + 1 < text.length; i += 2)
    numbers.push((Math.max(0, digits.indexOf(text[i])) * 64 + Math.max(0, digits.indexOf(text[i + 1]))) / steps);
  return numbers;
}
