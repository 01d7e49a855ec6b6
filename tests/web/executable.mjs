// @ts-check
// Functions and kernels of executables in a page, on both devices, against values that JavaScript
// computes. /programs has program.txt, compiled for webgpu and wasm; /wasm is a package of the demo
// model.
import { check, failures, refuses } from './checks.mjs';
// @ts-ignore: the address on the test's server
import { load, loadExecutable, tensor } from '/tapml.mjs';

const kFiles = ['/programs/webgpu.tapml', '/programs/wasm.tapml'];

/** @param {any} a @param {any} b */
const same = (a, b) => JSON.stringify([...a].map(String)) === JSON.stringify([...b].map(String));

/** @param {number} rows */
function affineInputs(rows) {
  const x = Float32Array.from({ length: rows * 3 }, (_, i) => i % 7 - 3);
  const w = Float32Array.from([1, -2, 0.5, 4, -0.25, 3]), b = Float32Array.from([10, -1]);
  const expected = new Float32Array(rows * 2);
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < 2; ++c) {
      let sum = b[c];
      for (let k = 0; k < 3; ++k) sum += x[r * 3 + k] * w[k * 2 + c];
      expected[r * 2 + c] = sum;
    }
  }
  return { inputs: [tensor(x, [rows, 3]), tensor(w, [3, 2]), b], expected };
}

/** @param {any} program @param {string} device */
async function checkFunctions(program, device) {
  check(`${device}: functions`, same(program.functions.map((/** @type {any} */ f) => f.name).sort(),
                                     ['affine', 'bytes', 'parts']), program.functions);
  for (const rows of [1, 5, 300]) {
    const { inputs, expected } = affineInputs(rows);
    const y = await program.call('affine', ...inputs);
    check(`${device}: affine of ${rows} rows`, y.data instanceof Float32Array && same(y.data, expected) &&
          same(y.shape, [rows, 2]) && y.dtype === 'f32', y);
  }
  const big = 2n ** 60n;
  const pair = [Float32Array.from([1, -1.5, 2]), BigInt64Array.from([1n, -5n, big])];
  const [c, s, k, d] = await program.call('parts', pair, [4, 2], big + 1n);
  check(`${device}: a tuple`, same(c.data, [1, 2.25, 4]) && same(d.data, [2, -10, 2n * big]), [c.data]);
  check(`${device}: a shape and a scalar`, same(s, [4, 2]) && k === big + 1n, [s, String(k)]);
  const [, , small] = await program.call('parts', pair, [4, 2], -7);
  check(`${device}: a small scalar is a number`, small === -7, small);
  // bf16: 1.5 is 0x3fc0, 3 is 0x4040.
  const [a, b] = await program.call('bytes', Uint8Array.from([1, 2, 130]),
                                    tensor(Uint16Array.from([0x3fc0, 0x3fc0, 0x3fc0]), [3], 'bf16'));
  check(`${device}: u8 and bf16`, same(a.data, [2, 4, 4]) && same(b.data, [0x4040, 0x4040, 0x4040]) &&
        b.dtype === 'bf16', [[...a.data], [...b.data]]);
}

/** @param {any} program @param {string} device */
async function checkKernels(program, device) {
  const kernel = program.kernels.find((/** @type {any} */ { params }) =>
    params.some((/** @type {any} */ { dims }) => dims[0] === 3));
  check(`${device}: the kernel's signature`, kernel?.params.length === 4 && kernel.params[3].mode === 'out' &&
        kernel.params[0].dtype === 'f32', program.kernels);
  const { inputs, expected } = affineInputs(5);
  const outputs = await program.callKernel(kernel.name, inputs);
  check(`${device}: a kernel`, outputs.length === 1 && same(outputs[0].data, expected), outputs);
  const [scalar] = kernel.scalars;
  const named = await program.callKernel(kernel.name, inputs, { scalars: { [scalar]: 5 } });
  check(`${device}: with its scalar`, same(named[0].data, expected), named);
  await refuses(`${device}: an unknown kernel`, () => program.callKernel(`${kernel.name}x`, inputs),
                ['no kernel', kernel.name]);
  await refuses(`${device}: too few inputs`, () => program.callKernel(kernel.name, inputs.slice(1)),
                ['wrong number of arguments', '3 tensors', 'found: 2']);
  await refuses(`${device}: a kernel's dtype`,
                () => program.callKernel(kernel.name, [tensor(new Int32Array(15), [5, 3]), inputs[1], inputs[2]]),
                ['wrong dtype', 'expected: f32', 'found: i32']);
  await refuses(`${device}: a kernel's rank`,
                () => program.callKernel(kernel.name, [new Float32Array(15), inputs[1], inputs[2]]),
                ['wrong shape', `expected: [${scalar}, 3]`, 'found: [15]']);
  await refuses(`${device}: a kernel's shape`,
                () => program.callKernel(kernel.name, [inputs[0], inputs[1], new Float32Array(3)]),
                ['wrong shape', 'expected: [2]', 'found: [3]']);
  await refuses(`${device}: a scalar that contradicts`,
                () => program.callKernel(kernel.name, inputs, { scalars: { [scalar]: 4 } }),
                ['wrong shape', `${scalar} = 4`, 'found: [5, 3]']);
  await refuses(`${device}: an unknown scalar`,
                () => program.callKernel(kernel.name, inputs, { scalars: { zz: 4 } }), ['no scalar zz', scalar]);
}

