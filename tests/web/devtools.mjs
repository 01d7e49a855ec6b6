// @ts-check
// A tab of a browser, driven over the DevTools protocol.
import fs from 'node:fs';

const kPause = 50, kLongest = 60000;  // milliseconds

export class Tab {
  #next = 0;
  /** @type {Map<number, (reply: any) => void>} */
  #waiting = new Map();
  #session = '';
  /** Errors that no code of the page caught. @type {string[]} */
  exceptions = [];

  /** @param {{to: import('node:stream').Writable, from: import('node:stream').Readable}} pipe */
  constructor(pipe) {
    this.pipe = pipe;
    let text = '';
    pipe.from.on('data', (/** @type {Buffer} */ bytes) => {
      const parts = (text + bytes.toString()).split('\0');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const { id, result, error, method, params } = JSON.parse(part);
        if (method === 'Runtime.exceptionThrown') this.exceptions.push(JSON.stringify(params.exceptionDetails));
        this.#waiting.get(id)?.(error ?? result);
        this.#waiting.delete(id);
      }
    });
  }
  /** @param {string} method @param {any} params @returns {Promise<any>} */
  call(method, params = {}) {
    const id = ++this.#next;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      const session = this.#session ? { sessionId: this.#session } : {};
      this.pipe.to.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
  }

  /** @param {string} address */
  async open(address) {
    if (!this.#session) {
      const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
      this.#session = sessionId;
      await this.call('Runtime.enable');
      await this.call('Page.enable');
    }
    await this.call('Page.navigate', { url: address });
  }
  /** @param {number} width @param {number} height @param {'light' | 'dark'} scheme */
  async size(width, height, scheme) {
    await this.call('Emulation.setDeviceMetricsOverride',
                    { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    await this.call('Emulation.setEmulatedMedia',
                    { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  }
  /** The value of an expression in the page. @param {string} expression @returns {Promise<any>} */
  async evaluate(expression) {
    const { result } = await this.call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    return result?.value;
  }
  /** Waits until an expression is true. @param {string} expression */
  async until(expression) {
    const end = Date.now() + kLongest;
    while (!(await this.evaluate(expression))) {
      if (Date.now() > end) throw new Error(`never: ${expression}; ${this.exceptions.join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, kPause));
    }
  }
  /** @param {string} text */
  async type(text) {
    await this.call('Input.insertText', { text });
  }
  /** @param {'Enter' | 'Escape' | 'Tab'} key @param {boolean} shift */
  async press(key, shift = false) {
    const code = { Enter: 13, Escape: 27, Tab: 9 }[key];
    const event = { key, code: key, windowsVirtualKeyCode: code, modifiers: shift ? 8 : 0 };
    await this.call('Input.dispatchKeyEvent', { type: 'keyDown', ...event, text: key === 'Enter' ? '\r' : undefined });
    await this.call('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }
  /** @param {string} file */
  async picture(file) {
    const { data } = await this.call('Page.captureScreenshot', { format: 'png' });
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
}
