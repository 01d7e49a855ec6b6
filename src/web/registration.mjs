// @ts-check
// Keeps a tab registered at a tracker: one worker for each session, and a pause that grows while
// the tracker does not answer.

const kFirstPause = 250, kLongestPause = 30000;  // milliseconds
const kRefusals = 4000;  // a tracker refuses with this code plus a status of HTTP
const kFull = 503;
const kSigns = 15;  // seconds between two signs of life of the tracker

/**
 * What happens to the registration: `waiting` for the next try; `refused` is the last news.
 * @typedef {{state: 'connecting'} | {state: 'ready'} | {state: 'serving'}
 *   | {state: 'kernels', kernels: import('./session_worker.mjs').KernelNews[], error: string}
 *   | {state: 'served', received: number, sent: number}
 *   | {state: 'waiting', reason: string, milliseconds: number}
 *   | {state: 'refused', reason: string}} News
 */

/** @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

export class Registration {
  /** @type {Worker | null} */
  #worker = null;
  #pause = kFirstPause;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {string} tracker "ws://HOST:PORT" @param {string} key @param {string} token
   * @param {(news: News) => void} tell @param {number} signs */
  constructor(tracker, key, token, tell, signs = kSigns) {
    this.tracker = tracker;
    this.tell = tell;
    const query = `key=${encodeURIComponent(key)}&signs=${signs}` + (token ? `&token=${encodeURIComponent(token)}` : '');
    this.address = `${tracker}/device?${query}`;
    this.#start();
  }
  /** Ends the session, if there is one. */
  end() {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    this.tell = () => {};
  }
  /** Tries now, if it waits for the next try. */
  retry() {
    if (!this.#worker) this.#start();
  }

  #start() {
    clearTimeout(this.#timer);
    this.tell({ state: 'connecting' });
    const worker = new Worker(new URL('session_worker.mjs', import.meta.url),
                              { type: 'module', name: this.address });
    this.#worker = worker;
    worker.onmessage = ({ data }) => {
      if (this.#worker === worker) this.#hear(data);
    };
    worker.onerror = ({ message }) => {
      worker.terminate();
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#wait(`The session's worker failed: ${message ?? 'its script does not load'}.`);
    };
  }

  /** @param {import('./session_worker.mjs').SessionState} told */
  #hear(told) {
    if (told.state === 'open') {
      this.tell({ state: 'ready' });
      return;
    }
    if (told.state === 'serving') {
      this.#pause = kFirstPause;
      this.tell({ state: 'serving' });
      return;
    }
    if (told.state === 'kernels') {
      this.tell(told);
      return;
    }
    this.#worker = null;
    const status = told.code - kRefusals;
    if (told.served) this.tell({ state: 'served', received: told.received, sent: told.sent });
    if (told.silent) {
      this.#wait(told.reason);
    } else if (told.served) {
      this.#start();
    } else if (status >= 400 && status < 600 && status !== kFull) {
      this.tell({ state: 'refused', reason: `The tracker refuses this tab: ${sentence(told.reason)}` });
    } else if (status === kFull) {
      this.#wait(sentence(told.reason));
    } else if (told.opened) {
      this.#wait(told.reason ? sentence(told.reason) : 'The tracker has ended the connection.');
    } else {
      const foreign = new URL(this.tracker).host !== location.host;
      this.#wait(`No tracker answers at ${this.tracker}` + (foreign
        ? `, or it refuses pages of ${location.origin} (its option --allow-origin allows them).` : '.'));
    }
  }

  /** Many tabs that lost the same tracker do not return at the same moment. @param {string} reason */
  #wait(reason) {
    const milliseconds = this.#pause * (0.5 + Math.random());
    this.#pause = Math.min(2 * this.#pause, kLongestPause);
    this.tell({ state: 'waiting', reason, milliseconds });
    this.#timer = setTimeout(() => this.#start(), milliseconds);
  }
}
