// Bundles src/viewer.ts into viewer.js, or into the file that is the first argument. The bundle begins with the licences
// of what is in it. The same sources and package-lock.json make the same bytes.

import { readFileSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

const options = {
  entryPoints: ["src/viewer.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
  absWorkingDir: import.meta.dirname,
};
const result = await build(options);
const packages = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const [, name] = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//) ?? [];
  if (name) packages.add(name);
}
const used = [...packages].sort().map((name) => {
  const folder = `${import.meta.dirname}/node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const text = readFileSync(`${folder}/LICENSE`, "utf8").trim();
  const [notice, ...terms] = text.split(/\n\s*\n/);
  return { line: `${name} ${version} (${license}), ${notice.replace(/\s+/g, " ")}`, terms: terms.join("\n\n") };
});
const terms = [...new Set(used.map((u) => u.terms))];
const banner = `/*! SAOT's viewer of recorded runs, Apache-2.0. It holds\n\n${used.map((u) => u.line).join("\n")}\n\n${terms.join("\n\n")}\n*/\n`;
const out = process.argv[2] ?? `${import.meta.dirname}/viewer.js`;
writeFileSync(out, banner + result.outputFiles[0].text);
