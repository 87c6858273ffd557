// Recordings from files: those of a run folder (head.json and task-0001.json …), a zip archive with such folders, or the
// page that saot show writes.

import { strFromU8, unzipSync, zipSync, type UnzipFileInfo } from "fflate";

import type { PackedRun } from "../../../viewer/src/recording";
import { checkHead, checkRun, checkTask } from "./check";
import type { Files } from "./files";

const [format, version, most] = ["saot-recording", 1, 64 << 20];

/** The recordings in files, by path. It throws with words for the reader where there is none. */
export function recordingsOf(files: Files): PackedRun[] {
  const all: Files = {};
  const pages: Files = {};
  let size = 0;
  const add = (path: string, data: Uint8Array) => {
    size += data.length;
    if (size > most) throw tooLarge();
    (isPage(path) ? pages : all)[path] = data;
  };
  for (const [path, data] of Object.entries(files)) {
    if (!isArchive(path)) add(path, data);
    else for (const [inner, content] of Object.entries(unpacked(data, most - size))) add(inner, content);
  }
  const runs = Object.entries(pages).flatMap(([path, data]) => (isAgain(path, all) ? [] : fromPage(path, strFromU8(data))));
  for (const path of Object.keys(all).sort()) if (/(^|\/)head\.json$/.test(path)) runs.push(fromFolder(path, all));
  if (!runs.length) throw new Error("There is no recording in these files: drop the folder of a run that was made with " +
    "saot run --record, a zip archive of it, or the page of saot show.");
  return runs;
}

function tooLarge(): Error {
  return new Error("The files are larger than 64 MB.");
}

/** The parts of recordings in an archive. It throws before more than `left` bytes are unpacked. */
function unpacked(data: Uint8Array, left: number): Files {
  const filter = (f: UnzipFileInfo): boolean => {
    if (!isPart(f.name)) return false;
    left -= f.originalSize;
    if (left < 0) throw tooLarge();
    return true;
  };
  return unzipSync(data, { filter });
}

const isPart = (path: string) => /(^|\/)(head|task-\d+)\.json$/.test(path);
const isPage = (path: string) => /\.html?$/i.test(path);
/** Whether a page shows a recording that is itself among the files: saot show --html writes it into the run folder. */
const isAgain = (page: string, all: object) => ["", "recording/"].some((f) => page.replace(/[^/]*$/, `${f}head.json`) in all);
const isArchive = (path: string) => /\.zip$/i.test(path);
const isWanted = (path: string) => isPart(path) || isPage(path) || isArchive(path);

/** The value of a file that a check lets pass. Errors name the file. */
function parse<T>(path: string, data: Uint8Array, check: (value: unknown) => T): T {
  const value = json(path, strFromU8(data));
  const { format: is, version: of } = (value ?? {}) as { format?: string; version?: number };
  if (is !== format) throw new Error(`${path} is no part of a recording: its field format is ${JSON.stringify(is)}.`);
  if (of !== version) throw new Error(`${path} has version ${of}: this page reads version ${version}.`);
  return named(path, () => check(value));
}

function json(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`);
  }
}

function named<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`);
  }
}

function fromFolder(path: string, files: Files): PackedRun {
  const folder = path.slice(0, -"head.json".length);
  const head = parse(path, files[path], checkHead);
  const tasks = Object.keys(files).filter((p) => p.startsWith(folder) && /^task-\d+\.json$/.test(p.slice(folder.length))).sort()
    .map((p) => parse(p, files[p], (t) => checkTask(t, parseInt(p.slice(folder.length + "task-".length)) - 1, head.tasks)));
  if (!tasks.some((t) => t.frames?.length)) throw new Error(`The recording of ${path} has no frames: add its files task-0001.json …`);
  return { name: `${head.method} on ${head.dataset}, seed ${head.seed}`, recording: { head, tasks } };
}

function fromPage(path: string, text: string): PackedRun[] {
  const data = /<saot-recording><script type="application\/json">(.*?)<\/script>/s.exec(text)?.[1];
  const runs = data ? json(path, data) : [];
  return Array.isArray(runs) ? runs.map((run) => named(path, () => checkRun(run))) : [];
}

/** The files of a drop, folders included. */
export async function droppedFiles(transfer: DataTransfer): Promise<Files> {
  const entries = [...transfer.items].map((i) => i.webkitGetAsEntry()).filter((e) => e !== null);
  if (!entries.length) return chosenFiles(transfer.files);
  const files: [string, File][] = [];
  const walk = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) {
      if (!isWanted(entry.fullPath)) return;
      const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
      files.push([entry.fullPath, file]);
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const e of some) await walk(e);
    }
  };
  for (const e of entries) await walk(e);
  return contents(files);
}

/** The files that a reader chose. The list may be emptied while they are read. */
export function chosenFiles(list: FileList): Promise<Files> {
  const named = [...list].map((f): [string, File] => [f.webkitRelativePath || f.name, f]);
  return contents(named.filter(([path]) => isWanted(path)));
}

/** Reads files. It throws before it reads any where they are too large. */
async function contents(given: [string, File][]): Promise<Files> {
  const all = Object.fromEntries(given);
  const from = given.filter(([path]) => !isPage(path) || !isAgain(path, all));
  if (from.reduce((size, [, file]) => size + file.size, 0) > most) throw tooLarge();
  const files: Files = {};
  for (const [path, file] of from) files[path] = new Uint8Array(await file.arrayBuffer());
  return files;
}

/** A zip archive of a run folder. */
export function archive(name: string, files: Files): Blob {
  const inner = Object.fromEntries(Object.entries(files).map(([path, data]) => [`${name}/${path.replace(/^\/run\//, "")}`, data]));
  return new Blob([zipSync(inner, { level: 6 }) as Uint8Array<ArrayBuffer>], { type: "application/zip" });
}
