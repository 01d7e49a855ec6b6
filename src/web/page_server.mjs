// @ts-check
// The page's files over HTTP on a loopback port, and its WebSockets: a control socket, on which
// sessions are announced, and one socket for each session.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

/** @type {Record<string, string>} */
const kTypes = { '.html': 'text/html', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const kFiles = ['index.html', 'page.mjs', 'session_worker.mjs', 'tapml_worker.wasm'];
const kStartMilliseconds = 20000;
const kSlice = 1 << 20;           // bytes of a message
const kMostWaiting = 8 << 20;     // bytes that the tab has not taken yet

/** The client of a session.
 * @typedef {{input: import('node:stream').Readable, send: (bytes: Uint8Array) => void,
 *   close: () => void}} Client */

/** The page's files, with the modules that they import. @param {string} folder */
function filesOf(folder) {
  const files = [...kFiles];
  for (const name of files) {  // grows
    const file = path.join(folder, name);
    if (!name.endsWith('.mjs') || !fs.existsSync(file)) continue;
    for (const [, module] of fs.readFileSync(file, 'utf8').matchAll(/^import .* from '\.\/(\w+\.mjs)';/gm)) {
      if (!files.includes(module)) files.push(module);
    }
  }
  return files;
}

/** The module ws, of Debian's package node-ws or of npm. */
function webSockets() {
  const require = createRequire(import.meta.url);
  for (const name of ['ws', '/usr/share/nodejs/ws']) {
    try {
      return require(name);
    } catch (/** @type {any} */ error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return null;
}

export class PageServer {
  /** A frame that every session gets instead, because there is no page. @type {Uint8Array | null} */
  failed = null;
  /** Called once, when the page is gone. @type {(why: string) => void} */
  lost = () => {};
  #sessions = 0;
  /** @type {string[]} */
  #files = [];
  /** @type {Map<number, {client: Client, done: () => void}>} */
  #running = new Map();
  /** @type {any} */
  #control = null;
  /** @type {(error: Error) => void} */
  #refuse = () => {};

  /** @param {string} folder @param {string} key */
  constructor(folder, key) {
    this.folder = folder;
    this.#files = filesOf(folder);
    this.key = key;
    this.address = '';
    /** Settled when the page has connected. @type {Promise<void>} */
    this.page = new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(
          `the browser has not opened the page within ${kStartMilliseconds / 1000} s`)), kStartMilliseconds);
      this.connected = () => {
        clearTimeout(late);
        resolve();
      };
      this.#refuse = (error) => {
        clearTimeout(late);
        reject(error);
      };
    });
    this.page.catch(() => {});
  }

  /** Listens on a free port of this computer. Only pages that know `key` may connect.
   * @param {string} folder @param {string} key */
  static async open(folder, key) {
    const self = new PageServer(folder, key);
    const server = http.createServer((request, response) => self.#file(request, response));
    const ws = webSockets();
    if (!ws) {
      self.#refuse(Object.assign(new Error('Node.js has no module ws'),
        { hint: 'install Debian\'s package node-ws, or npm\'s ws' }));
    } else {
      const sockets = new (ws.WebSocketServer ?? ws.Server)({ noServer: true, maxPayload: 0 });
      server.on('upgrade', (request, socket, head) => {
        const allowed = self.#allows(request);
        if (!allowed) {
          socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
          return;
        }
        sockets.handleUpgrade(request, socket, head, (/** @type {any} */ made) => allowed(made));
      });
    }
    await /** @type {Promise<void>} */ (new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve());
    }));
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    self.address = `http://127.0.0.1:${port}/?${key}`;
    server.unref();
    return self;
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  #file(request, response) {
    const name = new URL(request.url ?? '', 'http://x').pathname.slice(1) || 'index.html';
    if (!this.#files.includes(name)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-type': kTypes[path.extname(name)],
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cache-control': 'no-store',
    });
    fs.createReadStream(path.join(this.folder, name)).pipe(response);
  }

  /** What to do with a socket; null: refused. Pages of other origins and without the key are.
   * @param {http.IncomingMessage} request @returns {((socket: any) => void) | null} */
  #allows(request) {
    const { pathname, search } = new URL(request.url ?? '', 'http://x');
    if (request.headers.origin !== new URL(this.address).origin) return null;
    if (search !== `?${this.key}`) return null;
    if (pathname === '/control') return (socket) => this.#admitPage(socket);
    const session = this.#running.get(Number(pathname.slice('/session/'.length)));
    return session ? (socket) => this.#join(session, socket) : null;
  }

  /** @param {any} socket */
  #admitPage(socket) {
    this.#control = socket;
    socket.on('message', (/** @type {Buffer} */ text) => {
      const { failed, message } = JSON.parse(text.toString());
      console.error(`tapml_browser: session ${failed}: ${message}`);
      this.#running.get(failed)?.done();
    });
    socket.on('close', () => this.lose('the tab was closed'));
    this.connected?.();
  }
  /** The page is gone, or never came. @param {string | Error} why */
  lose(why) {
    this.#refuse(why instanceof Error ? why : new Error(why));
    if (this.#control) this.lost(String(why));
    this.#control = null;
    for (const { done } of this.#running.values()) done();
  }
  *clients() {
    for (const { client } of this.#running.values()) yield client;
  }

  /** Carries bytes between client and tab. @param {{client: Client, done: () => void}} session
   * @param {any} socket */
  #join({ client, done }, socket) {
    const { input } = client;
    socket.on('message', (/** @type {Buffer} */ bytes) => client.send(bytes));
    socket.on('close', done);
    const sent = () => {
      if (socket.bufferedAmount < kMostWaiting) input.resume();
    };
    input.on('data', (/** @type {Buffer} */ bytes) => {
      for (let at = 0; at < bytes.length; at += kSlice) {
        socket.send(bytes.subarray(at, at + kSlice), sent);
      }
      if (socket.bufferedAmount >= kMostWaiting) input.pause();
    });
    const ended = () => socket.close();
    input.on('end', ended);
    input.on('close', ended);
  }

  /** Serves a session; the promise ends with it. @param {Client} client @returns {Promise<void>} */
  start(client) {
    if (this.failed) {
      client.send(this.failed);
      return Promise.resolve();
    }
    const session = ++this.#sessions;
    return new Promise((resolve) => {
      const done = () => {
        this.#running.delete(session);
        resolve();
      };
      this.#running.set(session, { client, done });
      if (!this.#control) return done();
      this.#control.send(JSON.stringify({ session, path: `session/${session}?${this.key}` }));
      return undefined;
    });
  }
}
