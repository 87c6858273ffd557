// Loading of WebAssembly modules: assets/NAME.wasm.gz, which the page unpacks while it arrives and compiles while it
// unpacks, so that any web server will do.

declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

/** Fetches a file of the site. A page that is opened from a folder cannot, and says what to do. */
export function fetchFile(path: string): Promise<Response> {
  if (location.protocol === "file:") throw new Error("A page opened from a folder cannot load it: serve the folder " +
    "(python3 -m http.server -d FOLDER) or use saot play.");
  return fetch(path);
}

/**
 * Fetches and compiles a module. told hears how many bytes have come, and how many there are (0: not known). The folder
 * is that of the modules, from the page or from the worker's script.
 */
export async function fetchModule(
  name: string, told?: (got: number, all: number) => void, folder = "assets/",
): Promise<WebAssembly.Module> {
  const answer = await fetchFile(`${folder}${name}.wasm.gz`);
  if (!answer.ok || !answer.body) throw new Error(`${name}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  let got = 0;
  const all = Number(answer.headers.get("Content-Length") ?? 0);
  const counted = answer.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, out) {
      told?.((got += chunk.length), all);
      out.enqueue(chunk);
    },
  }));
  return WebAssembly.compileStreaming(
    new Response(await unpacked(counted), { headers: { "Content-Type": "application/wasm" } }));
}

/** Fetches a module as fetchModule does, and makes an instance of it. */
export async function compile(...of: Parameters<typeof fetchModule>): Promise<[WebAssembly.Instance, Go]> {
  const module = await fetchModule(...of);
  const go = new Go();
  return [await WebAssembly.instantiate(module, go.importObject), go];
}

/** Unpacks a stream, unless the server told the browser to do so. */
async function unpacked(body: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  const first = await reader.read();
  const packed = first.value?.[0] === 0x1f && first.value[1] === 0x8b;
  const whole = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (out) => (first.value ? out.enqueue(first.value as Uint8Array<ArrayBuffer>) : out.close()),
    async pull(out) {
      const { done, value } = await reader.read();
      if (done) out.close();
      else out.enqueue(value as Uint8Array<ArrayBuffer>);
    },
  });
  return packed ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
}
