// @ts-check
// The demo model in a page, on both devices; bad packages; browsers without WebGPU or JSPI. /webgpu,
// /wasm and /chat are packages of the model, /chat with a template; other folders have faults
// (model.faults.mjs).
import { check, failures, refuses } from './checks.mjs';
// @ts-ignore: the address on the test's server
import { load } from '/tapml.mjs';

const kPrompt = 'In the beginning';

/** @param {any} model */
async function checkOptions(model) {
  const plain = await model.generate(kPrompt, { maxTokens: 12 });
  const stopped = await model.generate(kPrompt, { maxTokens: 12, stop: 'world' });
  check('a stop text ends the answer', stopped.end === 'stop', stopped);
  check('a stop text is left out', plain.text.startsWith(stopped.text) && !stopped.text.includes('world'),
        stopped);
  check('a repeated prompt is not read again', stopped.keptTokens === stopped.promptTokens - 1, stopped);
  const draw = (/** @type {number} */ seed) => model.generate(kPrompt, { maxTokens: 12, temperature: 1, seed });
  const [one, again, other] = [await draw(1), await draw(1), await draw(2)];
  check('a seed repeats a draw', one.text === again.text, [one.text, again.text]);
  check('another seed draws anew', one.text !== other.text, [one.text, other.text]);
  const abort = new AbortController();
  const cut = await model.generate(kPrompt, { maxTokens: 400, signal: abort.signal, onToken: () => abort.abort() });
  check('a signal ends the answer', cut.end === 'cancelled' && cut.tokens.length < 100, cut);
  const early = await model.generate(kPrompt.repeat(100), { signal: AbortSignal.abort() });
  check('a signal ends the reading of a prompt', early.end === 'cancelled' && early.tokens.length === 0, early);
  const after = await model.generate(kPrompt, { maxTokens: 12 });
  check('the model goes on after that', after.text === plain.text, after);
  await refuses('an option out of range', () => model.generate(kPrompt, { temperature: -1 }), ['temperature']);
  await refuses('a long prompt', () => model.generate(kPrompt.repeat(400)), ['too long', '512 tokens']);
  const json = await model.generate('A list: ', { maxTokens: 40, responseFormat: { type: 'json_schema',
    json_schema: { schema: { type: 'array', items: { enum: [1, 2] }, maxItems: 3 } } } });
  check('a schema is kept to', JSON.parse(json.text).every((/** @type {number} */ x) => x === 1 || x === 2), json);
  await refuses('no template', () => model.chat.completions.create({ messages: [{ role: 'user', content: 'x' }] }),
                ['no chat template']);
}

const kTool = { type: 'function', function: { name: 'add', parameters: { type: 'object',
  properties: { a: { enum: [1, 23] } }, required: ['a'], additionalProperties: false } } };

