// @ts-check
// The files of a package (docs/executable-format.md, "Packages"): over HTTP, and kept by their
// checksums in the browser's private file system (OPFS). Runs in a Web Worker.
import { TapmlError } from './errors.mjs';

const kFolder = 'tapml-files';
const kReadBytes = 4 << 20;
const kLeastContinued = 1 << 20;  // bytes: less is downloaded anew
const kComplete = 1;  // the last byte of a kept file, after its contents

/** @typedef {{name: string, bytes: number, xxh64: string}} Entry */
/** @typedef {{url: URL, target: string, end_tokens: number[], files: Entry[]}} Package */

const kOfPackage = { expected: 'a file of a package',
  hint: 'the address is that of the folder that `tapml compile MODEL --package DIR` wrote' };

/** @param {URL} url @param {AbortSignal=} signal @param {number} from the first byte
 * @param {{expected: string, hint: string}} what is there, and what to do if it is not */
export async function get(url, signal, from = 0, { expected, hint } = kOfPackage) {
  let response;
  try {
    response = await fetch(url, { signal, headers: from > 0 ? { range: `bytes=${from}-` } : {} });
  } catch (/** @type {any} */ error) {
    signal?.throwIfAborted();
    throw Object.assign(new TapmlError({ message: `cannot download ${url.pathname}`, where: url.href,
      found: String(error?.message ?? error),
      hint: 'check the address and the network; a server of another origin must allow this page (CORS)' }),
                        { endedEarly: true });
  }
  if (response.ok) return response;
  throw new TapmlError({ message: `cannot download ${url.pathname}`, where: url.href,
    expected, found: `HTTP status ${response.status}`, hint: response.status === 404 ? hint : '' });
}

/** @param {any} entry @returns {entry is Entry} */
const isEntry = (entry) => typeof entry?.name === 'string' && /^[\w.-]+$/.test(entry.name) &&
  Number.isSafeInteger(entry.bytes) && entry.bytes >= 0 && /^[0-9a-f]{16}$/.test(entry.xxh64);

/** The list of a package's files. @param {string} address of its folder
 * @param {AbortSignal=} signal @returns {Promise<Package>} */
export async function openPackage(address, signal) {
  const url = new URL('package.json', address.endsWith('/') ? address : `${address}/`);
  const response = await get(url, signal);
  let list;
  try {
    list = JSON.parse(await response.text());
  } catch (/** @type {any} */ error) {
    throw new TapmlError({ message: 'the list of a package is not JSON', where: url.href,
      found: String(error?.message ?? error) });
  }
  const { format, version, target, end_tokens: ends, files } = list ?? {};
  if (format !== 'tapml-package' || version !== 1) {
    throw new TapmlError({ message: 'this is not a package that this version can read', where: url.href,
      expected: 'format "tapml-package", version 1', found: `format "${format}", version ${version}`,
      hint: 'tapml compile MODEL --target webgpu --package DIR makes one' });
  }
  if (typeof target !== 'string' || !Array.isArray(ends) || !Array.isArray(files) ||
      !files.every(isEntry)) {
    throw new TapmlError({ message: 'the list of a package is malformed', where: url.href,
      expected: 'target, end_tokens, and files with name, bytes and xxh64' });
  }
  return { url, target, end_tokens: ends, files };
}

/** The browser's private file system, with files named by their contents. */
export class KeptFiles {
  /** @type {FileSystemDirectoryHandle} */
  #folder;
  /** @param {FileSystemDirectoryHandle} folder */
  constructor(folder) {
    this.#folder = folder;
  }
  /** Null, with the reason in the console, where the browser has none for this page. */
  static async open() {
    try {
      const root = await navigator.storage.getDirectory();
      return new KeptFiles(await root.getDirectoryHandle(kFolder, { create: true }));
    } catch (error) {
      console.warn('tapml: downloads are not kept: the browser has no storage for this page:', error);
      return null;
    }
  }
  /** @param {Entry} entry */
  static nameOf({ xxh64, bytes }) {
    return `${xxh64}-${bytes}`;
  }

