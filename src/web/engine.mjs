// @ts-check
// tapml_engine.wasm: one model, from the files of a package to answers, or one executable. Runs in a
// Web Worker.
import { TapmlError } from './errors.mjs';
import { gpuImports } from './gpu.mjs';
import { WasmProgram } from './wasm_program.mjs';

const kPieceBytes = 4 << 20;  // of the weights, in the program's memory

/** Whether the program can wait for what JavaScript does: JavaScript Promise Integration (JSPI). */
export const canWait = 'Suspending' in WebAssembly && 'promising' in WebAssembly;

/** Continues after the messages that have arrived. @returns {Promise<void>} */
const otherTasks = (() => {
  const { port1, port2 } = new MessageChannel();
  /** @type {(() => void) | null} */
  let resume = null;
  port1.onmessage = () => resume?.();
  return () => new Promise((/** @type {(value: void) => void} */ resolve) => {
    resume = () => resolve();
    port2.postMessage(0);
  });
})();

export class Engine {
  /** Receives a piece of the answer, or of its thoughts, and the tokens so far.
   * @type {(text: string, isThought: boolean, tokens: number) => void} */
  onText = () => {};
  /** Whether the answer shall end. */
  isStopped = () => false;
  #encoder = new TextEncoder();
  /** @type {WasmProgram} */
  #program;
  #lost = '';

  /** @param {WebAssembly.Module} module
   * @param {(what: string, done: number, total: number) => void} onProgress */
  constructor(module, onProgress) {
    const started = performance.now();
    const { Suspending } = /** @type {any} */ (WebAssembly);
    this.#program = new WasmProgram(module, {
      read: () => () => -1,
      write: () => {},
      print: (bytes) => console.warn(new TextDecoder().decode(bytes.slice())),
      nanoseconds: () => BigInt(Math.round((performance.now() - started) * 1e6)),
      runtime: ['WebAssembly of a browser', navigator.userAgent],
      gpu: canWait ? gpuImports : undefined,
      more: (program) => {
        /** @param {number} text @param {number} size @param {number} isThought @param {number} tokens */
        const give = (text, size, isThought, tokens) => {
          this.onText(program.text(text, size), isThought !== 0, tokens);
          return this.isStopped() ? 0 : 1;
        };
        return { tapml_page: {
          // A request to stop arrives between two tokens.
          text: canWait
            ? new Suspending(async (/** @type {[number, number, number, number]} */ ...piece) => {
              give(...piece);
              await otherTasks();
              return this.isStopped() ? 0 : 1;
            })
            : give,
          stopped: () => this.isStopped() ? 1 : 0,
          /** @param {number} what @param {number} size @param {number} done @param {number} total */
          progress: (what, size, done, total) => onProgress(program.text(what, size), done, total),
        } };
      },
    });
  }

  /** @param {Uint8Array[]} parts @returns {number} their size */
  #put(...parts) {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    let at = this.#program.exports.tapml_input(size);
    for (const part of parts) {
      this.#program.view(at, part.length).set(part);
      at += part.length;
    }
    return size;
  }

  /** Calls an export and returns its reply. @param {string} name @param {any[]} args */
  async #call(name, ...args) {
    if (this.#lost) {
      throw new TapmlError({ kind: 'platform: lost', message: `the program is lost: ${this.#lost}`,
        hint: 'load it again' });
    }
    const { exports } = this.#program;
    let failed;
    try {
      const call = exports[name];
      failed = canWait ? await /** @type {any} */ (WebAssembly).promising(call)(...args) : call(...args);
    } catch (/** @type {any} */ error) {
      // A trap leaves the program in any state.
      this.#lost = String(error?.message ?? error);
      throw new TapmlError({ kind: 'platform: crash', message: `the program crashed: ${this.#lost}`,
        where: name, hint: 'load it again' });
    }
    const reply = JSON.parse(this.#program.text(exports.tapml_reply(), exports.tapml_reply_size()));
    if (failed) throw new TapmlError(reply);
    return reply;
  }

  /** @param {string} name @param {Uint8Array} bytes @param {string} checksum hexadecimal */
  addFile(name, bytes, checksum) {
    const label = this.#encoder.encode(name);
    this.#put(label, bytes);
    return this.#call('tapml_add_file', label.length, bytes.length, BigInt(`0x${checksum}`));
  }

  /** Opens the device and loads the kernels; what the model is.
   * @param {{end_tokens: number[]}} list */
  open(list) {
    return this.#call('tapml_open', this.#put(this.#encoder.encode(JSON.stringify(list))));
  }

  /** Moves the weights to the device as they arrive.
   * @param {AsyncIterable<Uint8Array>} chunks @param {number} fileBytes
   * @param {string} checksum hexadecimal */
  async addWeights(chunks, fileBytes, checksum) {
    /** What arrived and is not on its way to the device. @type {Uint8Array[]} */
    let waiting = [];
    let size = 0, headerBytes = 0, begun = false;
    const send = async () => {
      if (size === 0) return;
      await this.#call('tapml_add_weights', this.#put(...waiting));
      waiting = [];
      size = 0;
    };
    for await (const chunk of chunks) {
      waiting.push(chunk);
      size += chunk.length;
      if (!begun && headerBytes === 0 && size >= 8) {
        const { bytes } = await this.#call('tapml_header_bytes', this.#put(...waiting), fileBytes);
        headerBytes = bytes;
      }
      if (!begun && headerBytes > 0 && size >= headerBytes) {
        await this.#call('tapml_begin_weights', this.#put(...waiting), fileBytes);
        begun = true;
      }
      if (begun && size >= kPieceBytes) await send();
    }
    if (begun) await send();
    if (!begun) {
      throw new TapmlError({ message: 'the download of the weights is incomplete',
        expected: `${fileBytes} bytes`, found: `${size} bytes`, hint: 'load the model again' });
    }
    await this.#call('tapml_finish', BigInt(`0x${checksum}`));
  }

  /** @param {Record<string, any>} request see src/browser/page_model.h */
  answer(request) {
    return this.#call('tapml_answer', this.#put(this.#encoder.encode(JSON.stringify(request))));
  }
  /** @param {string} text @returns {Promise<number[]>} */
  async tokenize(text) {
    return (await this.#call('tapml_tokenize', this.#put(this.#encoder.encode(text)))).tokens;
  }

  /** Its target. @param {Uint8Array} file @param {string} url for errors */
  async readExecutable(file, url) {
    try {
      return (await this.#call('tapml_read_executable', this.#put(file))).target;
    } catch (/** @type {any} */ error) {
      throw error instanceof TapmlError ? error.at(url) : error;
    }
  }
  /** Opens the device that it was made for. @param {Uint8Array} file @param {string} url */
  async openExecutable(file, url) {
    await this.readExecutable(file, url);
    return this.#call('tapml_open_executable');
  }
  /** Calls a function or a kernel (src/browser/page_calls.h).
   * @param {string} request JSON @param {Uint8Array[]} parts the bytes of its tensors */
  async call(request, parts) {
    const text = this.#encoder.encode(request);
    const json = await this.#call('tapml_call', text.length, this.#put(text, ...parts));
    const size = this.#program.exports.tapml_output_size();
    return { json, bytes: this.#program.view(this.#program.exports.tapml_output(), size).slice() };
  }
}
