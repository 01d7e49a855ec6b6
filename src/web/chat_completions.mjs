// @ts-check
// OpenAI's interface to a model in a page: requests, answers, and streams of their pieces.
import { TapmlError } from './errors.mjs';

const kWhere = 'chat.completions.create';
const kParameters = ['messages', 'model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens',
  'temperature', 'top_p', 'top_k', 'seed', 'stop', 'response_format', 'tools', 'tool_choice',
  'parallel_tool_calls', 'n', 'user', 'signal'];

/** @param {any} result @returns {'stop' | 'length' | 'tool_calls'} */
function finishReason({ end, calls }) {
  if (calls.length > 0) return 'tool_calls';
  return end === 'max_tokens' || end === 'context' ? 'length' : 'stop';
}

/** @param {any} result */
function usageOf({ prompt_tokens: prompt, tokens, kept_tokens: kept }) {
  return { prompt_tokens: prompt, completion_tokens: tokens.length, total_tokens: prompt + tokens.length,
    prompt_tokens_details: { cached_tokens: kept } };
}

/** A text, or parts that are all texts. @param {any} content @param {string} where */
function textOf(content, where) {
  if (!Array.isArray(content)) return content;
  return content.map((part) => {
    if (part?.type === 'text' && typeof part.text === 'string') return part.text;
    throw new TapmlError({ message: 'a part of the content is not served', where,
      expected: 'parts of the type "text"', found: String(part?.type) });
  }).join('');
}

/** Templates take a call's arguments as an object, callers have them as its text. @param {any} call */
function withArgumentsRead(call) {
  try {
    const read = JSON.parse(call.function.arguments);
    if (read === null || typeof read !== 'object' || Array.isArray(read)) return call;
    return { ...call, function: { ...call.function, arguments: read } };
  } catch {
    return call;
  }
}

/** As templates take them. @param {any} messages */
function readMessages(messages) {
  if (!Array.isArray(messages)) {
    throw new TapmlError({ message: 'there are no messages', where: kWhere, expected: 'messages, a list',
      found: typeof messages });
  }
  return messages.map((message, index) => {
    const { role, content, tool_calls: calls } = message;
    return { ...message, role: role === 'developer' ? 'system' : role,
      content: textOf(content, `messages[${index}].content`) ?? (calls?.length ? '' : content),
      ...(calls?.length && { tool_calls: calls.map(withArgumentsRead) }) };
  });
}

/** @typedef {(request: any, onPiece: (piece: {text?: string, isThought?: boolean}) => void,
 *   signal?: AbortSignal) => Promise<any>} Answer */

export class ChatCompletions {
  #model;
  #answer;
  /** @param {string} model its name @param {Answer} answer */
  constructor(model, answer) {
    this.#model = model;
    this.#answer = answer;
  }

  /** @param {any} request as OpenAI's interface has it
   * @returns {any} a promise of the answer, or an iterator over its pieces */
  create(request) {
    for (const name of Object.keys(request)) {
      if (request[name] === undefined || request[name] === null || kParameters.includes(name)) continue;
      throw new TapmlError({ message: `"${name}" is not served`, where: kWhere,
        expected: kParameters.join(', '), found: name });
    }
    if ((request.n ?? 1) !== 1) {
      throw new TapmlError({ message: 'a request has one answer', where: kWhere, expected: 'n of 1',
        found: String(request.n) });
    }
    const shared = { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000),
      model: request.model ?? this.#model };
    const abort = new AbortController();
    request.signal?.addEventListener('abort', () => abort.abort());
    if (request.signal?.aborted) abort.abort();
    const asked = { messages: readMessages(request.messages), parts: true,
      max_tokens: request.max_completion_tokens ?? request.max_tokens,
      temperature: request.temperature ?? 1, top_p: request.top_p, top_k: request.top_k,
      seed: request.seed, stop: request.stop, response_format: request.response_format,
      tools: request.tools, tool_choice: request.tool_choice,
      parallel_tool_calls: request.parallel_tool_calls };
    return request.stream ? this.#stream(shared, asked, abort, request.stream_options)
                          : this.#whole(shared, asked, abort.signal);
  }

  /** @param {any} shared @param {any} result */
  static #calls({ id }, { calls }) {
    return calls.map((/** @type {any} */ call, /** @type {number} */ index) =>
      ({ id: `call_${id.slice(id.indexOf('-') + 1)}_${index}`, type: 'function', function: call }));
  }

  /** @param {any} shared @param {any} asked @param {AbortSignal} signal */
  async #whole(shared, asked, signal) {
    const result = await this.#answer(asked, () => {}, signal);
    const calls = ChatCompletions.#calls(shared, result);
    const message = { role: 'assistant', content: result.text === '' && calls.length > 0 ? null : result.text,
      ...(result.thoughts && { reasoning_content: result.thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }) };
    return { ...shared, object: 'chat.completion', usage: usageOf(result),
      choices: [{ index: 0, message, finish_reason: finishReason(result) }] };
  }

  /** @param {any} shared @param {any} asked @param {AbortController} abort @param {any} options */
  async *#stream(shared, asked, abort, options) {
    /** @type {any[]} */
    const pieces = [];
    /** @type {() => void} */
    let wake = () => {};
    let done = false, first = true;
    const result = this.#answer(asked, ({ text, isThought }) => {
      pieces.push(isThought ? { reasoning_content: text } : { content: text });
      wake();
    }, abort.signal);
    const ended = () => {
      done = true;
      wake();
    };
    result.then(ended, ended);
    /** @param {any} delta @param {string | null} reason */
    const chunk = (delta, reason = null) => {
      const role = first ? { role: 'assistant' } : {};
      first = false;
      return { ...shared, object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason: reason }] };
    };
    try {
      for (;;) {
        for (const piece of pieces.splice(0)) yield chunk(piece);
        if (done) break;
        if (pieces.length === 0) {
          await /** @type {Promise<void>} */ (new Promise((resolve) => {
            wake = resolve;
          }));
        }
      }
      const all = await result;
      const calls = ChatCompletions.#calls(shared, all).map((/** @type {any} */ call, /** @type {number} */ index) =>
        ({ index, ...call }));
      if (calls.length > 0) yield chunk({ tool_calls: calls });
      yield chunk({}, finishReason(all));
      if (options?.include_usage) {
        yield { ...shared, object: 'chat.completion.chunk', choices: [], usage: usageOf(all) };
      }
    } finally {
      if (!done) abort.abort();  // the caller has left its loop
    }
  }
}