/** @param {any} model with a template that names tools */
async function checkTools(model) {
  const user = { role: 'user', content: kPrompt };
  const request = { messages: [user], max_tokens: 200, temperature: 0, tools: [kTool], tool_choice: 'required',
    parallel_tool_calls: false };
  const { choices: [choice] } = await model.chat.completions.create(request);
  const [call] = choice.message.tool_calls ?? [];
  check('a call', choice.finish_reason === 'tool_calls' && choice.message.content === null &&
        choice.message.tool_calls?.length === 1 && call.type === 'function' && call.function.name === 'add' &&
        [1, 23].includes(JSON.parse(call.function.arguments).a), choice);
  const deltas = [];
  for await (const chunk of model.chat.completions.create({ ...request, stream: true })) deltas.push(chunk.choices[0]);
  const streamed = deltas.flatMap(({ delta }) => delta.tool_calls ?? []);
  check('a stream has the same call', streamed.length === 1 && streamed[0].index === 0 &&
        JSON.stringify(streamed[0].function) === JSON.stringify(call.function) &&
        deltas.at(-1)?.finish_reason === 'tool_calls', deltas);
  // The call and its result are part of the conversation.
  const messages = [user, choice.message, { role: 'tool', tool_call_id: call.id, content: '24' }];
  const after = await model.chat.completions.create({ messages, max_tokens: 4, temperature: 0 });
  const plain = await model.chat.completions.create({ max_tokens: 4, temperature: 0,
    messages: [{ role: 'user', content: `${kPrompt}${JSON.parse(call.function.arguments).a}24` }] });
  check('a conversation with a call', after.choices[0].message.content === plain.choices[0].message.content,
        [after.choices, plain.choices]);
  const free = await model.chat.completions.create({ ...request, tool_choice: 'none', max_tokens: 4 });
  check('no call', typeof free.choices[0].message.content === 'string' && !free.choices[0].message.tool_calls, free);
  await refuses('a tool that is not there', () => model.chat.completions.create({ ...request,
    tool_choice: { type: 'function', function: { name: 'sub' } } }), ['tool_choice', 'not there']);
  await refuses('a tool without a name', () => model.chat.completions.create({ ...request, tools: [{}] }), ['name']);
  await refuses('a strict schema', () => model.chat.completions.create({ ...request,
    tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { not: {} } } }] }), ['not']);
  await refuses('an image', async () => model.chat.completions.create({
    messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }), ['image_url', 'messages[0]']);
}

async function checkChat() {
  const model = await load('/chat');
  check('the template is found', model.hasChat, model);
  const request = { messages: [{ role: 'user', content: kPrompt }], max_tokens: 12, temperature: 0 };
  const whole = await model.chat.completions.create(request);
  const [choice] = whole.choices;
  check('the form of an answer', whole.object === 'chat.completion' && choice.finish_reason === 'length' &&
        whole.usage.completion_tokens === 12, whole);
  let text = '', reason = null;
  for await (const chunk of model.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0].delta.content ?? '';
    reason = chunk.choices[0].finish_reason;
  }
  check('a stream has the same text', text === choice.message.content && reason === 'length', [text, choice]);
  for await (const chunk of model.chat.completions.create({ ...request, max_tokens: 400, stream: true })) {
    check('a first piece', chunk.choices[0].delta.role === 'assistant', chunk);
    break;
  }
  const stopped = await model.chat.completions.create({ ...request, stop: ['world'] });
  check('a caller who leaves a stream ends it', stopped.choices[0].finish_reason === 'stop', stopped);
  await checkTools(model);
  await refuses('an unknown parameter', async () => model.chat.completions.create({ ...request, logprobs: true }),
                ['"logprobs" is not served']);
  model.unload();
  await refuses('after unload()', () => model.generate(kPrompt), ['unloaded']);
}

/** A kept file that was altered is downloaded again, by two models at once, and kept by one. */
async function checkKeptFiles() {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('tapml-files');
  /** @type {FileSystemFileHandle | null} */
  let largest = null;
  for await (const handle of /** @type {any} */ (folder).values()) {
    if (!largest || (await handle.getFile()).size > (await largest.getFile()).size) largest = handle;
  }
  const file = await /** @type {FileSystemFileHandle} */ (largest).createWritable({ keepExistingData: true });
  await file.write({ type: 'write', position: 100000, data: new Uint8Array([1, 2, 3]) });
  await file.close();
  const two = await Promise.all([load('/wasm'), load('/wasm')]);
  const texts = await Promise.all(two.map((model) => model.generate(kPrompt, { maxTokens: 4 })));
  check('both answer', texts[0].text === texts[1].text && texts[0].tokens.length === 4, texts);
  check('the weights came anew', two.some(({ cachedBytes, bytes }) => cachedBytes < bytes / 2), two);
  for (const model of two) model.unload();
  const again = await load('/wasm');
  check('and are kept', again.cachedBytes === again.bytes, again);
  again.unload();
  await folder.removeEntry(/** @type {FileSystemFileHandle} */ (largest).name);
  await refuses('a cut connection', () => load('/cut', { device: 'wasm' }), ['ended early', 'goes on']);
  const rest = await load('/cut', { device: 'wasm' });
  const kept = rest.cachedBytes / rest.bytes;
  check('the download goes on', kept > 0.4 && kept < 0.8, rest);
  check('it is right', (await rest.generate(kPrompt, { maxTokens: 4 })).text === texts[0].text, rest);
  rest.unload();
}

