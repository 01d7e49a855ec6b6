// @ts-check
// The Web Worker of a model (tapml.mjs starts it): loads a package and answers one request after
// another. Each message is {id, method, ...}; replies are {id, result} or {id, error}, and before
// them {id, progress} and {id, text, tokens}.
import { Engine, canWait } from './engine.mjs';
import { TapmlError, errorFields } from './errors.mjs';
import { describeAdapter } from './gpu.mjs';
import { KeptFiles, PackageFile, openPackage } from './package_files.mjs';

const kWeights = 'weights.safetensors';
const kAdapterTries = 10, kAdapterPause = 200;  // milliseconds
const kMostRestarts = 3;  // of an answer
const kModuleName = 'tapml_engine.wasm';

/** @type {Engine | null} */
let engine = null;
/** How it was loaded. @type {LoadOptions | null} */
let loadedWith = null;
/** The request whose answer shall end. */
let stopped = 0;
/** Holds the same where the page shares memory with this worker. @type {Int32Array | null} */
let sharedStop = null;
const abort = new AbortController();

/** Why this browser cannot run packages for WebGPU (empty: it can), and whether its WebGPU computes on
 * the processor, more slowly than WebAssembly does. */
async function findWebGpu() {
  if (!navigator.gpu) return { lack: 'this browser has no WebGPU', software: false };
  if (!canWait) {
    return { lack: 'this browser lacks JavaScript Promise Integration (JSPI) of WebAssembly', software: false };
  }
  // A browser whose GPU process is not ready yet says that there is no adapter.
  for (let tries = 0; tries < kAdapterTries; ++tries) {
    const adapter = await navigator.gpu.requestAdapter();
    if (adapter) return { lack: '', software: describeAdapter(adapter).software };
    await new Promise((resolve) => setTimeout(resolve, kAdapterPause));
  }
  return { lack: 'WebGPU finds no adapter in this browser', software: false };
}

/** @param {string} target */
const platformOf = (target) => target.split(':')[0];

/** The first package that this browser can run.
 * @param {string[]} urls @param {'auto' | 'webgpu' | 'wasm'} device */
async function choosePackage(urls, device) {
  const packages = await Promise.all(urls.map((url) => openPackage(url, abort.signal)));
  const { lack, software } = device === 'wasm' ? { lack: '', software: false } : await findWebGpu();
  const order = lack ? ['wasm'] : software ? ['wasm', 'webgpu'] : ['webgpu', 'wasm'];
  const wanted = device === 'auto' ? order : [device];
  for (const platform of lack && device === 'webgpu' ? [] : wanted) {
    const found = packages.find(({ target }) => platformOf(target) === platform);
    if (found) return found;
  }
  const targets = packages.map(({ target }) => target).join(', ');
  if (lack) {
    throw new TapmlError({ kind: 'platform: absent', message: lack, where: urls.join(', '),
      expected: 'WebGPU and JSPI, or a package for wasm', found: `a package for ${targets}`,
      hint: 'use Chrome, Edge or Chromium 137 or later with a GPU that it supports, or also give a ' +
        'package made by: tapml compile MODEL --target wasm --package DIR' });
  }
  throw new TapmlError({ message: 'there is no package for this device', where: urls.join(', '),
    expected: `a package for ${wanted.join(' or ')}`, found: `for ${targets}`,
    hint: `tapml compile MODEL --target ${wanted[0]} --package DIR makes one` });
}

/** @typedef {{urls: string[], device: 'auto' | 'webgpu' | 'wasm', cache: boolean, stop: any}} LoadOptions */

/** @param {LoadOptions} options @param {(progress: any) => void} onProgress */
async function load(options, onProgress) {
  sharedStop = options.stop ? new Int32Array(options.stop) : null;
  loadedWith = options;
  try {
    return await loadOnce(options, onProgress);
  } catch (/** @type {any} */ error) {
    if (!error.wasKept) throw error;
    return loadOnce(options, onProgress);  // the kept file was wrong, and is gone
  }
}

