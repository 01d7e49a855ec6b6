// @ts-check
// Checks of this browser's GPU in a page, through the layer that kernels use (gpu.mjs): what it computes
// is compared with what JavaScript computes.
import { Gpu } from './gpu.mjs';

/** @typedef {{name: string, run: (gpu: Gpu) => Promise<string>}} Check `run` returns what is wrong */

const kDispatch = 1, kFill = 3, kCopyBytes = 4;  // commands of gpu.mjs
const kThreads = 64;

/** Equal numbers for every run. @param {number} count @returns {Uint32Array<ArrayBuffer>} */
function draw(count) {
  const words = new Uint32Array(count);
  let state = 12345;
  for (let i = 0; i < count; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[i] = state ^ (state >>> 15);
  }
  return words;
}

/** @param {ArrayLike<number>} expected @param {ArrayLike<number>} found */
function difference(expected, found) {
  for (let i = 0; i < expected.length; ++i) {
    if (expected[i] !== found[i]) return `element ${i} is ${found[i]}, not ${expected[i]}`;
  }
  return '';
}

/** The first `size` bytes of a buffer, from an offset on. @param {Gpu} gpu @param {number} buffer
 * @param {number} offset @param {number} size */
async function bytesOf(gpu, buffer, offset, size) {
  const { bytes, release } = await gpu.read(buffer, offset, size);
  const copy = bytes.slice();
  release();
  return copy;
}

/** Runs a kernel over `count` threads, with one buffer of inputs and one of `words` words of outputs.
 * @param {Gpu} gpu @param {string} body of the shader @param {Uint32Array<ArrayBuffer>} input
 * @param {number} words @param {number} count @returns {Promise<Uint32Array>} */
