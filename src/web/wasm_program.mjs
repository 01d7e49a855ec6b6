// @ts-check
// tapml_worker.wasm or tapml_engine.wasm in any JavaScript environment: its memory, its C library's
// imports, kernel modules, and reports of crashes.
import { kernelModuleImports } from './kernel_modules.mjs';

const kOut = 1, kErr = 2;
const kOk = 0, kBadDescriptor = 8, kUnsupported = 52;  // results of WASI

/** The program ended itself. */
class Exit extends Error {
  /** @param {number} code */
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * What the program needs of its environment.
 * @typedef {object} Environment
 * @property {(program: WasmProgram) => any} read the import `tapml.read`: (to, size) => bytes read,
 *   0 at the end, -1 on failure
 * @property {(bytes: Uint8Array) => void} write sends all bytes to the client; throws on failure
 * @property {(bytes: Uint8Array) => void} print for what the program prints
 * @property {() => bigint} nanoseconds a steady clock
 * @property {[string, string]} runtime name and version of the WebAssembly runtime
 * @property {((program: WasmProgram) => Record<string, any>)=} gpu the imports `tapml_gpu`; none:
 *   the program serves no GPU
 * @property {((program: WasmProgram) => Record<string, Record<string, any>>)=} more imports of other
 *   modules
 */

export class WasmProgram {
  #message = new Uint8Array();
  #encoder = new TextEncoder();
  #decoder = new TextDecoder();
  #stack = 0;

  /** @param {WebAssembly.Module} module @param {Environment} environment */
  constructor(module, environment) {
    /** @type {any} */
    const wasi = this.#wasi(environment);
    /** @type {any} */
    const gpu = environment.gpu?.(this) ?? {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      // Unsupported calls return an error, which the C library handles.
      if (from === 'wasi_snapshot_preview1') wasi[name] ??= () => kUnsupported;
      if (from === 'tapml_gpu') gpu[name] ??= () => this.failed('this program runs in no browser');
    }
    const tapml = { ...this.#host(environment), ...kernelModuleImports(this) };
    const imports = { tapml, tapml_gpu: gpu, wasi_snapshot_preview1: wasi,
      ...environment.more?.(this) };
    /** The program's exports. @type {any} */
    this.exports = new WebAssembly.Instance(module, imports).exports;
    this.exports._initialize();
    this.#stack = this.exports.__stack_pointer.value;
  }

  // Growing memory invalidates views, so they are created anew. Pointers arrive as signed numbers.

  /** @param {number} address @param {number} size */
  view(address, size) {
    return new Uint8Array(this.exports.memory.buffer, address >>> 0, size >>> 0);
  }
  numbers() {
    return new DataView(this.exports.memory.buffer);
  }
  /** @param {number} address @param {number} size */
  text(address, size) {
    return this.#decoder.decode(this.view(address, size).slice());
  }
  /** Writes a text, cut to `room` bytes; returns the size.
   * @param {string} message @param {number} address @param {number} room */
  put(message, address, room) {
    const bytes = this.#encoder.encode(message).subarray(0, room >>> 0);
    this.view(address, bytes.length).set(bytes);
    return bytes.length;
  }
  /** Keeps the message of an error for the program; returns minus its size.
   * @param {unknown} error */
  failed(error) {
    const text = error instanceof Error ? error.message : String(error);
    this.#message = this.#encoder.encode(text || 'an error without a message');
    return -this.#message.length;
  }

  /** Describes what ended the program, over its channel. @param {any} error */
  report(error) {
    const frames = String(error?.stack).split('\n').slice(1).map((line) => line.trim());
    const message = [String(error), ...frames.filter((line) => line.includes('wasm'))].join('\n');
    this.#end(this.exports.tapml_crashed, message);
  }
  /** Tells the client that there is no session here, and what to do about it.
   * @param {string} message @param {string} hint */
  refuse(message, hint) {
    this.#end(this.exports.tapml_refused, `${message}\n${hint}`);
  }
  /** @param {(size: number) => void} send @param {string} message */
  #end(send, message) {
    const { exports } = this;
    exports.__stack_pointer.value = this.#stack;
    send(this.put(message, exports.tapml_crash_text(), exports.tapml_crash_room()));
  }

  /** The program's result: exit codes included; a crash is reported and 1.
   * @param {unknown} error what tapml_serve() threw */
  codeOf(error) {
    if (error instanceof Exit) return error.code;
    this.report(error);
    return 1;
  }

  /** @param {Environment} environment */
  #host(environment) {
    return {
      read: environment.read(this),
      /** @param {number} from @param {number} size */
      write: (from, size) => {
        try {
          environment.write(this.view(from, size));
          return 0;
        } catch {
          return -1;
        }
      },
      /** @param {number} to @param {number} room */
      describe: (to, room) => this.put(environment.runtime.join('\n'), to, room),
      /** @param {number} to @param {number} room */
      message: (to, room) => {
        const bytes = this.#message.subarray(0, room >>> 0);
        this.view(to, bytes.length).set(bytes);
      },
    };
  }

  /** @param {Environment} environment */
  #wasi(environment) {
    return {
      /** @param {number} clock @param {bigint} _precision @param {number} result */
      clock_time_get: (clock, _precision, result) => {
        const time = clock === 0 ? BigInt(Date.now()) * 1000000n : environment.nanoseconds();
        this.numbers().setBigUint64(result >>> 0, time, true);
        return kOk;
      },
      /** The output belongs to the protocol: all that is printed goes to standard error.
       * @param {number} descriptor @param {number} vectors @param {number} count
       * @param {number} result */
      fd_write: (descriptor, vectors, count, result) => {
        if (descriptor !== kOut && descriptor !== kErr) return kBadDescriptor;
        let written = 0;
        for (let i = 0; i < count; ++i) {
          const at = (vectors >>> 0) + 8 * i, numbers = this.numbers();
          const bytes = this.view(numbers.getUint32(at, true), numbers.getUint32(at + 4, true));
          environment.print(bytes);
          written += bytes.length;
        }
        this.numbers().setUint32(result >>> 0, written, true);
        return kOk;
      },
      /** @param {number} code */
      proc_exit: (code) => {
        throw new Exit(code);
      },
    };
  }
}
