// @ts-check
// Which of several packages or executables a browser can run. Runs in a Web Worker.
import { canWait } from './engine.mjs';
import { TapmlError } from './errors.mjs';
import { describeAdapter } from './gpu.mjs';

const kAdapterTries = 10, kAdapterPause = 200;  // milliseconds

/** Why this browser cannot run code for WebGPU (empty: it can), and whether its WebGPU computes on
 * the processor, more slowly than WebAssembly does. */
async function findWebGpu() {
  if (!navigator.gpu) return { lack: 'this browser has no WebGPU', software: false };
  if (!canWait) {
    return { lack: 'this browser lacks JavaScript Promise Integration (JSPI) of WebAssembly', software: false };
  }
  // A browser whose GPU process is not ready yet says that there is no adapter.
  for (let tries = 0; tries < kAdapterTries; ++tries) {
    const adapter = await navigator.gpu.requestAdapter();
    if (adapter) return { lack: '', software: describeAdapter(adapter).software };
    await new Promise((resolve) => setTimeout(resolve, kAdapterPause));
  }
  return { lack: 'WebGPU finds no adapter in this browser', software: false };
}

/** @param {string} target */
const platformOf = (target) => target.split(':')[0];

/** The first of the candidates that this browser can run.
 * @template {{target: string}} T @param {T[]} candidates @param {string[]} urls
 * @param {'auto' | 'webgpu' | 'wasm'} device
 * @param {{what: string, command: string}} words of errors: "a package", and the option of
 *   `tapml compile` that makes one @returns {Promise<T>} */
export async function chooseForDevice(candidates, urls, device, { what, command }) {
  const { lack, software } = device === 'wasm' ? { lack: '', software: false } : await findWebGpu();
  const order = lack ? ['wasm'] : software ? ['wasm', 'webgpu'] : ['webgpu', 'wasm'];
  const wanted = device === 'auto' ? order : [device];
  for (const platform of lack && device === 'webgpu' ? [] : wanted) {
    const found = candidates.find(({ target }) => platformOf(target) === platform);
    if (found) return found;
  }
  const targets = candidates.map(({ target }) => target).join(', ');
  if (lack) {
    throw new TapmlError({ kind: 'platform: absent', message: lack, where: urls.join(', '),
      expected: `WebGPU and JSPI, or ${what} for wasm`, found: `${what} for ${targets}`,
      hint: 'use Chrome, Edge or Chromium 137 or later with a GPU that it supports, or also give ' +
        `${what} made by: tapml compile MODEL --target wasm ${command}` });
  }
  throw new TapmlError({ message: `there is no ${what.replace(/^an? /, '')} for this device`,
    where: urls.join(', '), expected: `${what} for ${wanted.join(' or ')}`, found: `for ${targets}`,
    hint: `tapml compile MODEL --target ${wanted[0]} ${command} makes one` });
}
