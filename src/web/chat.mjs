// @ts-check
// The chat page. Its models are those of ?model=ADDRESS (any number of them), or of the server's
// list models/index.json.
import { TapmlError, load } from './tapml.mjs';

const kAskedBytes = 256 << 20;  // larger downloads begin with a button

/** @template {HTMLElement} T @param {string} id @param {new (...args: any[]) => T} kind @returns {T} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}
const models = element('model', HTMLSelectElement), state = element('state', HTMLElement);
const loading = element('loading', HTMLElement), stage = element('stage', HTMLElement);
const bar = element('bar', HTMLProgressElement), loadButton = element('load', HTMLButtonElement);
const problem = element('problem', HTMLElement), kind = element('kind', HTMLElement);
const log = element('log', HTMLElement), form = element('form', HTMLFormElement);
const input = element('input', HTMLTextAreaElement), send = element('send', HTMLButtonElement);
const stop = element('stop', HTMLButtonElement), anew = element('anew', HTMLButtonElement);

/** @typedef {Awaited<ReturnType<typeof load>>} Model */
/** @typedef {{role: string, content: string}} Message */

/** @type {Model | null} */
let model = null;
/** @type {Message[]} */
let messages = [];
/** The running answer. @type {AbortController | null} */
let answering = null;
/** The running load. @type {AbortController | null} */
let loadingNow = null;

/** @param {number} bytes */
function sizeText(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return `${bytes >= 100 || unit === 0 ? Math.round(bytes) : bytes.toPrecision(3)} ${units[unit]}`;
}

/** @param {any} error */
function showProblem(error) {
  problem.textContent = error instanceof TapmlError ? error.message : String(error?.message ?? error);
  problem.hidden = false;
}

/** The packages on offer: name and address. @returns {Promise<{name: string, url: string}[]>} */
async function offered() {
  const given = new URLSearchParams(location.search).getAll('model');
  if (given.length > 0) {
    return given.map((url) => ({ name: url.replace(/\/+$/, '').split('/').pop() || url, url }));
  }
  const list = new URL('models/index.json', document.baseURI);
  const response = await fetch(list).catch(() => null);
  const names = response?.ok ? await response.json() : [];
  if (!Array.isArray(names) || names.length === 0) {
    throw new TapmlError({ message: 'there is no model on this server', where: list.href,
      hint: 'serve one with: tapml web serve --package DIR, or open this page with ?model=ADDRESS of a package' });
  }
  return names.map(({ name }) => ({ name, url: new URL(`models/${encodeURIComponent(name)}/`, document.baseURI).href }));
}

/** Bytes of a package; 0 if unknown: loading will say what is wrong. @param {string} url */
async function packageBytes(url) {
  try {
    const response = await fetch(new URL('package.json', new URL(url.endsWith('/') ? url : `${url}/`, document.baseURI)));
    const { files } = await response.json();
    return files.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0);
  } catch {
    return 0;
  }
}

/** @param {{stage: string, done: number, total: number}} progress */
function showProgress({ stage: what, done, total }) {
  bar.hidden = false;
  bar.max = total;
  bar.value = done;
  const sizes = `${sizeText(done)} of ${sizeText(total)}`;
  stage.textContent = what === 'download' ? `Downloading: ${sizes}`
    : what === 'cache' ? `From this browser's storage: ${sizes}` : 'Preparing the kernels…';
}

/** @param {string[]} urls the first that this browser can run */
async function use(urls) {
  loadingNow?.abort();
  const own = loadingNow = new AbortController();
  model?.unload();
  model = null;
  reset();
  problem.hidden = true;
  kind.hidden = true;
  loading.hidden = false;
  bar.hidden = true;
  stage.textContent = 'Loading…';
  state.textContent = '';
  try {
    const begin = performance.now();
    const loaded = await load(urls, { onProgress: showProgress, signal: own.signal });
    model = loaded;
    const at = urls.findIndex((url) => new URL(url.endsWith('/') ? url : `${url}/`, document.baseURI).href === loaded.url);
    if (urls.length > 1 && at >= 0) models.selectedIndex = at;
    const { platform, name } = loaded.device;
    const device = platform === 'webgpu' ? `WebGPU (${name})` : 'WebAssembly';
    state.textContent = `on ${device}, loaded in ${((performance.now() - begin) / 1000).toFixed(1)} s`;
    kind.textContent = 'This model has no chat template: it continues the text that you write.';
    kind.hidden = loaded.hasChat;
    input.placeholder = loaded.hasChat ? 'Message' : 'Beginning of a text';
    input.setAttribute('aria-label', input.placeholder);
    loading.hidden = true;
    ready();
    input.focus();
  } catch (error) {
    if (own.signal.aborted) return;
    loading.hidden = true;
    showProblem(error);
  }
}

