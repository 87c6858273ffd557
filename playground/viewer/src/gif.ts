// An animated GIF (CompuServe's GIF89a) of pictures of one size, in at most 255 colors that all pictures share.

interface Picture {
  width: number;
  height: number;
  data: Uint8ClampedArray; // RGBA
}

const key = (r: number, g: number, b: number) => ((r >> 2) << 12) | ((g >> 2) << 6) | (b >> 2);

/** The colors that occur most often, six bits a channel. */
export class Palette {
  private readonly counts = new Map<number, number>();
  private colors: number[][] = [];
  private readonly index = new Map<number, number>();

  add(p: Picture) {
    for (let i = 0; i < p.data.length; i += 4) {
      const k = key(p.data[i], p.data[i + 1], p.data[i + 2]);
      this.counts.set(k, (this.counts.get(k) ?? 0) + 1);
    }
  }

  settle() {
    const most = [...this.counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 255);
    this.colors = most.map(([k]) => [k >> 12, (k >> 6) & 63, k & 63].map((v) => (v << 2) | (v >> 4)));
    most.forEach(([k], i) => this.index.set(k, i));
  }

  bytes(): number[] {
    return Array.from({ length: 256 }, (_, i) => this.colors[i] ?? [0, 0, 0]).flat();
  }

  indexes(p: Picture): Uint8Array {
    const out = new Uint8Array(p.width * p.height);
    for (let i = 0; i < out.length; i++) out[i] = this.of(p.data[4 * i], p.data[4 * i + 1], p.data[4 * i + 2]);
    return out;
  }

  private of(r: number, g: number, b: number): number {
    const k = key(r, g, b);
    const known = this.index.get(k);
    if (known !== undefined) return known;
    let best = 0;
    let nearest = Infinity;
    this.colors.forEach(([cr, cg, cb], i) => {
      const d = (cr - r) ** 2 + (cg - g) ** 2 + (cb - b) ** 2;
      if (d < nearest) [best, nearest] = [i, d];
    });
    this.index.set(k, best);
    return best;
  }
}

const codeBits = 8;

/** LZW with codes of growing width, as GIF has it: least significant bit first, in blocks of at most 255 bytes. */
export function compress(pixels: Uint8Array): number[] {
  const clear = 1 << codeBits;
  const packed: number[] = [];
  let room = 0;
  let bits = 0;
  let width = codeBits + 1;
  const emit = (code: number) => {
    room |= code << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      packed.push(room & 255);
      room >>= 8;
    }
  };
  let next = clear + 2;
  let table = new Map<number, number>();
  emit(clear);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const pair = (prefix << 8) | pixels[i];
    const known = table.get(pair);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    emit(prefix);
    table.set(pair, next);
    if (next === 1 << width && width < 12) width++;
    if (++next === 4096) {
      emit(clear);
      table = new Map();
      next = clear + 2;
      width = codeBits + 1;
    }
    prefix = pixels[i];
  }
  emit(prefix);
  if (next === 1 << width && width < 12) width++; // the reader's table has one entry less than ours
  emit(clear + 1);
  if (bits > 0) packed.push(room & 255);
  const blocks: number[] = [];
  for (let i = 0; i < packed.length; i += 255) {
    const block = packed.slice(i, i + 255);
    blocks.push(block.length, ...block);
  }
  return [codeBits, ...blocks, 0];
}

/** Joins pictures to a GIF that repeats for ever. draw is called twice for each: for its colors, and for its pixels. */
export async function film(count: number, milliseconds: number, draw: (i: number) => Promise<Picture>): Promise<Blob> {
  const palette = new Palette();
  for (let i = 0; i < count; i++) palette.add(await draw(i));
  palette.settle();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const word = (v: number) => [v & 255, v >> 8];
  for (let i = 0; i < count; i++) {
    const p = await draw(i);
    const size = [...word(p.width), ...word(p.height)];
    if (i === 0) {
      parts.push(Uint8Array.from([
        ...new TextEncoder().encode("GIF89a"), ...size, 0xf7, 0, 0, ...palette.bytes(),
        0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0,
      ]));
    }
    const delay = i === count - 1 ? 150 : Math.round(milliseconds / 10);
    parts.push(Uint8Array.from([0x21, 0xf9, 4, 4, ...word(delay), 0, 0, 0x2c, 0, 0, 0, 0, ...size, 0]));
    parts.push(Uint8Array.from(compress(palette.indexes(p))));
  }
  parts.push(Uint8Array.of(0x3b));
  return new Blob(parts, { type: "image/gif" });
}