async function compute(gpu, body, input, words, count) {
  const source = gpu.createBuffer(input.byteLength), target = gpu.createBuffer(4 * words);
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> scalars: vec4<i32>;
${body}`;
  const pipeline = await gpu.createPipeline('check', code, 2, {});
  gpu.write(source, 0, new Uint8Array(input.buffer));
  gpu.submit(Uint32Array.of(kFill, target, 0, 4 * words, kDispatch, pipeline, Math.ceil(count / kThreads), 1, 1, 2, 1,
                            source, 0, input.byteLength, target, 0, 4 * words, count));
  const bytes = await bytesOf(gpu, target, 0, 4 * words);
  for (const buffer of [source, target]) gpu.destroyBuffer(buffer);
  return new Uint32Array(bytes.buffer);
}

/** @param {string} statements about thread `i`, within the count */
const each = (statements) => `@compute @workgroup_size(${kThreads})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  if (i >= u32(scalars.x)) { return; }
  ${statements}
}`;

/** Normal numbers of moderate size. @param {number} count */
function drawFloats(count) {
  return Float32Array.from(draw(count), (word) => (word / 2 ** 31 - 1) * 1000 + 1e-3);
}

/** An f32 operation, which must round correctly. @param {string} sign
 * @param {(a: number, b: number) => number} expected */
const rounds = (sign, expected) => async (/** @type {Gpu} */ gpu) => {
  const count = 4096, values = drawFloats(2 * count);
  const result = await compute(gpu, each(`atomicStore(&y[i], bitcast<u32>(bitcast<f32>(x[2u * i]) ${sign} ` +
                                         'bitcast<f32>(x[2u * i + 1u])));'),
                               new Uint32Array(values.buffer), count, count);
  const wanted = Float32Array.from({ length: count }, (_, i) => expected(values[2 * i], values[2 * i + 1]));
  return difference(wanted, new Float32Array(result.buffer));
};

/** @type {Check[]} */
export const kChecks = [
  { name: 'Memory keeps what is written', run: async (gpu) => {
    const words = draw(1 << 18), buffer = gpu.createBuffer(words.byteLength);
    gpu.write(buffer, 0, new Uint8Array(words.buffer));
    const found = await bytesOf(gpu, buffer, 0, words.byteLength);
    const inside = await bytesOf(gpu, buffer, 12345, 777);
    gpu.destroyBuffer(buffer);
    const all = new Uint8Array(words.buffer);
    return difference(all, found) || difference(all.subarray(12345, 12345 + 777), inside);
  } },
  { name: 'Copies move any bytes', run: async (gpu) => {
    const words = draw(1024), from = gpu.createBuffer(4096), to = gpu.createBuffer(4096);
    gpu.write(from, 0, new Uint8Array(words.buffer));
    gpu.submit(Uint32Array.of(kFill, to, 0, 4096, kCopyBytes, from, 301, to, 7, 1501));
    const found = await bytesOf(gpu, to, 0, 4096);
    for (const buffer of [from, to]) gpu.destroyBuffer(buffer);
    const wanted = new Uint8Array(4096);
    wanted.set(new Uint8Array(words.buffer, 301, 1501), 7);
    return difference(wanted, found);
  } },
  { name: 'Integers wrap', run: async (gpu) => {
    const count = 4096, values = draw(2 * count);
    const found = await compute(gpu, each('atomicStore(&y[i], x[2u * i] * x[2u * i + 1u] + (x[2u * i] >> 7u));'),
                                values, count, count);
    return difference(Uint32Array.from({ length: count }, (_, i) =>
      Math.imul(values[2 * i], values[2 * i + 1]) + (values[2 * i] >>> 7)), found);
  } },
  { name: 'Sums of f32 round correctly', run: rounds('+', (a, b) => a + b) },
  { name: 'Products of f32 round correctly', run: rounds('*', (a, b) => a * b) },
  { name: 'Threads of a group wait for each other', run: async (gpu) => {
    const groups = 64, values = draw(groups * kThreads);
    const found = await compute(gpu, `var<workgroup> sums: array<u32, ${kThreads}>;
@compute @workgroup_size(${kThreads})
fn main(@builtin(local_invocation_index) own: u32, @builtin(workgroup_id) group: vec3<u32>) {
  sums[own] = x[group.x * ${kThreads}u + own] + u32(scalars.x) * 0u;
  for (var step = ${kThreads / 2}u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (own < step) { sums[own] += sums[own + step]; }
  }
  if (own == 0u) { atomicStore(&y[group.x], sums[0]); }
}`, values, groups, groups * kThreads);
    return difference(Uint32Array.from({ length: groups }, (_, g) =>
      values.subarray(g * kThreads, (g + 1) * kThreads).reduce((sum, value) => sum + value, 0)), found);
  } },
  { name: 'Atomic sums lose nothing', run: async (gpu) => {
    const count = 1 << 16;
    const found = await compute(gpu, each('atomicAdd(&y[i % 3u], x[0]);'), Uint32Array.of(1), 3, count);
    return difference([0, 1, 2].map((rest) => Math.ceil((count - rest) / 3)), found);
  } },
  { name: 'A wrong shader is refused', run: async (gpu) => {
    try {
      await gpu.createPipeline('wrong', '@compute @workgroup_size(1)\nfn main() { let a: u32 = 1.5; }', 0, {});
      return 'it compiles';
    } catch (/** @type {any} */ error) {
      return /line 2/.test(error.message) ? '' : `the error names no line: ${error.message}`;
    }
  } },
];

/** Runs all checks, one after another.
 * @param {(name: string, problem: string, milliseconds: number) => void} tell
 * @returns {Promise<number>} how many failed */
export async function checkGpu(tell) {
  const gpu = await Gpu.open();
  let failed = 0;
  try {
    for (const { name, run } of kChecks) {
      const began = performance.now();
      const problem = await run(gpu).catch(async (error) =>
        String(/** @type {any} */ (await gpu.reason(error)).message ?? error));
      if (problem) ++failed;
      tell(name, problem, performance.now() - began);
    }
  } finally {
    gpu.device.destroy();
  }
  return failed;
}
