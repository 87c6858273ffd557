// The file system of a worker: files in memory, behind the part of Node's fs that Go's os package calls.

const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
const [folderMode, fileMode] = [0o040755, 0o100644];

interface Inode {
  number: number;
  mode: number;
  data: Uint8Array; // with room to grow; a folder's is empty
  size: number;
  changed: number; // milliseconds
}

interface Open {
  inode: Inode;
  path: string;
  at: number;
  append: boolean;
}

type Callback<T = void> = (error: Error | null, value?: T) => void;

/** Content of files by their paths. */
export type Files = Record<string, Uint8Array>;

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

export class MemoryFiles {
  readonly constants = constants;
  private readonly inodes = new Map<string, Inode>();
  private readonly opened = new Map<number, Open>();
  private next = 3; // after the standard streams
  private numbers = 0;
  private line = "";

  constructor(files: Files = {}) {
    this.inodes.set("/", this.inode(folderMode));
    this.inodes.set("/tmp", this.inode(folderMode));
    for (const [path, data] of Object.entries(files)) {
      const parts = path.split("/").slice(1, -1);
      parts.forEach((_, k) => {
        const folder = `/${parts.slice(0, k + 1).join("/")}`;
        if (!this.inodes.has(folder)) this.inodes.set(folder, this.inode(folderMode));
      });
      this.inodes.set(path, { ...this.inode(fileMode), data, size: data.length });
    }
  }

  /** Copies of the files below a folder. Locks and files that are being written are left out. */
  below(folder: string): Files {
    const files: Files = {};
    for (const [path, inode] of this.inodes)
      if (path.startsWith(`${folder}/`) && inode.mode === fileMode && !/\/\.|\.lock$/.test(path))
        files[path] = inode.data.slice(0, inode.size);
    return files;
  }

  private inode(mode: number): Inode {
    return { number: ++this.numbers, mode, data: new Uint8Array(0), size: 0, changed: Date.now() };
  }

  private path(path: string): string {
    return path === "/" ? path : path.replace(/\/+$/, "").replace(/\/\.?(?=\/|$)/g, "") || "/";
  }

  private parent(path: string): Inode | undefined {
    return this.inodes.get(path.slice(0, path.lastIndexOf("/")) || "/");
  }

  private answer<T>(done: Callback<T>, act: () => T) {
    let value: T;
    try {
      value = act();
    } catch (error) {
      return done(error as Error);
    }
    done(null, value);
  }

  private at(path: string): Inode {
    const inode = this.inodes.get(this.path(path));
    if (!inode) throw failure("ENOENT");
    return inode;
  }

  private descriptor(fd: number): Open {
    const open = this.opened.get(fd);
    if (!open) throw failure("EBADF");
    return open;
  }

  private resize(inode: Inode, size: number) {
    if (size > inode.data.length) {
      const data = new Uint8Array(Math.max(size, 2 * inode.data.length));
      data.set(inode.data.subarray(0, inode.size));
      inode.data = data;
    } else if (size < inode.size) inode.data.fill(0, size, inode.size);
    inode.size = size;
    inode.changed = Date.now();
  }

  open(path: string, flags: number, _mode: number, done: Callback<number>) {
    this.answer(done, () => {
      path = this.path(path);
      let inode = this.inodes.get(path);
      if (inode && flags & constants.O_CREAT && flags & constants.O_EXCL) throw failure("EEXIST");
      if (!inode) {
        if (!(flags & constants.O_CREAT)) throw failure("ENOENT");
        if (this.parent(path)?.mode !== folderMode) throw failure("ENOENT");
        inode = this.inode(fileMode);
        this.inodes.set(path, inode);
      }
      if (flags & constants.O_DIRECTORY && inode.mode !== folderMode) throw failure("ENOTDIR");
      if (flags & constants.O_TRUNC) this.resize(inode, 0);
      this.opened.set(this.next, { inode, path, at: 0, append: (flags & constants.O_APPEND) !== 0 });
      return this.next++;
    });
  }

