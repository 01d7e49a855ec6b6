// Runs tapml_worker.wasm, from the same folder, under Node.js: one session of the protocol over
// standard input and output. `--target wasm@pipe:node .../tapml_host.mjs`
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const kIn = 0, kOut = 1, kErr = 2;
const folder = path.dirname(fileURLToPath(import.meta.url));

class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

let worker;  // its exports, once it is instantiated
const encoder = new TextEncoder(), decoder = new TextDecoder();

// Growing memory invalidates views, so they are created anew. Pointers arrive as signed numbers.
const view = (address, size) => new Uint8Array(worker.memory.buffer, address >>> 0, size >>> 0);
const numbers = () => new DataView(worker.memory.buffer);
const text = (address, size) => decoder.decode(view(address, size).slice());
function put(message, address, room) {
  const bytes = encoder.encode(message).subarray(0, room >>> 0);
  view(address, bytes.length).set(bytes);
  return bytes.length;
}

// --- standard input and output ------------------------------------------------------------------

const sleeper = new Int32Array(new SharedArrayBuffer(4));

// Retries while the system reports that it is not ready: pipes may be non-blocking.
function patient(action) {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}

function writeAll(descriptor, bytes) {
  for (let at = 0; at < bytes.length;) {
    at += patient(() => fs.writeSync(descriptor, bytes, at, bytes.length - at));
  }
}

// --- kernel modules -----------------------------------------------------------------------------

const modules = new Map();
const freeSlots = [];  // in the table
let lastModule = 0, lastMessage = new Uint8Array();

function failed(error) {
  lastMessage = encoder.encode(String(error.message || error));
  return -Math.max(lastMessage.length, 1);
}

// The memory requirements of a shared module: the first subsection of type 1 in "dylink.0".
function dataOf(module) {
  const [section] = WebAssembly.Module.customSections(module, 'dylink.0');
  if (!section) throw new Error('not a shared module: no section "dylink.0"');
  const bytes = new Uint8Array(section);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (at >= bytes.length) throw new Error('section "dylink.0" is truncated');
      const byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error('section "dylink.0" has a number beyond 32 bits');
  };
  while (at < bytes.length) {
    const type = number(), size = number(), end = at + size;
    if (type === 1) {
      const data = { bytes: number(), alignment: 2 ** number() };
      if (number() > 0) throw new Error('a kernel module with function pointers');
      return data;
    }
    at = end;
  }
  return { bytes: 0, alignment: 1 };
}

function compile(from, size) {
  try {
    const module = new WebAssembly.Module(view(from, size));
    const entry = { module, data: dataOf(module), instance: null, places: new Map() };
    modules.set(++lastModule, entry);
    return lastModule;
  } catch (error) {
    return failed(error);
  }
}

// A kernel module uses the worker's memory, stack and functions, by their C names.
function instantiate(number, data) {
  const entry = modules.get(number);
  const constant = (value) => new WebAssembly.Global({ value: 'i32', mutable: false }, value);
  const env = {
    memory: worker.memory,
    __stack_pointer: worker.__stack_pointer,
    __indirect_function_table: worker.__indirect_function_table,
    __memory_base: constant(data),
    __table_base: constant(0),
  };
  try {
    for (const { module, name } of WebAssembly.Module.imports(entry.module)) {
      if (module === 'env' && !(name in env) && typeof worker[name] === 'function') {
        env[name] = worker[name];
      }
    }
    entry.instance = new WebAssembly.Instance(entry.module, { env });
    entry.instance.exports.__wasm_apply_data_relocs?.();
    entry.instance.exports.__wasm_call_ctors?.();
    return 0;
  } catch (error) {
    return failed(error);
  }
}

function entry(number, name, size) {
  const { instance, places } = modules.get(number);
  const symbol = text(name, size);
  if (places.has(symbol)) return places.get(symbol);
  const kernel = instance.exports[symbol];
  if (typeof kernel !== 'function') return 0;
  const table = worker.__indirect_function_table;
  const place = freeSlots.pop() ?? table.grow(1);
  table.set(place, kernel);
  places.set(symbol, place);
  return place;
}

function unload(number) {
  for (const place of modules.get(number).places.values()) {
    worker.__indirect_function_table.set(place, null);
    freeSlots.push(place);
  }
  modules.delete(number);
}

const tapml = {
  read(to, size) {
    try {
      return patient(() => fs.readSync(kIn, view(to, size)));
    } catch (error) {
      return error.code === 'EOF' ? 0 : -1;
    }
  },
  write(from, size) {
    try {
      writeAll(kOut, view(from, size));
      return 0;
    } catch {
      return -1;
    }
  },
  describe: (to, room) =>
    put(`WebAssembly of Node.js\n${process.version}, V8 ${process.versions.v8}`, to, room),
  compile,
  message: (to, room) => view(to, Math.min(room, lastMessage.length)).set(lastMessage.subarray(0, room)),
  data_bytes: (number) => modules.get(number).data.bytes,
  data_alignment: (number) => modules.get(number).data.alignment,
  instantiate,
  entry,
  unload,
};

// --- imports of the C library ------------------------------------------------------------------

const kOk = 0, kBadDescriptor = 8, kUnsupported = 52;

const wasi = {
  clock_time_get(clock, _precision, result) {
    const time = clock === 0 ? BigInt(Date.now()) * 1000000n : process.hrtime.bigint();
    numbers().setBigUint64(result >>> 0, time, true);
    return kOk;
  },
  // Standard output belongs to the protocol: everything that is printed goes to standard error.
  fd_write(descriptor, vectors, count, result) {
    if (descriptor !== kOut && descriptor !== kErr) return kBadDescriptor;
    let written = 0;
    for (let i = 0; i < count; ++i) {
      const at = (vectors >>> 0) + 8 * i;
      const bytes = view(numbers().getUint32(at, true), numbers().getUint32(at + 4, true));
      writeAll(kErr, bytes);
      written += bytes.length;
    }
    numbers().setUint32(result >>> 0, written, true);
    return kOk;
  },
  proc_exit(code) {
    throw new Exit(code);
  },
};

// Unsupported calls return an error, which the C library handles.
function wasiImports(module) {
  const imports = { ...wasi };
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    if (from === 'wasi_snapshot_preview1') imports[name] ??= () => kUnsupported;
  }
  return imports;
}

// --- the session --------------------------------------------------------------------------------

// Describes the trap and its location: the functions of the stack that have names.
function crash(error, stack) {
  const frames = String(error.stack).split('\n').slice(1).map((line) => line.trim());
  const message = [String(error), ...frames.filter((line) => line.includes('wasm'))].join('\n');
  worker.__stack_pointer.value = stack;
  worker.tapml_crashed(put(message, worker.tapml_crash_text(), worker.tapml_crash_room()));
}

function main() {
  process.on('SIGINT', () => {});  // Ctrl-C at the client's terminal is for the client
  const module = new WebAssembly.Module(fs.readFileSync(path.join(folder, 'tapml_worker.wasm')));
  const instance = new WebAssembly.Instance(module, {
    tapml, wasi_snapshot_preview1: wasiImports(module),
  });
  worker = instance.exports;
  worker._initialize();
  const stack = worker.__stack_pointer.value;
  try {
    return worker.tapml_serve();
  } catch (error) {
    if (error instanceof Exit) return error.code;
    try {
      crash(error, stack);
    } catch {
      console.error(`tapml_host: ${error.stack}`);
    }
    return 1;
  }
}

process.exitCode = main();
