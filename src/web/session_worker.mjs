// @ts-check
// A Web Worker that serves one session: tapml_worker.wasm, whose devices are WebAssembly and
// WebGPU, with the protocol's bytes over a WebSocket. Its name is the socket's address.
import { gpuImports } from './gpu.mjs';
import { WasmProgram } from './wasm_program.mjs';

const kSlice = 1 << 20;  // bytes of a message

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
}

const started = performance.now();

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
    gpu: waits ? gpuImports : undefined,
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
  socket.onmessage = ({ data }) => arrived.add(new Uint8Array(data));
  socket.onclose = () => arrived.end();
  const connected = new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the connection is refused'));
  });
  const module = WebAssembly.compileStreaming(fetch(new URL('tapml_worker.wasm', import.meta.url)));
  await connected;
  await serve(await module, socket, arrived);
  socket.close();
}

main().then(() => self.postMessage('ended'), (error) => {
  self.postMessage(String(error));
  throw error;
}).finally(() => self.close());
