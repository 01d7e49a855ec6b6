// @ts-check
// A tab of a headless browser for tests: node tab.mjs ADDRESS. Each line of standard input is a
// command, and answered by a line of JSON: {"value": ...} or {"error": "..."}.
//   eval EXPRESSION              its value, in the page
//   open ADDRESS                 another tab; later commands are about it
//   close                        closes the tab
//   kill-gpu                     kills the browser's GPU process
//   screenshot WIDTH SCHEME FILE of the whole page, light or dark
import fs from 'node:fs';
import process from 'node:process';
import readline from 'node:readline';

import { Browser } from '../../src/web/browser.mjs';

const browser = new Browser();
let next = 0, session = '', tab = '';
/** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
const asked = new Map();

/** @param {string} method @param {object} params @returns {Promise<any>} */
function call(method, params = {}, sessionId = '') {
  const id = ++next;
  browser.debug(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }) + '\0');
  return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
}

let rest = '';
browser.debugged = (/** @type {Buffer} */ bytes) => {
  rest += bytes.toString();
  const messages = rest.split('\0');
  rest = messages.pop() ?? '';
  for (const text of messages) {
    const { id, result, error } = JSON.parse(text);
    const waiting = asked.get(id);
    asked.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }
};

/** @param {string} targetId */
async function attach(targetId) {
  tab = targetId;
  session = (await call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
}
async function attachFirst() {
  for (;;) {
    const { targetInfos } = await call('Target.getTargets');
    const page = targetInfos.find((/** @type {any} */ { type, url }) => type === 'page' && url !== '');
    if (page) return attach(page.targetId);
    await new Promise((later) => setTimeout(later, 20));
  }
}

/** @type {Record<string, (...words: string[]) => Promise<any>>} */
const commands = {
  async eval(...words) {
    const evaluate = () => call('Runtime.evaluate',
        { expression: words.join(' '), awaitPromise: true, returnByValue: true }, session);
    // While the tab goes to an address it has no page.
    const { result, exceptionDetails } = await evaluate().catch(async () => {
      await new Promise((later) => setTimeout(later, 200));
      return evaluate();
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value ?? null;
  },
  async open(address) {
    await attach((await call('Target.createTarget', { url: address })).targetId);
  },
  async close() {
    await call('Target.closeTarget', { targetId: tab });
  },
  async 'kill-gpu'() {
    const { processInfo } = await call('SystemInfo.getProcessInfo');
    const gpu = processInfo.find((/** @type {any} */ { type }) => type.toLowerCase() === 'gpu');
    process.kill(gpu.id, 'SIGKILL');
  },
  async screenshot(width, scheme, file) {
    await call('Emulation.setEmulatedMedia',
               { features: [{ name: 'prefers-color-scheme', value: scheme }] }, session);
    const metrics = { width: Number(width), height: 800, deviceScaleFactor: 1, mobile: false };
    await call('Emulation.setDeviceMetricsOverride', metrics, session);
    const { cssContentSize } = await call('Page.getLayoutMetrics', {}, session);
    const clip = { x: 0, y: 0, width: metrics.width, height: cssContentSize.height, scale: 1 };
    const { data } = await call('Page.captureScreenshot', { clip, captureBeyondViewport: true }, session);
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  },
};

async function end() {
  await browser.end();
  process.exit(0);
}

browser.start(process.argv[2], (why) => {
  console.log(JSON.stringify({ error: why.message }));
  void end();
});
process.on('SIGTERM', end);
await attachFirst();
console.log(JSON.stringify({ value: 'ready' }));
const lines = readline.createInterface({ input: process.stdin });
lines.on('close', end);
for await (const line of lines) {
  const [name, ...words] = line.split(' ');
  try {
    console.log(JSON.stringify({ value: await commands[name](...words) ?? null }));
  } catch (/** @type {any} */ error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
