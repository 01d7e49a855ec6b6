// @ts-check
// A browser with the device page, and the bare rate of a WebSocket to a tab of it:
//   node browser.mjs DEVICE-PAGE BYTES
// Prints "ready" when that tab has connected, then a rate in MB/s for every line that it reads:
// BYTES in messages of 1 MiB to a tab, which answers with one byte.
import http from 'node:http';
import { createRequire } from 'node:module';
import process from 'node:process';
import readline from 'node:readline';

import { Browser } from '../../src/web/browser.mjs';

const kSlice = 1 << 20;
const [page, size] = [process.argv[2], Number(process.argv[3])];
const taker = `<script type="module">
let taken = 0;
const socket = new WebSocket(location.href.replace('http', 'ws'));
socket.binaryType = 'arraybuffer';
socket.onmessage = ({ data }) => {
  taken += data.byteLength;
  if (taken >= ${size}) {
    taken -= ${size};
    socket.send(new Uint8Array(1));
  }
};
</script>`;

/** Opens another page. @param {Browser} browser @param {string} address */
function openTab(browser, address) {
  const params = { url: address };
  browser.debug(JSON.stringify({ id: 1, method: 'Target.createTarget', params }) + '\0');
}

const require = createRequire(import.meta.url);
/** @type {any} */
let ws = null;
for (const name of ['ws', '/usr/share/nodejs/ws']) {
  try {
    ws ??= require(name);
  } catch {
    // The other one.
  }
}
if (!ws) {
  console.log('absent: Node.js has no module ws');
  process.exit(0);
}
const browser = new Browser();
const end = async () => {
  await browser.end();
  process.exit(0);
};
const server = http.createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end(taker);
});
const sockets = new (ws.WebSocketServer ?? ws.Server)({ server });
/** @type {Promise<any>} */
const connected = new Promise((resolve) => sockets.on('connection', resolve));
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  browser.start(page, (why) => {
    console.log(`absent: ${why.message}`);
    void end();
  });
  openTab(browser, `http://127.0.0.1:${port}/`);
});
const socket = await connected;
console.log('ready');
const block = Buffer.alloc(kSlice);
const lines = readline.createInterface({ input: process.stdin });
lines.on('close', end);
for await (const _ of lines) {
  const began = performance.now();
  const taken = new Promise((resolve) => socket.once('message', resolve));
  for (let sent = 0; sent < size; sent += kSlice) socket.send(block);
  await taken;
  console.log(size / 1e3 / (performance.now() - began));
}
