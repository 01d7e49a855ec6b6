// @ts-check
// The Web Worker of a model or an executable (model_worker.mjs), and the calls that wait for it.
import { TapmlError } from './errors.mjs';

/** @typedef {{text?: string, isThought?: boolean, tokens?: number, progress?: any, result?: any, error?: any}} Reply */

/** The worker, and the calls that wait for it. */
export class Calls {
  #worker;
  #what;
  #last = 0;
  #ended = '';
  /** @type {Map<number, (reply: Reply) => void>} */
  #waiting = new Map();
  /** Where a page and its workers share memory, the worker sees a stop while it computes.
   * @type {Int32Array | null} */
  #stop = globalThis.crossOriginIsolated ? new Int32Array(new SharedArrayBuffer(4)) : null;

  /** @param {string} what the worker has, as errors name it */
  constructor(what) {
    this.#what = what;
    const address = new URL('model_worker.mjs', import.meta.url);
    this.#worker = new Worker(address, { type: 'module', name: 'tapml' });
    this.#worker.onmessage = ({ data }) => this.#waiting.get(data.id)?.(data);
    this.#worker.onerror = ({ message }) => this.end(`its worker failed: ${message ?? 'it does not start'}`);
  }
  get stopMemory() {
    return this.#stop?.buffer;
  }

  /** @param {{method: string} & Record<string, any>} message
   * @param {(reply: Reply) => void} meanwhile for what comes before the result
   * @param {AbortSignal=} signal asks to stop; the result still comes @returns {Promise<any>} */
  call(message, meanwhile = () => {}, signal) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(new TapmlError({ kind: 'platform: lost', message: `${this.#what} is gone: ${this.#ended}` }));
        return;
      }
      const stop = () => {
        if (this.#stop) Atomics.store(this.#stop, 0, id);
        this.#worker.postMessage({ method: 'stop', of: id });
      };
      const done = () => {
        this.#waiting.delete(id);
        signal?.removeEventListener('abort', stop);
      };
      this.#waiting.set(id, (reply) => {
        if (reply.error) {
          done();
          reject(new TapmlError(reply.error));
        } else if ('result' in reply) {
          done();
          resolve(reply.result);
        } else {
          meanwhile(reply);
        }
      });
      this.#worker.postMessage({ ...message, id });
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop);
    });
  }

  /** @param {string} why */
  end(why) {
    if (this.#ended) return;
    this.#ended = why;
    this.#worker.terminate();
    for (const reply of [...this.#waiting.values()]) {
      reply({ error: { kind: 'platform: lost', message: `${this.#what} is gone: ${why}` } });
    }
  }
}
