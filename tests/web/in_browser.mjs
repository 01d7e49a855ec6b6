// @ts-check
// Runs a script of this folder in a page of a browser and prints its result, JSON:
//   node in_browser.mjs FOLDER SCRIPT NAME=FOLDER...
// FOLDER has tapml.mjs; the page finds each further folder under its name.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { serveFolders } from './static_server.mjs';

const [folder, script, ...more] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const { Browser } = await import(pathToFileURL(path.join(folder, 'browser.mjs')).href);
const { faults, prepare } = await import('./model.faults.mjs');

/** @type {Record<string, string>} */
const folders = { '': folder, tests: here };
for (const pair of more) {
  const [name, at] = pair.split('=');
  folders[name] = at;
}
prepare(fs.readFileSync(path.join(folders.wasm, 'weights.safetensors')));
const browser = new Browser();
const end = async (/** @type {string} */ text, /** @type {number} */ code) => {
  console.log(text);
  await browser.end();
  process.exit(code);
};
process.on('SIGTERM', () => void end('ended', 1));
const server = await serveFolders(folders, {
  faults,
  post: (_, text) => void end(text, 0),
});
browser.start(`${server.address}tests/page.html?script=${script}`,
              (/** @type {any} */ error) => void end(`${error.message}\n${error.hint}`, 4));
