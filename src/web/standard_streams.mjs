// @ts-check
// Bytes of standard input and output under Node.js, without an event loop.
import fs from 'node:fs';

export const kIn = 0, kOut = 1, kErr = 2;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Retries while the system reports that it is not ready: pipes may be non-blocking.
 * @template T @param {() => T} action @returns {T} */
export function patient(action) {
  for (;;) {
    try {
      return action();
    } catch (/** @type {any} */ error) {
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}

/** @param {number} descriptor @param {Uint8Array} bytes */
export function writeAll(descriptor, bytes) {
  for (let at = 0; at < bytes.length;) {
    at += patient(() => fs.writeSync(descriptor, bytes, at, bytes.length - at));
  }
}
