// @ts-check
// The Web Worker of a model or an executable (calls.mjs starts it): loads it and answers one request
// after another. Each message is {id, method, ...}; replies are {id, result} or {id, error}, and
// before them {id, progress} and {id, text, isThought, tokens}.
import { chooseForDevice } from './choose_device.mjs';
import { Engine } from './engine.mjs';
import { TapmlError, errorFields } from './errors.mjs';
import { KeptFiles, PackageFile, get, openPackage } from './package_files.mjs';

const kWeights = 'weights.safetensors';
const kMostRestarts = 3;  // of a request
const kModuleName = 'tapml_engine.wasm';

/** @type {Engine | null} */
let engine = null;
/** Loads the same again. @type {() => Promise<any>} */
let reload = async () => {};
/** The request whose answer shall end. */
let stopped = 0;
/** Holds the same where the page shares memory with this worker. @type {Int32Array | null} */
let sharedStop = null;
const abort = new AbortController();

/** @typedef {{urls: string[], device: 'auto' | 'webgpu' | 'wasm', cache: boolean, stop: any}} LoadOptions */

/** @param {LoadOptions} options @param {(progress: any) => void} onProgress */
async function load(options, onProgress) {
  sharedStop = options.stop ? new Int32Array(options.stop) : null;
  reload = () => load(options, () => {});
  try {
    return await loadOnce(options, onProgress);
  } catch (/** @type {any} */ error) {
    if (!error.wasKept) throw error;
    return loadOnce(options, onProgress);  // the kept file was wrong, and is gone
  }
}

/** The program, while other things are downloaded. @returns {Promise<WebAssembly.Module>} */
function compileProgram() {
  const address = new URL(kModuleName, import.meta.url);
  const compiled = WebAssembly.compileStreaming(fetch(address)).catch((error) => {
    throw new TapmlError({ message: `cannot load ${kModuleName}`, where: address.href,
      found: String(error?.message ?? error),
      hint: 'serve the whole folder of tapml.mjs, with type application/wasm for .wasm' });
  });
  compiled.catch(() => {});
  return compiled;
}

/** @param {LoadOptions} options @param {(progress: any) => void} onProgress */
async function loadOnce({ urls, device, cache }, onProgress) {
  const compiled = compileProgram();
  const packages = await Promise.all(urls.map((url) => openPackage(url, abort.signal)));
  const chosen = await chooseForDevice(packages, urls, device, { what: 'a package', command: '--package DIR' });
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

/** Loads an executable, which is small and not kept.
 * @param {{urls: string[], device: 'auto' | 'webgpu' | 'wasm'}} options */
async function open(options) {
  const { urls, device } = options;
  reload = () => open(options);
  const compiled = compileProgram();
  const files = await Promise.all(urls.map(async (url) => {
    const response = await get(new URL(url), abort.signal, 0, { expected: 'an executable',
      hint: 'the address is that of a file that `tapml compile MODULE --target webgpu -o FILE` wrote' });
    return new Uint8Array(await response.arrayBuffer());
  }));
  const made = new Engine(await compiled, () => {});
  const found = [];
  for (const [index, url] of urls.entries()) {
    found.push({ url, bytes: files[index], target: await made.readExecutable(files[index], url) });
  }
  const chosen = await chooseForDevice(found, urls, device, { what: 'an executable', command: '-o FILE' });
  const facts = await made.openExecutable(chosen.bytes, chosen.url);
  engine = made;
  return { ...facts, url: chosen.url };
}

/** A lost device loses its memory, but not the request: all is loaded again, a model from the kept
 * files, and the request is repeated, since its result only depends on it.
 * @template T @param {(engine: Engine) => Promise<T>} request
 * @returns {Promise<{result: T, restarts: number}>} */
async function withRestarts(request) {
  for (let restarts = 0; ; ++restarts) {
    if (!engine) throw new TapmlError({ kind: 'internal', message: 'nothing is loaded' });
    try {
      return { result: await request(engine), restarts };
    } catch (/** @type {any} */ error) {
      if (error.kind !== 'platform: lost' || restarts === kMostRestarts) throw error;
      console.warn(`tapml: it is loaded again: ${error.message}`);
      await reload();
    }
  }
}

/** @param {number} id @param {any} request */
async function answer(id, request) {
  const given = { text: 0, thoughts: 0 };  // characters that the page has
  const { result, restarts } = await withRestarts((on) => {
    const size = { text: 0, thoughts: 0 };
    on.isStopped = () => stopped === id || (sharedStop !== null && Atomics.load(sharedStop, 0) === id);
    on.onText = (text, isThought, tokens) => {
      const kind = isThought ? 'thoughts' : 'text';
      size[kind] += text.length;
      if (size[kind] > given[kind]) {
        self.postMessage({ id, text: text.slice(given[kind] - size[kind]), isThought, tokens });
        given[kind] = size[kind];
      }
    };
    return on.answer(request);
  });
  return { ...result, restarts };
}

/** @type {Record<string, (data: any) => Promise<any>>} */
const methods = {
  load: ({ id, options }) => load(options, (progress) => self.postMessage({ id, progress })),
  open: ({ options }) => open(options),
  answer: ({ id, request }) => answer(id, request),
  tokenize: async ({ text }) => (await withRestarts((on) => on.tokenize(text))).result,
  call: async ({ request, parts }) => (await withRestarts((on) => on.call(request, parts))).result,
};

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
      const result = await methods[method](data);
      self.postMessage({ id, result });
    } catch (error) {
      self.postMessage({ id, error: errorFields(error) });
    }
  };
  last = last.then(run);
};
