// @ts-check
// A language model in a web page:
//
//   import { load } from './tapml.mjs';
//   const model = await load('models/demo');
//   const { text } = await model.generate('In the beginning');
//
// The model runs in a Web Worker. Types: tapml.d.ts; manual: docs/web.md.
import { TapmlError } from './errors.mjs';

export { TapmlError };

const kChatParameters = ['messages', 'model', 'stream', 'stream_options', 'max_tokens',
  'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'seed', 'stop', 'response_format', 'n', 'user',
  'signal'];

/** @typedef {{text?: string, tokens?: number, progress?: any, result?: any, error?: any}} Reply */

/** The worker, and the calls that wait for it. */
class Calls {
  #worker;
  #last = 0;
  #ended = '';
  /** @type {Map<number, (reply: Reply) => void>} */
  #waiting = new Map();
  /** Where a page and its workers share memory, the worker sees a stop while it computes.
   * @type {Int32Array | null} */
  #stop = globalThis.crossOriginIsolated ? new Int32Array(new SharedArrayBuffer(4)) : null;

  /** @param {URL} address of the worker's script */
  constructor(address) {
    this.#worker = new Worker(address, { type: 'module', name: 'tapml' });
    this.#worker.onmessage = ({ data }) => this.#waiting.get(data.id)?.(data);
    this.#worker.onerror = ({ message }) => this.end(`its worker failed: ${message ?? 'it does not start'}`);
  }
  get stopMemory() {
    return this.#stop?.buffer;
  }

  /** @param {{method: string} & Record<string, any>} message
   * @param {(reply: Reply) => void} meanwhile for what comes before the result
   * @param {AbortSignal=} signal asks to stop; the result still comes @returns {Promise<any>} */
  call(message, meanwhile = () => {}, signal) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(new TapmlError({ kind: 'platform: lost', message: `the model is gone: ${this.#ended}` }));
        return;
      }
      const stop = () => {
        if (this.#stop) Atomics.store(this.#stop, 0, id);
        this.#worker.postMessage({ method: 'stop', of: id });
      };
      const done = () => {
        this.#waiting.delete(id);
        signal?.removeEventListener('abort', stop);
      };
      this.#waiting.set(id, (reply) => {
        if (reply.error) {
          done();
          reject(new TapmlError(reply.error));
        } else if ('result' in reply) {
          done();
          resolve(reply.result);
        } else {
          meanwhile(reply);
        }
      });
      this.#worker.postMessage({ ...message, id });
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop);
    });
  }

  /** @param {string} why */
  end(why) {
    if (this.#ended) return;
    this.#ended = why;
    this.#worker.terminate();
    for (const reply of [...this.#waiting.values()]) {
      reply({ error: { kind: 'platform: lost', message: `the model is gone: ${why}` } });
    }
  }
}

/** @param {string} end how the program says it */
const finishReason = (end) => end === 'max_tokens' || end === 'context' ? 'length' : 'stop';

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
    this.chat = { completions: { create: (/** @type {any} */ request) => this.#create(request) } };
  }

  /** Continues a text, or answers a conversation.
   * @param {string | {role: string, content: any}[]} prompt
   * @param {{onToken?: (text: string, tokens: number) => void, maxTokens?: number, temperature?: number,
   *   topP?: number, topK?: number, seed?: number, stop?: string | string[], responseFormat?: any,
   *   signal?: AbortSignal}} options */
  async generate(prompt, options = {}) {
    return this.#answer(typeof prompt === 'string' ? { prompt } : { messages: prompt }, options);
  }

  /** @param {any} input @param {any} options */
  async #answer(input, { onToken, maxTokens, temperature = 0, topP, topK, seed, stop, responseFormat, signal }) {
    const request = { ...input, max_tokens: maxTokens, temperature, top_p: topP, top_k: topK,
      seed: seed ?? (temperature > 0 ? randomSeed() : 0), stop: stopTexts(stop),
      response_format: responseFormat };
    const result = await this.#calls.call({ method: 'answer', request },
                                          ({ text, tokens }) => onToken?.(text ?? '', tokens ?? 0), signal);
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

  /** @param {any} request as OpenAI's interface has it */
  #create(request) {
    for (const name of Object.keys(request)) {
      if (request[name] === undefined || request[name] === null || kChatParameters.includes(name)) continue;
      throw new TapmlError({ message: `"${name}" is not served`, where: 'chat.completions.create',
        expected: kChatParameters.join(', '), found: name });
    }
    if ((request.n ?? 1) !== 1) {
      throw new TapmlError({ message: 'a request has one answer', where: 'chat.completions.create',
        expected: 'n of 1', found: String(request.n) });
    }
    const shared = { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000),
      model: request.model ?? this.url };
    const abort = new AbortController();
    request.signal?.addEventListener('abort', () => abort.abort());
    if (request.signal?.aborted) abort.abort();
    const options = { maxTokens: request.max_completion_tokens ?? request.max_tokens,
      temperature: request.temperature ?? 1, topP: request.top_p, topK: request.top_k, seed: request.seed,
      stop: request.stop, responseFormat: request.response_format, signal: abort.signal };
    const input = { messages: request.messages };
    return request.stream ? this.#stream(shared, input, options, abort, request.stream_options)
                          : this.#whole(shared, input, options);
  }

  /** @param {any} result */
  static #usage({ promptTokens, tokens, keptTokens }) {
    return { prompt_tokens: promptTokens, completion_tokens: tokens.length,
      total_tokens: promptTokens + tokens.length, prompt_tokens_details: { cached_tokens: keptTokens } };
  }

  /** @param {any} shared @param {any} input @param {any} options */
  async #whole(shared, input, options) {
    const result = await this.#answer(input, options);
    return { ...shared, object: 'chat.completion', usage: Model.#usage(result),
      choices: [{ index: 0, message: { role: 'assistant', content: result.text },
        finish_reason: finishReason(result.end) }] };
  }

  /** @param {any} shared @param {any} input @param {any} options @param {AbortController} abort
   * @param {any} streamOptions */
  async *#stream(shared, input, options, abort, streamOptions) {
    /** @type {string[]} */
    const pieces = [];
    /** @type {() => void} */
    let wake = () => {};
    let done = false;
    const result = this.#answer(input, { ...options, onToken: (/** @type {string} */ text) => {
      pieces.push(text);
      wake();
    } });
    const ended = () => {
      done = true;
      wake();
    };
    result.then(ended, ended);
    /** @param {any} delta @param {string | null} reason */
    const chunk = (delta, reason = null) => ({ ...shared, object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }] });
    try {
      let first = true;
      for (;;) {
        for (const content of pieces.splice(0)) {
          yield chunk(first ? { role: 'assistant', content } : { content });
          first = false;
        }
        if (done) break;
        if (pieces.length === 0) {
          await /** @type {Promise<void>} */ (new Promise((resolve) => {
            wake = resolve;
          }));
        }
      }
      const all = await result;
      yield chunk({}, finishReason(all.end));
      if (streamOptions?.include_usage) yield { ...shared, object: 'chat.completion.chunk', choices: [],
        usage: Model.#usage(all) };
    } finally {
      if (!done) abort.abort();  // the caller has left its loop
    }
  }

  /** The tokens of a prompt. @param {string} text @returns {Promise<number[]>} */
  async tokenize(text) {
    return this.#calls.call({ method: 'tokenize', text });
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
  const calls = new Calls(new URL('model_worker.mjs', import.meta.url));
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