/** @param {any} program @param {string} device */
async function checkErrors(program, device) {
  const { inputs, expected } = affineInputs(2);
  await refuses(`${device}: an unknown function`, () => program.call('affin', ...inputs), ['no function affin', 'affine']);
  await refuses(`${device}: too many arguments`, () => program.call('affine', ...inputs, 1),
                ['wrong number of arguments', '3 arguments', 'found: 4']);
  await refuses(`${device}: a dtype`, () => program.call('affine', tensor(new Int32Array(6), [2, 3]), inputs[1], inputs[2]),
                ['parameter x of affine', 'f32', 'i32[2, 3]']);
  await refuses(`${device}: a shape`, () => program.call('affine', tensor(new Float32Array(8), [2, 4]), inputs[1], inputs[2]),
                ['dimension 1 of parameter x of affine is 4', '3']);
  await refuses(`${device}: a value without a form`, () => program.call('affine', 1.5, inputs[1], inputs[2]),
                ['no form that a program takes', '1.5']);
  const y = await program.call('affine', ...inputs);
  check(`${device}: the program goes on`, same(y.data, expected), y);
}

function checkTensors() {
  const halves = tensor(new Uint16Array(2), [2], 'f16');
  check('bits of halves', halves.dtype === 'f16', halves);
  check('numbers are f32', tensor([1, 2]).data instanceof Float32Array, '');
  check('numbers of a dtype', same(tensor([1, -2], [2, 1], 'i64').data, [1n, -2n]), '');
}

async function checkRefusals() {
  await refuses('a shape that is not filled', async () => tensor(new Float32Array(3), [2, 2]),
                ['does not fill', '4 elements for [2, 2]', '3 elements']);
  await refuses('another array', async () => tensor(new Float64Array(3), [3], 'f32'), ['Float32Array', 'Float64Array']);
  await refuses('a dtype that is none', async () => tensor([1], [1], 'f31'), ['no such dtype', 'f31', 'bf16']);
  await refuses('numbers as bits', async () => tensor([1], [1], 'bf16'), ['Uint16Array', 'Array']);
  await refuses('no integers', async () => tensor([1.5], [1], 'i64'), ['no i64', '1.5']);
  await refuses('no file', () => loadExecutable('/programs/none.tapml'), ['cannot download', '404', '-o FILE']);
  await refuses('another file', () => loadExecutable('/programs/program.txt'), ['program.txt', 'not']);
  await refuses('another platform', () => loadExecutable('/programs/cpu.tapml'), ['no executable', 'cpu']);
  await refuses('a device without a file', () => loadExecutable(kFiles[1], { device: 'webgpu' }), ['wasm', '-o FILE']);
  const abort = AbortSignal.abort();
  await refuses('an ended signal', () => loadExecutable(kFiles, { signal: abort }), ['abort']);
}

/** The device is destroyed during the calls; they are repeated. */
async function checkLostDevice() {
  const { loadExecutable: loadHere } = await import('/lostgpu/tapml.mjs');
  const program = await loadHere(kFiles[0]);
  const { inputs, expected } = affineInputs(4);
  for (let i = 0; i < 40; ++i) {
    const y = await program.call('affine', ...inputs);
    if (!same(y.data, expected)) check(`call ${i} beside a lost device`, false, y.data);
  }
  program.unload();
}

/** The kernels of a model. */
async function checkModel() {
  const model = await load('/wasm');
  const kernel = model.kernels.find((/** @type {any} */ { name, params }) =>
    name.startsWith('rms_norm_') && params[0].dims[1] === 'n');
  const [x, weight] = kernel.params;
  const width = x.dims.at(-1), scale = new Uint16Array(width).fill(0x4000);  // bf16: 2
  const data = Float32Array.from({ length: 2 * width }, (_, i) => Math.sin(i));
  const [y] = await model.callKernel(kernel.name, [tensor(data, [1, 2, width]),
    tensor(scale, [width], weight.dtype)]);
  for (const row of [0, 1]) {
    const own = data.subarray(row * width, (row + 1) * width);
    const size = Math.sqrt(own.reduce((sum, v) => sum + v * v, 0) / width + 1e-5);
    const worst = Math.max(...own.map((v, i) => Math.abs(2 * v / size - y.data[row * width + i])));
    check(`row ${row} of a model's kernel`, worst < 1e-5, worst);
  }
  const { tokens } = await model.generate('In the beginning', { maxTokens: 4 });
  check('the model answers after it', tokens.length === 4, tokens);
  model.unload();
  await refuses('after unload()', () => model.callKernel(kernel.name, []), ['unloaded']);
}

export default async function run() {
  for (const device of ['webgpu', 'wasm']) {
    const program = await loadExecutable(kFiles, { device });
    check(`the device is ${device}`, program.device.platform === device, program.device);
    await checkFunctions(program, device);
    await checkKernels(program, device);
    await checkErrors(program, device);
    program.unload();
    await refuses(`${device}: after unload()`, () => program.call('affine'), ['unloaded']);
  }
  checkTensors();
  await checkRefusals();
  await checkLostDevice();
  await checkModel();
  return { failures };
}