async function checkBadPackages() {
  const wasm = { device: 'wasm', cache: false };
  await refuses('no package', () => load('/nowhere', wasm), ['cannot download', '404', '--package']);
  await refuses('a changed file', () => load('/altered', wasm), ['tokenizer.json is corrupted', 'checksum']);
  await refuses('changed weights', () => load('/corrupted', wasm), ['weights is corrupted', 'checksum']);
  await refuses('missing bytes', () => load('/truncated', wasm), ['incomplete', 'bytes']);
  await refuses('a device without a package', () => load('/wasm', { device: 'webgpu' }), ['webgpu', '--target webgpu']);
  await refuses('a large model', () => load('/large', wasm), ['too large for this browser', '2.00 GiB', '2.24 GiB']);
}

/** @param {number[]} expected the tokens of the answer */
async function checkLostDevice(expected) {
  const { load: loadHere } = await import('/lostgpu/tapml.mjs');
  const model = await loadHere('/webgpu');
  check('the limits are the default ones', model.device.max_bindings === 8, model.device);
  let streamed = '';
  const result = await model.generate(kPrompt, { maxTokens: 12, onToken: (/** @type {string} */ text) => {
    streamed += text;
  } });
  check('the device was lost', result.restarts === 1, result);
  check('the answer is the same', result.tokens.join() === expected.slice(0, 12).join(), result);
  check('no piece came twice', streamed === result.text, [streamed, result.text]);
  model.unload();
}

/** Browsers that lack something run packages for wasm. */
async function checkOlderBrowsers() {
  const parts = { withoutgpu: 'no WebGPU', withoutjspi: 'JSPI' };
  for (const [folder, lack] of Object.entries(parts)) {
    const older = await import(`/${folder}/tapml.mjs`);
    await refuses(folder, () => older.load('/webgpu'), [lack, 'Chrome', '--target wasm']);
    const model = await older.load(['/webgpu', '/wasm']);
    check(`${folder} runs on wasm`, model.device.platform === 'wasm', model.device);
    const { text } = await model.generate(kPrompt, { maxTokens: 4 });
    check(`${folder} answers`, text.length > 0, text);
    const abort = new AbortController();
    const cut = await model.generate(kPrompt, { maxTokens: 400, signal: abort.signal, onToken: () => abort.abort() });
    check(`${folder}: a signal ends the answer`, cut.end === 'cancelled', cut);
    model.unload();
  }
}

export default async function run() {
  /** @type {Record<string, any>} */
  const tokens = {};
  for (const device of ['webgpu', 'wasm']) {
    const model = await load(['/webgpu', '/wasm'], { device });
    check(`the device is ${device}`, model.device.platform === device, model.device);
    // Packages for different devices have the same weights.
    const kept = model.cachedBytes > model.bytes / 2;
    check(`${device} finds kept weights`, kept === (device === 'wasm'), model.cachedBytes);
    let streamed = '';
    const result = await model.generate(kPrompt, { maxTokens: 64, onToken: (/** @type {string} */ text) => {
      streamed += text;
    } });
    check(`the pieces of ${device} are the text`, streamed === result.text, [streamed, result.text]);
    tokens[device] = result.tokens;
    if (device === 'wasm') await checkOptions(model);
    model.unload();
  }
  await checkChat();
  await checkKeptFiles();
  await checkBadPackages();
  await checkOlderBrowsers();
  await checkLostDevice(tokens.webgpu);
  return { tokens, failures };
}
