// @ts-check
// Folders over HTTP for tests, with faults in chosen files.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

/** @type {Record<string, string>} */
const kTypes = { '.html': 'text/html', '.mjs': 'text/javascript', '.wasm': 'application/wasm',
  '.json': 'application/json', '.css': 'text/css' };

/** @typedef {(bytes: Buffer, response: http.ServerResponse, range?: string) => Buffer | null} Fault
 *   changes what a file has, or answers by itself and returns null */

/** @param {Record<string, string>} folders by the first part of their paths; '': the rest
 * @param {{post?: (name: string, text: string) => void, faults?: Map<string, Fault>,
 *   alias?: (name: string) => string | null}} options `alias`: the files of other paths
 * @returns {Promise<{address: string, close: () => void}>} */
export async function serveFolders(folders, { post, faults = new Map(), alias } = {}) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url ?? '', 'http://x').pathname).slice(1);
    if (request.method === 'POST') {
      let text = '';
      request.on('data', (bytes) => {
        text += bytes;
      }).on('end', () => {
        response.writeHead(204).end();
        post?.(name, text);
      });
      return;
    }
    const [first, ...rest] = name.split('/');
    const file = alias?.(name) ?? (first in folders ? path.join(folders[first], ...rest) : path.join(folders[''], name));
    if (name.includes('..') || !fs.existsSync(file) || !fs.statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    const headers = {
      'content-type': kTypes[path.extname(file)] ?? 'application/octet-stream',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cache-control': 'no-store',
    };
    const bytes = fs.readFileSync(file), fault = faults.get(name);
    const { range } = request.headers;
    const sent = fault ? fault(bytes, response, range) : bytes;
    if (!sent) return;
    const from = Number(range?.match(/^bytes=(\d+)-$/)?.[1] ?? 0);
    if (from === 0) return void response.writeHead(200, headers).end(sent);
    const of = `bytes ${from}-${sent.length - 1}/${sent.length}`;
    response.writeHead(206, { ...headers, 'content-range': of }).end(sent.subarray(from));
  });
  await /** @type {Promise<void>} */ (new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  }));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { address: `http://127.0.0.1:${port}/`, close: () => server.close() };
}
