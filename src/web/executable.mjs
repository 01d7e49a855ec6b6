// @ts-check
// Functions and kernels of an executable, which `tapml compile MODULE --target webgpu -o FILE` makes.
import { Calls } from './calls.mjs';
import { decodeValue, encodeValues, tensor } from './tensor.mjs';

/** @param {Calls} calls @param {any} request @param {any[]} args @param {string} where */
async function call(calls, request, args, where) {
  const { values, parts } = encodeValues(args, where);
  const { json, bytes } = await calls.call(
      { method: 'call', request: JSON.stringify({ ...request, arguments: values }), parts });
  return decodeValue(json, bytes);
}

/** @param {Calls} calls @param {string} name @param {any[]} inputs
 * @param {{scalars?: Record<string, number>}} options */
export function callKernel(calls, name, inputs, { scalars }) {
  return call(calls, { kernel: name, scalars }, inputs, `callKernel ${name}`);
}

class Executable {
  #calls;
  /** @param {Calls} calls @param {any} facts */
  constructor(calls, facts) {
    this.#calls = calls;
    /** The device that computes: platform, name, limits. */
    this.device = facts.device;
    this.target = facts.target;
    this.url = facts.url;
    this.functions = facts.functions;
    this.kernels = facts.kernels;
  }

  tensor = tensor;

  /** Calls a function. @param {string} name @param {any[]} args */
  async call(name, ...args) {
    return call(this.#calls, { function: name }, args, `call ${name}`);
  }
  /** Runs one kernel: takes its inputs in order, returns its outputs.
   * @param {string} name @param {any[]} inputs
   * @param {{scalars?: Record<string, number>}} options */
  async callKernel(name, inputs, options = {}) {
    return callKernel(this.#calls, name, inputs, options);
  }

  /** Ends the worker and frees the device's memory. */
  unload() {
    this.#calls.end('it was unloaded');
  }
}

/** Loads an executable, or the first of several that this browser can run.
 * @param {string | URL | (string | URL)[]} url
 * @param {{device?: 'auto' | 'webgpu' | 'wasm', signal?: AbortSignal}} options */
export async function loadExecutable(url, { device = 'auto', signal } = {}) {
  signal?.throwIfAborted();
  const urls = (Array.isArray(url) ? url : [url]).map((one) => new URL(one, document.baseURI).href);
  const calls = new Calls('the executable');
  const aborted = () => calls.end('loading was aborted');
  signal?.addEventListener('abort', aborted);
  try {
    return new Executable(calls, await calls.call({ method: 'open', options: { urls, device } }));
  } catch (error) {
    calls.end('it could not be loaded');
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', aborted);
  }
}
