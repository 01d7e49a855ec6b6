// @ts-check
// A Web Worker that serves one session: tapml_worker.wasm, whose devices are WebAssembly and
// WebGPU, with the protocol's bytes over a WebSocket. Its name is the socket's address. It tells the
// page its state (SessionState). If the address asks the other end for signs of life (`signs=SECONDS`),
// their absence ends the session.
import { KernelRecords, gpuImports } from './gpu.mjs';
import { SignsOfLife } from './signs_of_life.mjs';
import { WasmProgram } from './wasm_program.mjs';

/**
 * What the page learns: the socket is open; the client has sent its first bytes; what kernels did
 * since the last news; the end, `silent` if the other end gave no sign of life.
 * @typedef {{name: string, launches: number, milliseconds: number, error: string}} KernelNews
 * @typedef {{state: 'open'} | {state: 'serving'}
 *   | {state: 'kernels', kernels: KernelNews[], error: string}
 *   | {state: 'ended', opened: boolean, served: boolean, silent: boolean, code: number, reason: string,
 *      received: number, sent: number}} SessionState
 */

const kSlice = 1 << 20;  // bytes of a message
const kNewsPause = 400;  // milliseconds between two news of kernels

/** The bytes that arrive, in order. */
class Arrived {
  /** @type {Uint8Array[]} */
  #parts = [];
  #ended = false;
  /** @type {(() => void) | null} */
  #wake = null;

  /** @param {Uint8Array} bytes */
  add(bytes) {
    if (bytes.length > 0) this.#parts.push(bytes);
    this.#wake?.();
  }
  end() {
    this.#ended = true;
    this.#wake?.();
  }
  /** Waits for at least one byte; none: the end. @param {number} most @returns {Promise<Uint8Array>} */
  async take(most) {
    while (this.#parts.length === 0 && !this.#ended) {
      await /** @type {Promise<void>} */ (new Promise((resolve) => {
        this.#wake = resolve;
      }));
      this.#wake = null;
    }
    const [first] = this.#parts;
    if (!first) return new Uint8Array();
    if (first.length <= most) {
      this.#parts.shift();
      return first;
    }
    this.#parts[0] = first.subarray(most);
    return first.subarray(0, most);
  }
}

/** Sends in messages of a limited size. @param {WebSocket} socket @param {Uint8Array} bytes */
function send(socket, bytes) {
  if (socket.readyState !== WebSocket.OPEN) throw new Error('the connection is closed');
  for (let at = 0; at < bytes.length; at += kSlice) {
    socket.send(bytes.slice(at, at + kSlice));
  }
  ending.sent += bytes.length;
}

const started = performance.now();
/** @type {Extract<SessionState, {state: 'ended'}>} */
const ending = { state: 'ended', opened: false, served: false, silent: false, code: 0, reason: '',
  received: 0, sent: 0 };

/** @param {SessionState} state */
const tell = (state) => self.postMessage(state);

const records = new KernelRecords();
/** What the page knows of them, as texts. @type {Map<string, string>} */
const told = new Map();

/** Tells the page what has changed of the kernels. */
function tellKernels() {
  const kernels = [];
  for (const [name, record] of records.kernels) {
    const text = JSON.stringify(record);
    if (told.get(name) === text) continue;
    told.set(name, text);
    kernels.push({ name, ...record });
  }
  if (kernels.length === 0 && told.get('') === records.error) return;
  told.set('', records.error);
  tell({ state: 'kernels', kernels, error: records.error });
}

/** @param {WebAssembly.Module} module @param {WebSocket} socket @param {Arrived} arrived */
async function serve(module, socket, arrived) {
  const { Suspending, promising } = /** @type {any} */ (WebAssembly);
  const waits = Suspending !== undefined && promising !== undefined;
  const program = new WasmProgram(module, {
    read: (of) => waits
      ? new Suspending(async (/** @type {number} */ to, /** @type {number} */ size) => {
        const bytes = await arrived.take(size >>> 0);
        of.view(to, bytes.length).set(bytes);
        return bytes.length;
      })
      : () => -1,
    write: (bytes) => send(socket, bytes),
    print: (bytes) => console.log(new TextDecoder().decode(bytes.slice())),
    nanoseconds: () => BigInt(Math.round((performance.now() - started) * 1e6)),
    runtime: ['WebAssembly of a browser', navigator.userAgent],
    gpu: waits ? (of) => gpuImports(of, records) : undefined,
  });
  if (!waits) {
    program.refuse('this browser lacks JavaScript Promise Integration (JSPI) of WebAssembly',
                   'use a browser that has it: Chrome, Edge or Chromium 137 or later');
    return;
  }
  try {
    await promising(program.exports.tapml_serve)();
  } catch (error) {
    program.codeOf(error);
  }
}

/** Starts the session; the promise ends with it. */
async function main() {
  const socket = new WebSocket(self.name);
  socket.binaryType = 'arraybuffer';
  const arrived = new Arrived();
  const every = Number(new URL(self.name).searchParams.get('signs') ?? 0);
  /** @type {(opened: boolean) => void} */
  let settle = () => {};
  const signs = new SignsOfLife(every, (reason) => {
    Object.assign(ending, { silent: true, reason });
    socket.close();
    arrived.end();
    settle(false);
  });
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string') {
      signs.begin();
      return;
    }
    signs.heard();
    if (!ending.served) tell({ state: 'serving' });
    ending.served = true;
    ending.received += data.byteLength;
    arrived.add(new Uint8Array(data));
  };
  const connected = new Promise((resolve) => {
    settle = resolve;
    socket.onopen = () => {
      ending.opened = true;
      tell({ state: 'open' });
      resolve(true);
    };
    socket.onclose = ({ code, reason }) => {
      if (!ending.silent) Object.assign(ending, { code, reason });
      arrived.end();
      resolve(false);
    };
  });
  const module = WebAssembly.compileStreaming(fetch(new URL('tapml_worker.wasm', import.meta.url)));
  module.catch(() => {});  // reported below, if the connection stands
  if (!await connected) return;
  told.set('', '');
  const news = setInterval(tellKernels, kNewsPause);
  await serve(await module, socket, arrived);
  clearInterval(news);
  tellKernels();
  socket.close();
}

main().catch((error) => {
  ending.reason ||= String(error);
  console.error(error);
}).finally(() => {
  tell(ending);
  self.close();
});
