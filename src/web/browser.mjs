// @ts-check
// A browser without a window, with a profile of its own.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

const kFlags = [
  '--headless', '--no-first-run', '--disable-quic', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-extensions', '--disable-breakpad',
  '--disable-dev-shm-usage', '--enable-unsafe-webgpu',
  // Ends the browser if this process is killed: its end of the pipe closes.
  '--remote-debugging-pipe',
];
const kProfile = 'tapml-browser-';  // then the number of the process that made it
const kKeptLines = 20;

/** Removes profiles whose processes were killed before they could. */
function removeOldProfiles() {
  for (const name of fs.readdirSync(os.tmpdir())) {
    if (!name.startsWith(kProfile)) continue;
    const owner = Number.parseInt(name.slice(kProfile.length), 10);
    try {
      process.kill(owner, 0);
    } catch (/** @type {any} */ error) {
      if (error.code !== 'ESRCH') continue;
      fs.rmSync(path.join(os.tmpdir(), name), { recursive: true, force: true });
    }
  }
}

export class Browser {
  /** @type {import('node:child_process').ChildProcess | null} */
  #process = null;
  #profile = '';
  #ending = false;
  /** @type {Promise<void>} */
  #exited = Promise.resolve();

  /** Takes what the browser answers to debug(). @type {(bytes: Buffer) => void} */
  debugged = () => {};
  /** Sends a message of the DevTools protocol, with the zero that ends it. @param {string} message */
  debug(message) {
    /** @type {import('node:stream').Writable} */ (this.#process?.stdio[3]).write(message);
  }

  /** Opens `address`. `gone` is called if the browser ends by itself or cannot be started.
   * @param {string} address @param {(why: Error) => void} gone */
  start(address, gone) {
    removeOldProfiles();
    this.#profile = fs.mkdtempSync(path.join(os.tmpdir(), `${kProfile}${process.pid}-`));
    const program = process.env.TAPML_BROWSER || 'chromium';
    const flags = [...kFlags, `--user-data-dir=${this.#profile}`];
    // Chromium's sandbox refuses to run as root.
    if (process.getuid?.() === 0) flags.push('--no-sandbox');
    const more = (process.env.TAPML_BROWSER_FLAGS ?? '--use-webgpu-adapter=swiftshader').split(' ');
    const child = spawn(program, [...flags, ...more.filter((flag) => flag), address], {
      detached: true,  // a process group of its own, which end() kills
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#process = child;
    /** @type {string[]} */
    let lines = [];
    child.stderr?.on('data', (bytes) => {
      lines = [...lines, ...bytes.toString().split('\n')].filter((line) => line).slice(-kKeptLines);
    });
    for (const pipe of child.stdio.slice(3)) pipe?.on('error', () => {});
    child.stdio[4]?.on('data', (bytes) => this.debugged(bytes));
    this.#exited = new Promise((resolve) => {
      child.on('error', (/** @type {any} */ error) => {
        const missing = error.code === 'ENOENT';
        gone(Object.assign(
            new Error(missing ? `there is no browser "${program}"` : `cannot start "${program}": ${error.message}`),
            { hint: 'install Debian\'s package chromium, or set TAPML_BROWSER to the program of a browser like it' }));
        resolve();
      });
      child.on('exit', (code, signal) => {
        if (!this.#ending) {
          gone(Object.assign(new Error(`the browser has ended (${signal ?? `exit code ${code}`})`),
                             { hint: lines.slice(-3).join('\n') }));
        }
        resolve();
      });
    });
  }

  /** The pipe to its DevTools protocol, once it has started: messages end with a zero.
   * @returns {{to: import('node:stream').Writable, from: import('node:stream').Readable}} */
  get pipe() {
    const [, , , to, from] = /** @type {any} */ (this.#process).stdio;
    return { to, from };
  }

  /** Ends the browser and removes its profile. */
  async end() {
    this.#ending = true;
    if (this.#process?.pid) {
      try {
        process.kill(-this.#process.pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
      await this.#exited;
    }
    if (this.#profile) {
      fs.rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    }
  }
}
