// @ts-check
// Opens a page in a browser without a window, waits until it has a text, and prints all text of the
// page:
//   node page_text.mjs FOLDER/PAGE.html TEXT
// The page is served from FOLDER.
import path from 'node:path';
import process from 'node:process';

import { Browser } from '../../src/web/browser.mjs';
import { Tab } from './devtools.mjs';
import { serveFolders } from './static_server.mjs';

const [file, text] = process.argv.slice(2);
const browser = new Browser();
const end = async (/** @type {string} */ out, /** @type {number} */ code) => {
  console.log(out);
  await browser.end();
  process.exit(code);
};
process.on('SIGTERM', () => void end('ended', 1));
browser.start('about:blank', (/** @type {any} */ error) => void end(`${error.message}\n${error.hint}`, 4));
const tab = new Tab(browser.pipe);
try {
  const { address } = await serveFolders({ '': path.dirname(file) });
  await tab.open(address + path.basename(file));
  await tab.until(`document.body?.innerText.includes(${JSON.stringify(text)})`);
  await end(await tab.evaluate('document.body.innerText'), 0);
} catch (/** @type {any} */ error) {
  await end(`${error.message}\nThe page shows: ${await tab.evaluate('document.body?.innerText')}`, 1);
}