/** @param {LoadOptions} options @param {(progress: any) => void} onProgress */
async function loadOnce({ urls, device, cache }, onProgress) {
  const address = new URL(kModuleName, import.meta.url);
  const compiled = WebAssembly.compileStreaming(fetch(address)).catch((error) => {
    throw new TapmlError({ message: `cannot load ${kModuleName}`, where: address.href,
      found: String(error?.message ?? error),
      hint: 'serve the whole folder of tapml.mjs, with type application/wasm for .wasm' });
  });
  compiled.catch(() => {});
  const chosen = await choosePackage(urls, device);
  const total = chosen.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const kept = cache ? await KeptFiles.open() : null;
  const module = await compiled;
  const made = new Engine(module, (what, done, of) => onProgress({ stage: what, done, total: of }));
  let before = 0, fromCache = 0;
  /** @param {PackageFile} file */
  const arrived = (file) => (/** @type {number} */ bytes) => onProgress({
    stage: file.fromCache ? 'cache' : 'download', file: file.entry.name, done: before + bytes, total });
  /** Reads a file by `use`, which throws if its contents are wrong.
   * @param {import('./package_files.mjs').Entry} entry
   * @param {(file: PackageFile) => Promise<any>} use */
  const take = async (entry, use) => {
    const file = new PackageFile(chosen, entry, kept);
    try {
      await use(file);
    } catch (/** @type {any} */ error) {
      await file.reject(error);
      error.wasKept = error.keptLost || (file.keptBytes > 0 && !error.endedEarly && error.kind === 'user');
      throw error;
    }
    file.accept();
    fromCache += file.keptBytes;
    before += entry.bytes;
  };
  const weights = chosen.files.find(({ name }) => name === kWeights);
  if (!weights) {
    throw new TapmlError({ message: 'the package has no weights', where: chosen.url.href,
      expected: kWeights, found: chosen.files.map(({ name }) => name).join(', ') });
  }
  for (const entry of chosen.files) {
    if (entry === weights) continue;
    await take(entry, async (file) => made.addFile(
        entry.name, await file.readAll(arrived(file), abort.signal), entry.xxh64));
  }
  const facts = await made.open(chosen);
  await take(weights, (file) =>
    made.addWeights(file.read(arrived(file), abort.signal), weights.bytes, weights.xxh64));
  engine = made;
  return { ...facts, target: chosen.target, url: new URL('.', chosen.url).href, bytes: total,
    cached_bytes: fromCache, kept: kept !== null };
}

/** A lost device loses its memory, but not the request: the model is loaded again, from the kept files,
 * and the answer goes on, since it only depends on the request.
 * @param {number} id @param {any} request */
async function answer(id, request) {
  if (!engine || !loadedWith) throw new TapmlError({ kind: 'internal', message: 'no model is loaded' });
  const isStopped = () => stopped === id || (sharedStop !== null && Atomics.load(sharedStop, 0) === id);
  let given = 0;  // characters that the page has
  for (let restarts = 0; ; ++restarts) {
    let size = 0;
    engine.isStopped = isStopped;
    engine.onText = (text, tokens) => {
      size += text.length;
      if (size > given) {
        self.postMessage({ id, text: text.slice(given - size), tokens });
        given = size;
      }
    };
    try {
      return { ...await engine.answer(request), restarts };
    } catch (/** @type {any} */ error) {
      if (error.kind !== 'platform: lost' || restarts === kMostRestarts) throw error;
      console.warn(`tapml: the model is loaded again: ${error.message}`);
      await load(loadedWith, () => {});
    }
  }
}

/** One call of the program at a time. */
let last = Promise.resolve();

self.onmessage = ({ data }) => {
  const { id, method } = data;
  if (method === 'stop') {
    stopped = data.of;
    return;
  }
  const run = async () => {
    try {
      /** @type {any} */
      let result;
      if (method === 'load') {
        result = await load(data.options, (progress) => self.postMessage({ id, progress }));
      } else if (method === 'answer') {
        result = await answer(id, data.request);
      } else {
        if (!engine) throw new TapmlError({ kind: 'internal', message: 'no model is loaded' });
        result = await engine.tokenize(data.text);
      }
      self.postMessage({ id, result });
    } catch (error) {
      self.postMessage({ id, error: errorFields(error) });
    }
  };
  last = last.then(run);
};
