// @ts-check
// Folders with faults: copies of /wasm or of the scripts in which one file is changed while it is
// sent.

/** @param {Buffer} bytes */
function flipLast(bytes) {
  const changed = Buffer.from(bytes);
  changed[changed.length - 1] ^= 1;
  return changed;
}

const kHuge = 2.4e9;  // bytes of a weight

/** Safetensors whose first tensor is huge; the file ends after its header.
 * @param {Buffer} bytes */
function hugeWeights(bytes) {
  const size = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + size).toString());
  const tensors = Object.values(header).sort((a, b) => a.data_offsets[0] - b.data_offsets[0]);
  const [first] = tensors;
  const more = kHuge - first.data_offsets[1];
  first.shape = [kHuge / 2];  // bf16
  for (const tensor of tensors) {
    if (tensor !== first) tensor.data_offsets[0] += more;
    tensor.data_offsets[1] += more;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return { head: Buffer.concat([length, text]), size: 8 + text.length + bytes.length - 8 - size + more };
}

/** A script that begins with other statements. @param {string} statements */
const after = (statements) => (/** @type {Buffer} */ bytes) => Buffer.from(`${statements}\n${bytes}`);

// Gives a worker devices with WebGPU's default limits, and destroys the first one in the middle of an
// answer.
const kLoseDevice = `
let submits = 0, first = null;
const { requestDevice } = GPUAdapter.prototype, { submit } = GPUQueue.prototype;
GPUAdapter.prototype.requestDevice = async function() {
  const device = await requestDevice.call(this);
  first ??= device;
  return device;
};
GPUQueue.prototype.submit = function(...args) {
  submit.apply(this, args);
  if (++submits === 30) first.destroy();
};`;

let hugeSize = 0;

/** @type {Map<string, import('./static_server.mjs').Fault>} */
export const faults = new Map([
  ['withoutgpu/model_worker.mjs', after("Object.defineProperty(navigator, 'gpu', { value: undefined });")],
  ['withoutjspi/engine.mjs', after('delete WebAssembly.Suspending; delete WebAssembly.promising;')],
  ['cut/weights.safetensors', (bytes, response, range) => {
    if (range) return bytes;
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 3 << 20), () => setTimeout(() => response.destroy(), 200));
    return null;
  }],
  ['lostgpu/gpu.mjs', after(kLoseDevice)],
  ['altered/tokenizer.json', flipLast],
  ['corrupted/weights.safetensors', flipLast],
  ['truncated/weights.safetensors', (bytes) => bytes.subarray(0, bytes.length - 1000)],
  ['large/package.json', (bytes) => {
    const list = JSON.parse(bytes.toString());
    for (const file of list.files) if (file.name === 'weights.safetensors') file.bytes = hugeSize;
    return Buffer.from(JSON.stringify(list));
  }],
  ['large/weights.safetensors', (bytes, response) => {
    response.writeHead(200).write(hugeWeights(bytes).head);
    return null;  // the rest never comes: the page must not wait for it
  }],
]);

/** What the list must know. @param {Buffer} bytes of the weights */
export function prepare(bytes) {
  hugeSize = hugeWeights(bytes).size;
}
