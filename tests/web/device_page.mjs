// @ts-check
// Uses the device page by keyboard, without a tracker, and prints what is wrong, JSON:
//   node device_page.mjs FOLDER [PICTURES]
// FOLDER has device.html, PICTURES gets pictures of the page.
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

import { check, failures } from './checks.mjs';
import { Tab } from './devtools.mjs';
import { serveFolders } from './static_server.mjs';

const [folder, pictures] = process.argv.slice(2);
const { Browser } = await import(pathToFileURL(path.join(folder, 'browser.mjs')).href);
/** @param {string} id */
const text = (id) => `document.querySelector('#${id}').innerText`;
const kRows = "[...document.querySelectorAll('#checks tbody tr')].map((row) => row.innerText)";

const browser = new Browser();
const end = async (/** @type {string} */ out, /** @type {number} */ code) => {
  console.log(out);
  await browser.end();
  process.exit(code);
};
process.on('SIGTERM', () => void end('ended', 1));
browser.start('about:blank', (/** @type {any} */ error) => void end(`${error.message}\n${error.hint}`, 4));
const tab = new Tab(browser.pipe);
/** @param {string} name */
const picture = async (name) => {
  if (pictures) await tab.picture(path.join(pictures, `${name}.png`));
};

try {
  const { address } = await serveFolders({ '': folder });
  await tab.open('about:blank');
  await tab.size(800, 1400, 'light');
  await tab.open(`${address}device.html`);
  await tab.until(`${text('state')} === 'Not connected.'`);
  await tab.evaluate("document.querySelector('#connect').focus()");
  for (let i = 0; i < 10 && await tab.evaluate('document.activeElement.id') !== 'check'; ++i) await tab.press('Tab');
  await tab.press('Enter');
  await tab.until(`/checks/.test(${text('check-summary')})`);
  const rows = await tab.evaluate(kRows), count = rows.length;
  check('the checks pass', await tab.evaluate(text('check-summary')) === `All ${count} checks pass.` && count === 8, rows);
  check('the button has the focus again', await tab.evaluate('document.activeElement.id') === 'check', '');
  await picture('device-page');
  await tab.size(360, 1400, 'dark');
  check('a phone is wide enough', await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), '');
  await picture('device-page-phone');

  // A GPU that computes wrongly.
  await tab.evaluate(`GPUQueue.prototype.writeBuffer = new Proxy(GPUQueue.prototype.writeBuffer, {
    apply: (write, self, args) => {
      const [buffer, offset, bytes, ...rest] = args, changed = bytes.slice();
      if (bytes instanceof Uint8Array) changed[bytes.length - 2] ^= 1;
      return write.apply(self, [buffer, offset, changed, ...rest]);
    } })`);
  await tab.press('Enter');
  await tab.until(`/of ${count} checks fail/.test(${text('check-summary')})`);
  const wrong = await tab.evaluate(kRows);
  check('a failure says what differs', wrong.some((/** @type {string} */ row) => /element \d+ is -?[\d.]+, not/.test(row)), wrong);
  await picture('device-page-failed');
  check('no uncaught error', tab.exceptions.length === 0, tab.exceptions);
  await end(JSON.stringify({ failures }), 0);
} catch (/** @type {any} */ error) {
  await end(String(error.stack), 1);
}