  /** The contents in pieces; null if they are not there, not complete or in use.
   * @param {Entry} entry @returns {Promise<AsyncIterable<Uint8Array> | null>} */
  async read(entry) {
    /** @type {File} */
    let file;
    try {
      file = await (await this.#folder.getFileHandle(KeptFiles.nameOf(entry))).getFile();
      if (file.size !== entry.bytes + 1) return null;
      const [last] = new Uint8Array(await file.slice(entry.bytes).arrayBuffer());
      if (last !== kComplete) return null;
    } catch {
      return null;
    }
    return (async function* pieces() {
      for (let at = 0; at < entry.bytes; at += kReadBytes) {
        const end = Math.min(at + kReadBytes, entry.bytes);
        yield new Uint8Array(await file.slice(at, end).arrayBuffer());
      }
    })();
  }

  /** The file for these contents, with what an earlier download left; null if there is no room for it
   * or another page writes it.
   * @param {Entry} entry */
  async writer(entry) {
    try {
      await this.#makeRoom(entry.bytes);
      const handle = await this.#folder.getFileHandle(KeptFiles.nameOf(entry), { create: true });
      const file = await /** @type {any} */ (handle).createSyncAccessHandle();
      const writer = new KeptWriter(this, entry, file);
      if (writer.size < kLeastContinued || writer.size >= entry.bytes) writer.restart();
      return writer;
    } catch (/** @type {any} */ error) {
      console.warn(`tapml: ${entry.name} is not kept: ${error.message}`);
      return null;
    }
  }
  /** @param {Entry} entry */
  async remove(entry) {
    await this.#folder.removeEntry(KeptFiles.nameOf(entry)).catch(() => {});
  }

  /** Removes the files that were written first. @param {number} bytes */
  async #makeRoom(bytes) {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
    let free = quota - usage;
    if (free >= bytes) return;
    /** @type {{name: string, size: number, time: number}[]} */
    const kept = [];
    for await (const handle of /** @type {any} */ (this.#folder).values()) {
      const { size, lastModified } = await handle.getFile();
      kept.push({ name: handle.name, size, time: lastModified });
    }
    kept.sort((a, b) => a.time - b.time);
    for (const { name, size } of kept) {
      if (free >= bytes) return;
      await this.#folder.removeEntry(name).then(() => {
        free += size;
      }, () => {});  // in use
    }
    if (free >= bytes) return;
    throw new Error(`the browser gives this page ${quota} bytes, of which ${Math.max(free, 0)} are free`);
  }
}

class KeptWriter {
  /** @param {KeptFiles} files @param {Entry} entry @param {any} file */
  constructor(files, entry, file) {
    this.files = files;
    this.entry = entry;
    this.file = file;
    this.size = file.getSize();
  }
  restart() {
    this.file.truncate(0);
    this.size = 0;
  }
  /** What is in the file. */
  *contents() {
    for (let at = 0; at < this.size;) {
      const bytes = new Uint8Array(Math.min(kReadBytes, this.size - at));
      at += this.file.read(bytes, { at });
      yield bytes;
    }
  }
  /** False if there is no more room: the file is given up. @param {Uint8Array} bytes */
  async write(bytes) {
    try {
      this.size += this.file.write(bytes, { at: this.size });
      return true;
    } catch (/** @type {any} */ error) {
      console.warn(`tapml: ${this.entry.name} is not kept: ${error.message}`);
      await this.giveUp();
      return false;
    }
  }
  /** The contents are complete and right. */
  finish() {
    this.file.write(new Uint8Array([kComplete]), { at: this.size });
    this.pause();
  }
  /** The next download goes on here. */
  pause() {
    this.file.flush();
    this.file.close();
  }
  async giveUp() {
    this.file.close();
    await this.files.remove(this.entry);
  }
}