  close(fd: number, done: Callback) {
    this.answer(done, () => {
      this.descriptor(fd);
      this.opened.delete(fd);
    });
  }

  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number | null, done: Callback<number>) {
    this.answer(done, () => {
      const open = this.descriptor(fd);
      const from = position ?? open.at;
      const n = Math.max(0, Math.min(length, open.inode.size - from));
      buffer.set(open.inode.data.subarray(from, from + n), offset);
      if (position === null) open.at += n;
      return n;
    });
  }

  write(fd: number, buffer: Uint8Array, offset: number, length: number, position: number | null, done: Callback<number>) {
    this.answer(done, () => {
      const content = buffer.subarray(offset, offset + length);
      if (fd < 3) return this.print(content);
      const open = this.descriptor(fd);
      const from = open.append ? open.inode.size : position ?? open.at;
      if (from + length > open.inode.size) this.resize(open.inode, from + length);
      open.inode.data.set(content, from);
      open.inode.changed = Date.now();
      if (position === null) open.at = from + length;
      return length;
    });
  }

  /** What a program prints, such as the trace of a panic, goes to the console by lines. */
  private print(content: Uint8Array): number {
    this.line += new TextDecoder().decode(content);
    const end = this.line.lastIndexOf("\n");
    if (end >= 0) console.log(this.line.slice(0, end));
    this.line = this.line.slice(end + 1);
    return content.length;
  }

  writeSync(_fd: number, content: Uint8Array): number {
    return this.print(content);
  }

  private stats(inode: Inode) {
    const ms = inode.changed;
    return { dev: 1, ino: inode.number, mode: inode.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: inode.size, blksize: 4096,
      blocks: Math.ceil(inode.size / 512), atimeMs: ms, mtimeMs: ms, ctimeMs: ms, isDirectory: () => inode.mode === folderMode };
  }

  stat(path: string, done: Callback<object>) {
    this.answer(done, () => this.stats(this.at(path)));
  }

  lstat(path: string, done: Callback<object>) {
    this.stat(path, done);
  }

  fstat(fd: number, done: Callback<object>) {
    this.answer(done, () => this.stats(this.descriptor(fd).inode));
  }

  mkdir(path: string, _mode: number, done: Callback) {
    this.answer(done, () => {
      path = this.path(path);
      if (this.inodes.has(path)) throw failure("EEXIST");
      if (this.parent(path)?.mode !== folderMode) throw failure("ENOENT");
      this.inodes.set(path, this.inode(folderMode));
    });
  }

  private names(folder: string): string[] {
    const start = folder === "/" ? "/" : `${folder}/`;
    return [...this.inodes.keys()].filter((p) => p !== "/" && p.startsWith(start) && !p.slice(start.length).includes("/"))
      .map((p) => p.slice(start.length));
  }

  readdir(path: string, done: Callback<string[]>) {
    this.answer(done, () => {
      if (this.at(path).mode !== folderMode) throw failure("ENOTDIR");
      return this.names(this.path(path));
    });
  }

  rename(from: string, to: string, done: Callback) {
    this.answer(done, () => {
      const inode = this.at(from);
      if (inode.mode === folderMode) throw failure("ENOSYS"); // no run renames a folder
      if (this.parent(this.path(to))?.mode !== folderMode) throw failure("ENOENT");
      this.inodes.delete(this.path(from));
      this.inodes.set(this.path(to), inode);
    });
  }

  unlink(path: string, done: Callback) {
    this.answer(done, () => {
      if (this.at(path).mode === folderMode) throw failure("EISDIR");
      this.inodes.delete(this.path(path));
    });
  }

  rmdir(path: string, done: Callback) {
    this.answer(done, () => {
      if (this.at(path).mode !== folderMode) throw failure("ENOTDIR");
      if (this.names(this.path(path)).length) throw failure("ENOTEMPTY");
      this.inodes.delete(this.path(path));
    });
  }

  truncate(path: string, length: number, done: Callback) {
    this.answer(done, () => this.resize(this.at(path), length));
  }

  ftruncate(fd: number, length: number, done: Callback) {
    this.answer(done, () => this.resize(this.descriptor(fd).inode, length));
  }

  // Modes, owners and times mean nothing in memory.
  fsync = (_fd: number, done: Callback) => done(null);
  chmod = (_path: string, _mode: number, done: Callback) => done(null);
  fchmod = (_fd: number, _mode: number, done: Callback) => done(null);
  chown = (_path: string, _u: number, _g: number, done: Callback) => done(null);
  fchown = (_fd: number, _u: number, _g: number, done: Callback) => done(null);
  lchown = (_path: string, _u: number, _g: number, done: Callback) => done(null);
  utimes = (_path: string, _a: number, _m: number, done: Callback) => done(null);
  link = (_path: string, _link: string, done: Callback) => done(failure("ENOSYS"));
  symlink = (_path: string, _link: string, done: Callback) => done(failure("ENOSYS"));
  readlink = (_path: string, done: Callback<string>) => done(failure("EINVAL"));
}