function ready() {
  const usable = model !== null && answering === null;
  input.disabled = model === null;
  send.disabled = !usable;
  send.hidden = answering !== null;
  stop.hidden = answering === null;
  anew.disabled = log.childElementCount === 0 || !usable;
}

function reset() {
  messages = [];
  log.replaceChildren();
  ready();
}

/** @param {string} who @param {string} style @param {string} text */
function addTurn(who, style, text) {
  const turn = document.createElement('div');
  turn.className = `turn ${style}`;
  const label = document.createElement('p'), body = document.createElement('p');
  label.className = 'who';
  label.textContent = who;
  body.className = 'text';
  body.textContent = text;
  turn.append(label, body);
  log.append(turn);
  turn.scrollIntoView({ block: 'end' });
  return { turn, body };
}

/** @param {string} id */
const numberOf = (id) => {
  const { value } = element(id, HTMLInputElement);
  return value === '' ? undefined : Number(value);
};

/** @param {string} text */
async function answer(text) {
  if (!model) return;
  problem.hidden = true;
  const chat = model.hasChat;
  if (chat) addTurn('You', 'mine', text);
  const { turn, body } = addTurn(chat ? 'Model' : 'Text', 'running', '');
  if (!chat) {
    const given = document.createElement('span');
    given.className = 'given';
    given.textContent = text;
    body.append(given);
  }
  const own = answering = new AbortController();
  ready();
  const main = /** @type {HTMLElement} */ (log.parentElement);
  /** @param {string} piece */
  const add = (piece) => {
    const follows = main.scrollHeight - main.scrollTop - main.clientHeight < 80;
    body.append(piece);
    if (follows) turn.scrollIntoView({ block: 'end' });
  };
  const options = { temperature: numberOf('temperature'), seed: numberOf('seed'), signal: own.signal };
  const begin = performance.now();
  let tokens = 0, first = 0, reply = '';
  try {
    /** @param {string} piece @param {number} count */
    const onToken = (piece, count) => {
      if (first === 0) first = performance.now();
      tokens = count;
      reply += piece;
      add(piece);
    };
    const request = chat ? [...messages, { role: 'user', content: text }] : text;
    await model.generate(request, { ...options, maxTokens: numberOf('most'), onToken });
    if (chat) messages.push({ role: 'user', content: text }, { role: 'assistant', content: reply });
    const seconds = (performance.now() - first) / 1000;
    const note = document.createElement('p');
    note.className = 'note';
    note.textContent = tokens === 0 ? 'The model ends the text here.'
      : `${tokens} ${tokens === 1 ? 'token' : 'tokens'}, ${seconds > 0 ? ((tokens - 1) / seconds).toFixed(1) : '–'} tokens/s, first after ${((first - begin) / 1000).toFixed(2)} s`;
    turn.append(note);
    if (note.getBoundingClientRect().bottom > main.getBoundingClientRect().bottom) turn.scrollIntoView({ block: 'end' });
  } catch (error) {
    showProblem(error);
    problem.scrollIntoView({ block: 'nearest' });
  } finally {
    turn.classList.remove('running');
    answering = null;
    ready();
    input.focus();
  }
}

function fit() {
  input.style.height = 'auto';
  input.style.height = `${input.scrollHeight + 2}px`;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = input.value;
  if (!model || answering || text.trim() === '') return;
  input.value = '';
  fit();
  void answer(text);
});
input.addEventListener('input', fit);
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') answering?.abort();
});
stop.addEventListener('click', () => answering?.abort());
anew.addEventListener('click', () => {
  reset();
  input.focus();
});

try {
  const packages = await offered();
  for (const { name, url } of packages) models.add(new Option(name, url));
  models.addEventListener('change', () => void use([models.value]));
  const urls = packages.map(({ url }) => url);
  const bytes = await packageBytes(urls[0]);
  if (bytes > kAskedBytes) {
    stage.textContent = '';
    loadButton.textContent = `Load ${packages[0].name} (${sizeText(bytes)})`;
    loadButton.hidden = false;
    await new Promise((resolve) => loadButton.addEventListener('click', resolve, { once: true }));
    loadButton.hidden = true;
  }
  await use(urls);
} catch (error) {
  loading.hidden = true;
  models.disabled = true;
  showProblem(error);
}