/** A file of a package, from the kept files or the server. */
export class PackageFile {
  /** @type {KeptWriter | null} */
  #writer = null;
  /** How much of the last read came from the kept files, and whether bytes arrive from there now. */
  keptBytes = 0;
  fromCache = false;
  /** Whether the download ended early and can go on. */
  #interrupted = false;

  /** @param {Package} of @param {Entry} entry @param {KeptFiles | null} kept */
  constructor(of, entry, kept) {
    this.url = new URL(entry.name, of.url);
    this.entry = entry;
    this.kept = kept;
  }

  /** The contents in pieces, at least one byte each. Call settle() when they are checked.
   * @param {(bytes: number) => void} arrived with the number of bytes so far
   * @param {AbortSignal=} signal */
  async *read(arrived, signal) {
    const kept = await this.kept?.read(this.entry);
    this.fromCache = Boolean(kept);
    let total = 0;
    if (kept) {
      yield* this.#readKept(kept, arrived, signal);
      return;
    }
    this.#writer = await this.kept?.writer(this.entry) ?? null;
    this.#interrupted = true;
    const response = await get(this.url, signal, this.#writer?.size);
    // A server may send the whole file instead of the rest.
    if (this.#writer && response.status !== 206) this.#writer.restart();
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    try {
      this.fromCache = true;
      for (const bytes of this.#writer?.contents() ?? []) {
        arrived(this.keptBytes = total += bytes.length);
        yield bytes;
      }
      this.fromCache = false;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (value.length === 0) continue;
        arrived(total += value.length);
        if (this.#writer && !(await this.#writer.write(value))) this.#writer = null;
        yield value;
      }
      this.#interrupted = false;
    } catch (/** @type {any} */ error) {
      signal?.throwIfAborted();
      if (error instanceof TapmlError) throw error;
      throw Object.assign(new TapmlError({ message: `the download of ${this.entry.name} ended early`,
        where: this.url.href, expected: `${this.entry.bytes} bytes`,
        found: `${total} bytes, then: ${error?.message ?? error}`,
        hint: 'load the model again: the download goes on where it ended' }), { endedEarly: true });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  /** @param {AsyncIterable<Uint8Array>} kept @param {(bytes: number) => void} arrived
   * @param {AbortSignal=} signal */
  async *#readKept(kept, arrived, signal) {
    const pieces = kept[Symbol.asyncIterator]();
    for (;;) {
      signal?.throwIfAborted();
      let next;
      try {
        next = await pieces.next();
      } catch (/** @type {any} */ error) {
        // Another page has found it wrong and removed it.
        throw Object.assign(new TapmlError({ message: `${this.entry.name} is no longer in this browser's storage`,
          where: this.url.href, found: String(error?.message ?? error), hint: 'load the model again' }),
                            { keptLost: true });
      }
      if (next.done) return;
      arrived(this.keptBytes += next.value.length);
      yield next.value;
    }
  }

  /** The contents were right: they are kept. */
  accept() {
    this.#writer?.finish();
    this.#writer = null;
  }
  /** The contents are forgotten, unless `error` is that the download ended early.
   * @param {any} error */
  async reject(error) {
    const writer = this.#writer;
    this.#writer = null;
    const goesOn = this.#interrupted && (error.endedEarly || error.name === 'AbortError');
    if (writer && goesOn) writer.pause();
    else if (writer) await writer.giveUp();
    else if (this.keptBytes > 0) await this.kept?.remove(this.entry);
  }

  /** All contents of a small file. @param {(bytes: number) => void} arrived
   * @param {AbortSignal=} signal */
  async readAll(arrived, signal) {
    /** @type {Uint8Array[]} */
    const parts = [];
    let size = 0;
    for await (const part of this.read(arrived, signal)) {
      parts.push(part);
      size += part.length;
      if (size > this.entry.bytes) {
        throw new TapmlError({ message: `${this.entry.name} is longer than the package lists`,
          where: this.url.href, expected: `${this.entry.bytes} bytes`, found: `at least ${size} bytes` });
      }
    }
    const all = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
