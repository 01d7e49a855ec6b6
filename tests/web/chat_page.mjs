// @ts-check
// Uses the chat page by keyboard and prints what is wrong, JSON:
//   node chat_page.mjs FOLDER MODELS [PICTURES]
// FOLDER has chat.html, MODELS a folder for each package, PICTURES gets pictures of the page.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

import { check, failures } from './checks.mjs';
import { Tab } from './devtools.mjs';
import { serveFolders } from './static_server.mjs';

const [folder, models, pictures] = process.argv.slice(2);
const { Browser } = await import(pathToFileURL(path.join(folder, 'browser.mjs')).href);

const names = fs.readdirSync(models).filter((name) => fs.existsSync(path.join(models, name, 'package.json'))).sort();
const lists = fs.mkdtempSync(path.join(os.tmpdir(), 'tapml-chat-page-'));
fs.writeFileSync(path.join(lists, 'index.json'), JSON.stringify(names.map((name) => ({ name }))));
/** @type {Record<string, string>} */
const folders = { '': folder };

/** @param {string} list of the models */
const server = (list) => serveFolders(folders, { faults: new Map(), alias: (name) => {
  if (name === 'models/index.json') return list;
  return name.startsWith('models/') ? path.join(models, name.slice('models/'.length)) : null;
} });
const idle = "document.querySelector('#stop').hidden && !document.querySelector('#send').disabled";
const text = "document.querySelector('#log').innerText";
const failed = "!document.querySelector('#problem').hidden";

const browser = new Browser();
const end = async (/** @type {string} */ out, /** @type {number} */ code) => {
  console.log(out);
  await browser.end();
  fs.rmSync(lists, { recursive: true, force: true });
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
  const { address } = await server(path.join(lists, 'index.json'));
  await tab.open('about:blank');
  await tab.size(800, 500, 'light');
  const begin = performance.now();
  await tab.open(`${address}chat.html`);
  await tab.until(`document.querySelector('#send') && (${idle} || ${failed})`);
  check('the page is ready', !(await tab.evaluate(failed)), await tab.evaluate("document.querySelector('#problem').innerText"));
  const ready = performance.now() - begin;
  check('all models are offered', await tab.evaluate("document.querySelector('#model').length") === names.length, names);
  await tab.evaluate("document.querySelector('#seed').value = 5");
  await tab.type('In the beginning');
  await tab.press('Enter', true);
  check('Shift+Enter begins a line', (await tab.evaluate("document.querySelector('#input').value")).endsWith('\n'), '');
  await tab.evaluate("document.querySelector('#input').value = 'In the beginning'");
  await tab.press('Enter');
  await tab.until(`${text}.length > 40`);
  await tab.press('Escape');
  await tab.until(idle);
  const shown = await tab.evaluate(text);
  check('the answer is shown', shown.includes('In the beginning') && shown.includes('tokens/s'), shown);
  check('Escape ends it', Number(/(\d+) tokens/.exec(shown)?.[1]) < 256, shown);
  await picture('chat-page');
  check('the input has the focus', await tab.evaluate("document.activeElement.id") === 'input', '');
  await tab.evaluate("document.querySelector('details').open = true");
  await tab.size(360, 740, 'dark');
  check('a phone is wide enough', await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), '');
  check('dark is dark', await tab.evaluate('getComputedStyle(document.body).backgroundColor') !== 'rgb(251, 251, 250)', '');
  await picture('chat-page-phone');
  await tab.evaluate("document.querySelector('#anew').click()");
  check('a new conversation is empty', await tab.evaluate(text) === '', '');
  await tab.open(`${address}chat.html`);
  const again = performance.now();
  await tab.until(`document.querySelector('#send') && ${idle}`);
  await tab.type('In the beginning');
  await tab.press('Enter');
  await tab.until(`${text}.length > 20`);
  const warm = performance.now() - again;
  await tab.press('Escape');

  fs.writeFileSync(path.join(lists, 'none.json'), '[]');
  const empty = await server(path.join(lists, 'none.json'));
  await tab.open(`${empty.address}chat.html`);
  await tab.until(failed);
  const problem = await tab.evaluate("document.querySelector('#problem').innerText");
  check('no model: what to do', problem.includes('tapml web serve --package'), problem);
  check('no uncaught error', tab.exceptions.length === 0, tab.exceptions);
  await end(JSON.stringify({ failures, ready_ms: Math.round(ready), warm_first_token_ms: Math.round(warm) }), 0);
} catch (/** @type {any} */ error) {
  await end(String(error.stack), 1);
}
