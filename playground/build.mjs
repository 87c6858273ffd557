// Bundles the viewer (viewer/viewer.js), the choice of a theme (viewer/theme.js) and the pages (pages/NAME.js), or writes the bundles into the folder that is the
// first argument. Each bundle begins with the licenses of what is in it. The same sources and package-lock.json make the
// same bytes.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

import { build } from "esbuild";

const here = import.meta.dirname;

// licenses returns the comment that a bundle begins with.
function licenses(what, inputs) {
  const packages = new Set();
  for (const path of Object.keys(inputs)) {
    const [, name] = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//) ?? [];
    if (name) packages.add(name);
  }
  const used = [...packages].sort().map((name) => {
    const folder = `${here}/node_modules/${name}`;
    const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const text = readFileSync(`${folder}/LICENSE`, "utf8").trim();
    const [notice, ...terms] = text.split(/\n\s*\n/);
    return { line: `${name} ${version} (${license}), ${notice.replace(/\s+/g, " ")}`, terms: terms.join("\n\n") };
  });
  if (!used.length) return `/*! ${what}, Apache-2.0. */\n`;
  const terms = [...new Set(used.map((u) => u.terms))];
  return `/*! ${what}, Apache-2.0. It holds\n\n${used.map((u) => u.line).join("\n")}\n\n${terms.join("\n\n")}\n*/\n`;
}

async function bundle(entry, what, out, format = "iife") {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format,
    external: ["./save.js"],
    target: "es2022",
    charset: "utf8",
    loader: { ".svg": "text" },
    legalComments: "none",
    metafile: true,
    write: false,
    absWorkingDir: here,
  });
  writeFileSync(out, licenses(what, result.metafile.inputs) + result.outputFiles[0].text);
}

const [folder] = process.argv.slice(2);
await bundle("viewer/src/viewer.ts", "SAOT's viewer of recorded runs", `${folder ?? `${here}/viewer`}/viewer.js`);
await bundle("viewer/src/first.ts", "SAOT's choice of a theme", `${folder ?? `${here}/viewer`}/theme.js`);
await bundle("pages/src/shell/save.ts", "SAOT's playground, save", `${folder ?? `${here}/pages`}/save.js`, "esm");
// A page, or a worker of a page, is a file of pages/src; what they share stands in folders below it.
for (const file of readdirSync(`${here}/pages/src`).filter((f) => f.endsWith(".ts")).sort()) {
  const name = basename(file, ".ts");
  const what = `SAOT's playground, ${name}`;
  await bundle(`pages/src/${file}`, what, `${folder ?? `${here}/pages`}/${name}.js`);
}
