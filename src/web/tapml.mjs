// @ts-check
// A language model in a web page:
//
//   import { load } from './tapml.mjs';
//   const model = await load('models/demo');
//   const { text } = await model.generate('In the beginning');
//
// The model runs in a Web Worker. Types: tapml.d.ts; manual: docs/web.md.
import { Calls } from './calls.mjs';
import { ChatCompletions } from './chat_completions.mjs';
import { TapmlError } from './errors.mjs';
import { callKernel } from './executable.mjs';
import { tensor } from './tensor.mjs';

export { TapmlError, tensor };
export { loadExecutable } from './executable.mjs';

const randomSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

/** @param {any} stop @returns {string[]} */
const stopTexts = (stop) => stop === undefined || stop === null ? [] : Array.isArray(stop) ? stop : [stop];

class Model {
  #calls;
  /** @param {Calls} calls @param {any} facts */
  constructor(calls, facts) {
    this.#calls = calls;
    /** The device that computes: platform, name, limits. */
    this.device = facts.device;
    this.target = facts.target;
    this.architecture = facts.architecture;
    this.vocabulary = facts.vocabulary;
    /** Most tokens of a text. */
    this.context = facts.context;
    /** Whether the model has a chat template. */
    this.hasChat = facts.chat;
    /** Bytes of the package, and how many of them were there already. */
    this.bytes = facts.bytes;
    this.cachedBytes = facts.cached_bytes;
    /** Whether downloads are kept. */
    this.keepsFiles = facts.kept;
    this.url = facts.url;
    /** The kernels that callKernel() runs. */
    this.kernels = facts.kernels;
    this.chat = { completions: new ChatCompletions(this.url, (request, onPiece, signal) =>
      this.#answer(request, onPiece, signal)) };
  }

  /** Continues a text, or answers a conversation.
   * @param {string | {role: string, content: any}[]} prompt
   * @param {{onToken?: (text: string, tokens: number) => void, maxTokens?: number, temperature?: number,
   *   topP?: number, topK?: number, seed?: number, stop?: string | string[], responseFormat?: any,
   *   signal?: AbortSignal}} options */
  async generate(prompt, { onToken, maxTokens, temperature = 0, topP, topK, seed, stop, responseFormat, signal } = {}) {
    const result = await this.#answer({
      ...(typeof prompt === 'string' ? { prompt } : { messages: prompt }),
      max_tokens: maxTokens, temperature, top_p: topP, top_k: topK, seed, stop, response_format: responseFormat,
    }, ({ text, tokens }) => onToken?.(text ?? '', tokens ?? 0), signal);
    return {
      text: result.text,
      tokens: result.tokens,
      /** "eos", "stop", "max_tokens", "context" or "cancelled". */
      end: result.end,
      promptTokens: result.prompt_tokens,
      /** Of these, the ones that the cache had already. */
      keptTokens: result.kept_tokens,
      prefillSeconds: result.prefill_seconds,
      decodeSeconds: result.decode_seconds,
      restarts: result.restarts,
    };
  }

  /** @param {any} request @param {(piece: any) => void} onPiece @param {AbortSignal=} signal */
  #answer(request, onPiece, signal) {
    const seed = request.seed ?? (request.temperature > 0 ? randomSeed() : 0);
    return this.#calls.call(
        { method: 'answer', request: { ...request, seed, stop: stopTexts(request.stop) } }, onPiece, signal);
  }

  /** The tokens of a prompt. @param {string} text @returns {Promise<number[]>} */
  async tokenize(text) {
    return this.#calls.call({ method: 'tokenize', text });
  }

  /** A tensor for callKernel(). */
  tensor = tensor;

  /** Runs one of the model's kernels.
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

/** Loads a package, or the first of several that this browser can run.
 * @param {string | URL | (string | URL)[]} url of a folder that `tapml compile --package` wrote
 * @param {{device?: 'auto' | 'webgpu' | 'wasm', cache?: boolean, signal?: AbortSignal,
 *   onProgress?: (progress: {stage: string, done: number, total: number, file?: string}) => void}} options */
export async function load(url, { device = 'auto', cache = true, onProgress, signal } = {}) {
  signal?.throwIfAborted();
  const urls = (Array.isArray(url) ? url : [url]).map((one) => new URL(one, document.baseURI).href);
  const calls = new Calls('the model');
  const aborted = () => calls.end('loading was aborted');
  signal?.addEventListener('abort', aborted);
  try {
    const facts = await calls.call({ method: 'load', options: { urls, device, cache, stop: calls.stopMemory } },
                                   ({ progress }) => onProgress?.(progress));
    return new Model(calls, facts);
  } catch (error) {
    calls.end('it could not be loaded');
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', aborted);
  }
}
