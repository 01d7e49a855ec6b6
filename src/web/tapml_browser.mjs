// @ts-check
// Serves sessions of the protocol in a tab of a browser that it starts, without a window:
//   node tapml_browser.mjs                  one session over standard input and output
//   node tapml_browser.mjs --listen SOCKET  a session per connection to this Unix socket
// TAPML_BROWSER names the browser (else Chromium of PATH), TAPML_BROWSER_FLAGS more flags of it.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { Browser } from './browser.mjs';
import { PageServer } from './page_server.mjs';
import { writeAll, kErr, kOut } from './standard_streams.mjs';
import { WasmProgram } from './wasm_program.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));

/** The frame that refuses a session. @param {string} message @param {string} hint */
function refusal(message, hint) {
  /** @type {Uint8Array[]} */
  const parts = [];
  const module = new WebAssembly.Module(fs.readFileSync(path.join(folder, 'tapml_worker.wasm')));
  const program = new WasmProgram(module, {
    read: () => () => 0,
    write: (bytes) => void parts.push(bytes.slice()),
    print: (bytes) => writeAll(kErr, bytes),
    nanoseconds: () => process.hrtime.bigint(),
    runtime: ['', ''],
  });
  program.refuse(message, hint);
  return Buffer.concat(parts);
}

/** The client's end of a session. @typedef {import('./page_server.mjs').Client} Client */

/** @returns {Client} */
function standardStreams() {
  return {
    input: process.stdin,
    send: (bytes) => writeAll(kOut, bytes),
    close: () => {},
  };
}
/** @param {net.Socket} socket @returns {Client} */
function connection(socket) {
  socket.on('error', () => {});  // ends with 'close'
  return { input: socket, send: (bytes) => void socket.write(bytes), close: () => socket.end() };
}

async function main() {
  process.on('SIGINT', () => {});  // Ctrl-C at the client's terminal is for the client
  const listen = process.argv[2] === '--listen' ? process.argv[3] : null;
  const key = randomBytes(16).toString('hex');
  const server = await PageServer.open(folder, key);
  const browser = new Browser();
  let ending = false;
  const end = async () => {
    if (ending) return;
    ending = true;
    await browser.end();
    if (listen) fs.rmSync(listen, { force: true });
    process.exit(0);
  };
  process.on('SIGTERM', end);
  process.stdin.on('error', end);  // the client is gone
  server.lost = (why) => {
    if (ending) return;
    for (const client of server.clients()) {
      // The client sees the end of its connection: the tab is lost.
      client.close();
    }
    console.error(`tapml_browser: ${why}`);
    void end();
  };
  try {
    browser.start(server.address, (why) => server.lose(why));
    await server.page;
  } catch (/** @type {any} */ error) {
    server.failed = refusal(error.message, error.hint ?? '');
  }
  if (listen) {
    process.stdin.on('end', end).on('close', end).resume();
    const sessions = net.createServer((socket) => {
      const client = connection(socket);
      server.start(client).then(() => client.close());
    });
    sessions.listen(listen, () => writeAll(kOut, new TextEncoder().encode('ready\n')));
    return;
  }
  await server.start(standardStreams());
  await end();
}

await main();
