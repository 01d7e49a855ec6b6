// @ts-check
// The device page: shows the adapter, and keeps this tab registered at a tracker, session after
// session. The part of the address after `#` may have `key`, `token` and `tracker` (ws: or wss:
// and http: or https: addresses), in the form of a query; without `tracker` it is the server of the
// page. `signs`: seconds between two signs of life of the tracker.
import { checkGpu } from './gpu_check.mjs';
import { KernelTable } from './kernel_table.mjs';
import { Registration } from './registration.mjs';

/** @template {HTMLElement} T @param {string} selector @param {new () => T} type @returns {T} */
function element(selector, type) {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

const kMostRows = 100;
const state = element('#state', HTMLElement), target = element('#target', HTMLElement);
const form = element('#form', HTMLFormElement), adapterList = element('#adapter', HTMLElement);
const connectButton = element('#connect', HTMLButtonElement);
const disconnectButton = element('#disconnect', HTMLButtonElement);
const rows = element('#leases tbody', HTMLElement);
const kernels = new KernelTable({ summary: element('#kernels-summary', HTMLElement),
  region: element('#kernels', HTMLElement), body: element('#kernels tbody', HTMLElement) });
const asked = new URLSearchParams(location.hash.slice(1));

/** @param {'idle' | 'connecting' | 'ready' | 'serving' | 'failed'} kind @param {string} text */
function show(kind, text) {
  state.dataset.kind = kind;
  state.textContent = text;
}

/** @param {number} bytes */
function sizeText(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const unit = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 2 ** (10 * unit);
  return `${unit === 0 || Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

/** @param {string} name @param {string} value */
function addFact(name, value) {
  const term = document.createElement('dt'), description = document.createElement('dd');
  term.textContent = name;
  description.textContent = value;
  adapterList.append(term, description);
}

/** Fills the adapter's list. @returns {Promise<string>} why this tab cannot be a device; '': it can */
async function describeAdapter() {
  const { gpu } = navigator;
  const { Suspending } = /** @type {any} */ (WebAssembly);
  const browser = navigator.userAgent.match(/(?:Firefox|Edg|Chrome|Version)\/[\d.]+/);
  if (!gpu) {
    return isSecureContext
      ? 'This browser has no WebGPU. Use a browser that has it: Chrome, Edge or Chromium.'
      : `Browsers offer WebGPU to https:// addresses and to localhost, not to ${location.origin}.`;
  }
  const adapter = await gpu.requestAdapter().catch(() => null);
  if (!adapter) return 'WebGPU finds no adapter: this browser knows no GPU of this computer.';
  const { limits, features } = adapter, info = /** @type {any} */ (adapter).info ?? {};
  const name = [info.vendor, info.architecture, info.device, info.description];
  addFact('Name', name.filter((part) => part).join(' ') || 'without a name');
  addFact('Browser', browser ? browser[0].replace('/', ' ') : navigator.userAgent);
  addFact('f16 in shaders', features.has('shader-f16') ? 'yes' : 'no');
  addFact('Largest buffer', sizeText(limits.maxBufferSize));
  addFact('Largest binding', sizeText(limits.maxStorageBufferBindingSize));
  addFact('Buffers of a kernel', String(limits.maxStorageBuffersPerShaderStage));
  addFact('Threads of a group', String(limits.maxComputeInvocationsPerWorkgroup));
  addFact('Memory of a group', sizeText(limits.maxComputeWorkgroupStorageSize));
  addFact('Groups a dimension', String(limits.maxComputeWorkgroupsPerDimension));
  addFact('Features', [...features].sort().join(', ') || 'none');
  if (Suspending === undefined) {
    return 'This browser lacks JavaScript Promise Integration (JSPI) of WebAssembly. Use a browser ' +
        'that has it: Chrome, Edge or Chromium 137 or later.';
  }
  return '';
}

// Leases.

/** @typedef {{cells: HTMLElement[], began: number}} Row */
let count = 0;

/** @returns {Row} */
function addRow() {
  element('#none', HTMLElement).hidden = true;
  element('#leases', HTMLElement).hidden = false;
  const row = document.createElement('tr');
  const texts = [String(++count), new Date().toLocaleTimeString(), '', '', '', 'runs'];
  const cells = texts.map((text) => {
    const cell = document.createElement('td');
    cell.textContent = text;
    row.append(cell);
    return cell;
  });
  rows.prepend(row);
  while (rows.childElementCount > kMostRows) rows.lastElementChild?.remove();
  return { cells, began: performance.now() };
}

/** @param {Row} row @param {{received: number, sent: number}} ended */
function endRow({ cells, began }, { received, sent }) {
  cells[2].textContent = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  cells[3].textContent = sizeText(received);
  cells[4].textContent = sizeText(sent);
  cells[5].textContent = 'ended';
}

// The connection.

/** A phone whose screen sleeps loses its connection. @type {any} */
let wakeLock = null;
async function keepAwake() {
  if (document.visibilityState !== 'visible') return;
  wakeLock = await navigator.wakeLock?.request('screen').catch(() => null);
}

/** @type {Registration | null} */
let registration = null;
/** @type {Row | null} */
let row = null;

// The connection outlives a reload, unless the browser blocks storage.

/** @param {string} text */
function keep(text) {
  try {
    sessionStorage.setItem('connection', text);
  } catch {
    // Blocked.
  }
}
function keptText() {
  try {
    return sessionStorage.getItem('connection') ?? '';
  } catch {
    return '';
  }
}

