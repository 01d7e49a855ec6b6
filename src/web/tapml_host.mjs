// @ts-check
// Runs tapml_worker.wasm, from the same folder, under Node.js: one session of the protocol over
// standard input and output. `--target wasm@pipe:node .../tapml_host.mjs`
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { kErr, kIn, kOut, patient, writeAll } from './standard_streams.mjs';
import { WasmProgram } from './wasm_program.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));

function main() {
  process.on('SIGINT', () => {});  // Ctrl-C at the client's terminal is for the client
  const module = new WebAssembly.Module(fs.readFileSync(path.join(folder, 'tapml_worker.wasm')));
  const program = new WasmProgram(module, {
    read: (of) => (/** @type {number} */ to, /** @type {number} */ size) => {
      try {
        return patient(() => fs.readSync(kIn, of.view(to, size)));
      } catch (/** @type {any} */ error) {
        return error.code === 'EOF' ? 0 : -1;
      }
    },
    write: (bytes) => writeAll(kOut, bytes),
    print: (bytes) => writeAll(kErr, bytes),
    nanoseconds: () => process.hrtime.bigint(),
    runtime: ['WebAssembly of Node.js', `${process.version}, V8 ${process.versions.v8}`],
  });
  try {
    return program.exports.tapml_serve();
  } catch (/** @type {any} */ error) {
    try {
      return program.codeOf(error);
    } catch {
      console.error(`tapml_host: ${error.stack}`);
      return 1;
    }
  }
}

process.exitCode = main();