/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));

/** @param {boolean} connected */
function showButtons(connected) {
  connectButton.hidden = connected;
  disconnectButton.hidden = !connected;
  for (const name of ['tracker', 'key', 'token']) field(name).disabled = connected;
  target.hidden = !connected;
}

/** The target that clients name. @param {string} tracker @param {string} key */
function targetText(tracker, key) {
  const { protocol, hostname, port } = new URL(tracker);
  const tls = protocol === 'wss:';
  return `webgpu@tracker:${tls ? 'tls:' : ''}${hostname}:${port || (tls ? 443 : 80)}/${key}`;
}

/** "http://a:1/x" ▸ "ws://a:1". @param {string} address */
function trackerAddress(address) {
  const url = new URL(address);
  const protocol = url.protocol.replace(/^http/, 'ws');
  if (protocol !== 'ws:' && protocol !== 'wss:') throw new Error('its address begins with ws: or wss:');
  return `${protocol}//${url.host}`;
}

function connect() {
  const key = field('key').value, token = field('token').value;
  let tracker = '';
  try {
    tracker = trackerAddress(field('tracker').value);
  } catch (error) {
    show('failed', `The tracker cannot be used: ${error instanceof Error ? error.message : error}`);
    return;
  }
  keep(JSON.stringify({ tracker, key, token }));
  element('#target code', HTMLElement).textContent = targetText(tracker, key);
  showButtons(true);
  void keepAwake();
  registration = new Registration(tracker, key, token, (news) => {
    switch (news.state) {
      case 'connecting':
        show('connecting', `Connecting to ${tracker}…`);
        break;
      case 'ready':
        show('ready', `Registered at ${tracker}: waits for a client.`);
        break;
      case 'serving':
        row = addRow();
        kernels.clear();
        show('serving', 'Leased: a client uses this device.');
        break;
      case 'kernels':
        kernels.update(news.kernels, news.error);
        break;
      case 'served':
        kernels.end();
        if (row) endRow(row, news);
        row = null;
        break;
      case 'waiting':
        show('failed', `${news.reason} Tries again in ${(news.milliseconds / 1000).toFixed(1)}\u00a0s.`);
        break;
      case 'refused':
        disconnect();
        show('failed', news.reason);
        break;
    }
  }, Number(asked.get('signs') ?? undefined) || undefined);
}

function disconnect() {
  registration?.end();
  registration = null;
  kernels.end();
  if (row) row.cells[5].textContent = 'ended here';
  row = null;
  showButtons(false);
  void wakeLock?.release();
  show('idle', 'Not connected.');
}

// The checks of this page.

/** @param {string} name @param {string} problem @param {number} milliseconds */
function addCheck(name, problem, milliseconds) {
  element('#checks', HTMLElement).hidden = false;
  const row = document.createElement('tr');
  for (const text of [name, problem || 'passes', `${milliseconds.toFixed(0)} ms`]) {
    const cell = document.createElement('td');
    cell.textContent = text;
    row.append(cell);
  }
  /** @type {HTMLElement} */ (row.children[1]).dataset.kind = problem ? 'failed' : 'good';
  element('#checks tbody', HTMLElement).append(row);
}

async function check() {
  const button = element('#check', HTMLButtonElement), summary = element('#check-summary', HTMLElement);
  button.disabled = true;
  element('#checks tbody', HTMLElement).replaceChildren();
  summary.textContent = 'Checking…';
  let count = 0;
  try {
    const failed = await checkGpu((...result) => {
      ++count;
      addCheck(...result);
    });
    summary.textContent = failed === 0 ? `All ${count} checks pass.` : `${failed} of ${count} checks fail.`;
  } catch (error) {
    summary.textContent = `The GPU cannot be checked: ${error instanceof Error ? error.message : error}`;
  }
  button.disabled = false;
  button.focus();
}

async function main() {
  element('#check', HTMLButtonElement).addEventListener('click', () => void check());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    connect();
  });
  disconnectButton.addEventListener('click', () => {
    keep('');
    disconnect();
    connectButton.focus();
  });
  document.addEventListener('visibilitychange', () => {
    if (registration) void keepAwake();
  });
  window.addEventListener('online', () => registration?.retry());

  const own = location.origin.replace(/^http/, 'ws');
  /** @type {Record<string, string>} */
  const kept = JSON.parse(keptText() || '{}');
  const again = kept.key !== undefined && (!asked.has('key') || asked.get('key') === kept.key) &&
      (!asked.has('tracker') || asked.get('tracker') === kept.tracker);
  field('tracker').value = asked.get('tracker') ?? (again ? kept.tracker : own);
  field('key').value = asked.get('key') ?? (again ? kept.key : 'browser');
  field('token').value = asked.get('token') ?? (again ? kept.token : '');
  if (asked.has('token')) {  // kept for a reload, but not in the address
    asked.delete('token');
    history.replaceState(null, '', `#${asked}`);
  }
  const problem = await describeAdapter();
  if (problem) {
    connectButton.disabled = true;
    element('#check', HTMLButtonElement).disabled = !navigator.gpu;
    show('failed', problem);
    return;
  }
  // A link does not make this tab a device of a foreign tracker: that takes a click.
  const trusted = again || field('tracker').value.replace(/^http/, 'ws').replace(/\/$/, '') === own;
  if ((again || asked.has('key')) && trusted) {
    connect();
  } else {
    show('idle', 'Not connected.');
  }
}

await main();
