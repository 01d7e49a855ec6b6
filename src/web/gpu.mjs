// @ts-check
// WebGPU for the program: the imports `tapml_gpu`. Objects have numbers; work is a list of 32-bit
// words (src/device/webgpu/gpu.h), which one call encodes and submits. What waits begins with one
// call and ends with settle(), the only import that suspends the program.

const kDispatch = 1, kCopy = 2, kFill = 3, kCopyBytes = 4;  // commands
const kInternal = 0, kLost = 1, kOutOfMemory = 2, kCompile = 3, kAbsent = 4;  // kinds of errors

const kArenaBytes = 256 << 10;  // uniforms of one submission
const kMostBindGroups = 4096;
const kKeptStaging = 16 << 20;
const kAdapterTries = 10, kAdapterPause = 200;  // milliseconds
const kLostPause = 300;  // until a lost device is known to be lost
const kByteStep = 8 << 20;  // of one dispatch that copies bytes

// Copies any bytes: each thread makes one word of the target. Bindings begin at multiples of 256.
const kByteCopier = `
@group(0) @binding(0) var<storage, read_write> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_words: array<u32>;
@group(0) @binding(2) var<uniform> range: vec4<u32>;  // first byte of source and target, count
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let word = range.y / 4u + id.x;
  if (word * 4u >= range.y + range.z) { return; }
  var value = target_words[word];
  for (var k = 0u; k < 4u; k++) {
    let at = word * 4u + k;
    if (at >= range.y && at < range.y + range.z) {
      let from_byte = at - range.y + range.x;
      let byte = (source[from_byte / 4u] >> (8u * (from_byte % 4u))) & 255u;
      value = (value & ~(255u << (8u * k))) | (byte << (8u * k));
    }
  }
  target_words[word] = value;
}`;

/** An error of a kind that the program distinguishes. */
class GpuError extends Error {
  /** @param {number} kind @param {string} message */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** @param {number} value @param {number} step */
const roundUp = (value, step) => Math.ceil(value / step) * step;

/** The adapter's name and whether it computes on a processor. @param {GPUAdapter} adapter */
export function describeAdapter(adapter) {
  const { info, isFallbackAdapter } = /** @type {any} */ (adapter);
  const name = [info.vendor, info.architecture, info.device, info.description]
      .filter((part) => part).join(' ') || 'an adapter without a name';
  const software = isFallbackAdapter || info.isFallbackAdapter || /swiftshader|llvmpipe/i.test(name);
  return { name, software: Boolean(software) };
}

/** What is known of the kernels of a session, by their names: for people.
 * @typedef {{launches: number, milliseconds: number, error: string}} KernelRecord `milliseconds` of
 *   compilation */
export class KernelRecords {
  /** @type {Map<string, KernelRecord>} */
  kernels = new Map();
  /** The last error that is no kernel's own. */
  error = '';
  /** @param {string} name */
  of(name) {
    let record = this.kernels.get(name);
    if (!record) {
      record = { launches: 0, milliseconds: 0, error: '' };
      this.kernels.set(name, record);
    }
    return record;
  }
}

/** @typedef {{pipeline: GPUComputePipeline, layout: GPUBindGroupLayout, record: KernelRecord}} Kernel */

export class Gpu {
  /** @type {Map<number, GPUBuffer>} */
  buffers = new Map();
  /** @type {Map<number, Kernel>} */
  pipelines = new Map();
  #next = 0;
  /** @type {Map<string, {set: GPUBindGroupLayout, pipeline: GPUPipelineLayout}>} */
  #layouts = new Map();
  /** @type {Map<string, GPUBindGroup>} */
  #groups = new Map();
  /** @type {GPUBuffer | null} */
  #staging = null;
  /** The buffer that the last command wrote. @type {GPUBuffer} */
  #written;
  /** What it is if that is destroyed. @type {GPUBuffer} */
  #marker;
  /** @type {Kernel | null} */
  #copier = null;

  /** @param {GPUAdapter} adapter @param {GPUDevice} device @param {KernelRecords} records */
  constructor(adapter, device, records) {
    this.adapter = adapter;
    this.device = device;
    this.records = records;
    /** @type {string | null} */
    this.lost = null;
    device.lost.then((info) => {
      this.lost = info.message || `reason: ${info.reason}`;
    });
    this.arena = device.createBuffer(
        { size: kArenaBytes, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.uniforms = new Uint32Array(kArenaBytes / 4);
    this.#marker = device.createBuffer(
        { size: 16, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
    this.#written = this.#marker;
    this.#watch();
  }

  /** @param {KernelRecords} records */
  static async open(records = new KernelRecords()) {
    if (!navigator.gpu) throw new GpuError(kAbsent, 'this browser has no WebGPU');
    let adapter = await navigator.gpu.requestAdapter();
    // A browser whose GPU process is not ready yet says that there is none.
    for (let tries = 0; !adapter && tries < kAdapterTries; ++tries) {
      await new Promise((resolve) => setTimeout(resolve, kAdapterPause));
      adapter = await navigator.gpu.requestAdapter();
    }
    if (!adapter) throw new GpuError(kAbsent, 'WebGPU finds no adapter in this browser');
    const { limits } = adapter;
    const device = await adapter.requestDevice({
      requiredLimits: {
        maxBufferSize: limits.maxBufferSize,
        maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
        maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
        maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
        maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
        maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      },
    });
    return new Gpu(adapter, device, records);
  }

  /** Lines: name, browser, whether it computes on a processor, then limits. */
  facts() {
    const { limits } = this.device;
    const { name, software } = describeAdapter(this.adapter);
    const browser = navigator.userAgent.match(/(?:Firefox|Edg|Chrome|Version)\/[\d.]+/);
    return [
      name.replaceAll('\n', ' '), browser ? browser[0].replace('/', ' ') : 'unknown browser',
      software ? 1 : 0, limits.maxBufferSize, limits.maxStorageBufferBindingSize,
      limits.maxStorageBuffersPerShaderStage, limits.maxComputeWorkgroupStorageSize,
      limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupsPerDimension,
    ].join('\n');
  }

  // Errors of commands come from error scopes, which stay open between two checks.

  #watch() {
    for (const filter of /** @type {const} */ (['internal', 'out-of-memory', 'validation'])) {
      this.device.pushErrorScope(filter);
    }
  }
  /** Throws the first error since the last check. */
  async check() {
    const popped = [0, 1, 2].map(() => this.device.popErrorScope());
    this.#watch();
    for (const error of await Promise.all(popped)) {
      if (!error) continue;
      throw new GpuError(error instanceof GPUOutOfMemoryError ? kOutOfMemory : kInternal, error.message);
    }
  }
  /** The reason why something was refused: the lost device, if it is lost. @param {unknown} error */
  async reason(error) {
    await Promise.race([this.device.lost, new Promise((later) => setTimeout(later, kLostPause))]);
    return this.lost === null ? error : new GpuError(kLost, `the GPU device is lost: ${this.lost}`);
  }

  /** @param {number} bytes */
  createBuffer(bytes) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.buffers.set(++this.#next, this.device.createBuffer({ size: bytes, usage }));
    return this.#next;
  }
  /** @param {number} number */
  destroyBuffer(number) {
    const buffer = this.buffers.get(number);
    if (buffer === this.#written) this.#written = this.#marker;
    buffer?.destroy();
    this.buffers.delete(number);
  }
  /** @param {number} number */
  #buffer(number) {
    const buffer = this.buffers.get(number);
    if (!buffer) throw new GpuError(kInternal, `there is no buffer ${number}`);
    return buffer;
  }

  /** The layout of kernels with so many buffers and one uniform buffer after them. Explicit: those
   * made from a shader lack the bindings that it does not use. @param {number} buffers */
  #layout(buffers) {
    const key = String(buffers);
    let layout = this.#layouts.get(key);
    if (!layout) {
      /** @type {GPUBindGroupLayoutEntry[]} */
      const entries = [];
      for (let binding = 0; binding < buffers; ++binding) {
        entries.push({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'storage' } });
      }
      entries.push({ binding: buffers, visibility: GPUShaderStage.COMPUTE,
        buffer: { type: 'uniform', hasDynamicOffset: true } });
      const set = this.device.createBindGroupLayout({ entries });
      layout = { set, pipeline: this.device.createPipelineLayout({ bindGroupLayouts: [set] }) };
      this.#layouts.set(key, layout);
    }
    return layout;
  }

  /** @param {string} name @param {string} code @param {number} buffers
   * @param {Record<string, number>} constants */
  async createPipeline(name, code, buffers, constants) {
    const record = this.records.of(name), began = performance.now();
    try {
      const made = await this.#compile(name, code, buffers, constants);
      this.pipelines.set(++this.#next, { ...made, record });
      return this.#next;
    } catch (/** @type {any} */ error) {
      record.error = error.message;
      throw error;
    } finally {
      record.milliseconds += performance.now() - began;
    }
  }
  /** @param {string} label @param {string} code @param {number} buffers
   * @param {Record<string, number>} constants */
  async #compile(label, code, buffers, constants) {
    this.device.pushErrorScope('validation');
    const module = this.device.createShaderModule({ label, code });
    const layout = this.#layout(buffers);
    const made = this.device.createComputePipelineAsync({
      label, layout: layout.pipeline, compute: { module, entryPoint: 'main', constants },
    }).catch((error) => error);
    const scope = this.device.popErrorScope();
    const info = await module.getCompilationInfo();
    const errors = info.messages.filter((message) => message.type === 'error');
    const pipeline = await made, refused = await scope;
    if (errors.length > 0) {
      const lines = code.split('\n');
      throw new GpuError(kCompile, errors.slice(0, 5).map(({ lineNum, linePos, message }) =>
        `line ${lineNum}:${linePos}: ${message}\n  ${(lines[lineNum - 1] ?? '').trim()}`).join('\n'));
    }
    // No line is at fault: the device may be lost.
    const other = pipeline instanceof Error ? pipeline : refused;
    if (other) throw await this.reason(new GpuError(kCompile, other.message));
    return { pipeline, layout: layout.set };
  }

  /** @param {number} number @param {number} offset @param {Uint8Array<ArrayBuffer>} bytes */
  write(number, offset, bytes) {
    const buffer = this.#buffer(number);
    this.device.queue.writeBuffer(buffer, offset, bytes);
    this.#written = buffer;
  }

  /** Encodes and submits commands. @param {Uint32Array} words */
  submit(words) {
    const { device } = this;
    let encoder = device.createCommandEncoder();
    /** @type {GPUComputePassEncoder | null} */
    let pass = null;
    let used = 0;  // bytes of the arena
    const endPass = () => {
      pass?.end();
      pass = null;
    };
    const send = () => {
      endPass();
      if (used > 0) device.queue.writeBuffer(this.arena, 0, this.uniforms, 0, used / 4);
      device.queue.submit([encoder.finish()]);
      used = 0;
    };
    /** @param {Kernel} kernel
     * @param {ArrayLike<number>} bindings of a buffer each: number, offset, size
     * @param {ArrayLike<number>} scalars @param {[number, number, number]} groups */
    const dispatch = (kernel, bindings, scalars, groups) => {
      const bytes = roundUp(4 * scalars.length, 256);
      if (used + bytes > kArenaBytes) {
        send();
        encoder = device.createCommandEncoder();
      }
      this.uniforms.set(scalars, used / 4);
      const set = this.#group(kernel, bindings, roundUp(4 * scalars.length, 16));
      pass ??= encoder.beginComputePass();
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, set, [used]);
      pass.dispatchWorkgroups(...groups);
      ++kernel.record.launches;
      used += bytes;
    };
    for (let at = 0; at < words.length;) {
      switch (words[at]) {
        case kDispatch: {
          const [, number, x, y, z, buffers, scalars] = words.subarray(at, at + 7);
          const kernel = this.pipelines.get(number);
          if (!kernel) throw new GpuError(kInternal, `there is no pipeline ${number}`);
          const bindings = words.subarray(at + 7, at + 7 + 3 * buffers);
          const end = at + 7 + 3 * buffers + scalars;
          dispatch(kernel, bindings, words.subarray(end - scalars, end), [x, y, z]);
          if (buffers > 0) this.#written = this.#buffer(bindings[3 * buffers - 3]);
          at = end;
          break;
        }
        case kCopy: {
          const [, from, fromOffset, to, toOffset, size] = words.subarray(at, at + 6);
          endPass();
          this.#written = this.#buffer(to);
          encoder.copyBufferToBuffer(this.#buffer(from), fromOffset, this.#written, toOffset, size);
          at += 6;
          break;
        }
        case kFill: {
          const [, to, offset, size] = words.subarray(at, at + 4);
          endPass();
          this.#written = this.#buffer(to);
          encoder.clearBuffer(this.#written, offset, size);
          at += 4;
          break;
        }
        case kCopyBytes: {
          const [, from, fromOffset, to, toOffset, size] = words.subarray(at, at + 6);
          for (let done = 0; done < size; done += kByteStep) {
            const count = Math.min(kByteStep, size - done);
            this.#copyBytes(dispatch, from, fromOffset + done, to, toOffset + done, count);
          }
          this.#written = this.#buffer(to);
          at += 6;
          break;
        }
        default:
          throw new GpuError(kInternal, `unknown command ${words[at]}`);
      }
    }
    send();
  }

  /** @param {(kernel: any, bindings: number[], scalars: number[], groups: [number, number, number]) => void} dispatch
   * @param {number} from @param {number} fromOffset @param {number} to @param {number} toOffset
   * @param {number} size */
  #copyBytes(dispatch, from, fromOffset, to, toOffset, size) {
    if (!this.#copier) {
      const layout = this.#layout(2);
      const module = this.device.createShaderModule({ code: kByteCopier });
      const pipeline = this.device.createComputePipeline(
          { layout: layout.pipeline, compute: { module, entryPoint: 'main' } });
      this.#copier = { pipeline, layout: layout.set, record: { launches: 0, milliseconds: 0, error: '' } };
    }
    /** @param {number} number @param {number} offset */
    const part = (number, offset) => {
      const begin = Math.floor(offset / 256) * 256;
      return [number, begin, roundUp(offset + size, 4) - begin];
    };
    const words = Math.ceil((toOffset % 4 + size) / 4);
    dispatch(this.#copier, [...part(from, fromOffset), ...part(to, toOffset)],
             [fromOffset % 256, toOffset % 256, size, 0], [Math.ceil(words / 64), 1, 1]);
  }

  /** @param {Kernel} kernel @param {ArrayLike<number>} bindings
   * @param {number} uniformBytes */
  #group(kernel, bindings, uniformBytes) {
    const key = `${uniformBytes},${Array.prototype.join.call(bindings)}`;
    let group = this.#groups.get(key);
    if (group) return group;
    /** @type {GPUBindGroupEntry[]} */
    const entries = [];
    for (let i = 0; i < bindings.length; i += 3) {
      entries.push({ binding: i / 3, resource: {
        buffer: this.#buffer(bindings[i]), offset: bindings[i + 1], size: bindings[i + 2] } });
    }
    entries.push({ binding: entries.length, resource: { buffer: this.arena, size: uniformBytes } });
    group = this.device.createBindGroup({ layout: kernel.layout, entries });
    if (this.#groups.size >= kMostBindGroups) this.#groups.clear();
    this.#groups.set(key, group);
    return group;
  }

  /** Copies a range of whole words to where the host can read it.
   * @param {GPUBuffer} from @param {number} offset @param {number} size */
  async #fetch(from, offset, size) {
    let staging = this.#staging;
    this.#staging = null;
    if (!staging || staging.size < size) {
      staging?.destroy();
      staging = this.device.createBuffer(
          { size: roundUp(size, 256), usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    }
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, offset, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(GPUMapMode.READ, 0, size).then(() => null, (error) => error);
    await this.check();
    const refused = await mapped;
    if (refused) throw refused;
    return staging;
  }
  /** @param {GPUBuffer} staging */
  #release(staging) {
    staging.unmap();
    if (this.#staging || staging.size > kKeptStaging) staging.destroy();
    else this.#staging = staging;
  }

  /** The bytes of a range, once all earlier work is done; the caller calls `release`.
   * @param {number} number @param {number} offset @param {number} size */
  async read(number, offset, size) {
    const begin = Math.floor(offset / 4) * 4, bytes = roundUp(offset + size, 4) - begin;
    const staging = await this.#fetch(this.#buffer(number), begin, bytes);
    const all = new Uint8Array(staging.getMappedRange(0, bytes));
    return { bytes: all.subarray(offset - begin, offset - begin + size),
      release: () => this.#release(staging) };
  }
  /** Waits until the last written buffer can be read: that submitted work is called done
   * (onSubmittedWorkDone) does not prove it. */
  async finish() {
    this.#release(await this.#fetch(this.#written, 0, 4));
  }
}

/** The imports `tapml_gpu`.
 * @param {import('./wasm_program.mjs').WasmProgram} program
 * @param {KernelRecords} records to fill */
export function gpuImports(program, records = new KernelRecords()) {
  /** @type {Gpu | null} */
  let gpu = null;
  let kind = kInternal;
  /** What began and is not settled. @type {{promise: Promise<void>, done: boolean, value: any, error: any} | null} */
  let pending = null;

  const opened = () => {
    if (!gpu) throw new GpuError(kInternal, 'no device is open');
    if (gpu.lost !== null) throw new GpuError(kLost, `the GPU device is lost: ${gpu.lost}`);
    return gpu;
  };
  /** @param {any} error */
  const failed = (error) => {
    kind = error instanceof GpuError ? error.kind : kInternal;
    if (kind !== kCompile) records.error = String(error?.message ?? error);
    return program.failed(error);
  };
  /** @param {() => number | void} action */
  const guarded = (action) => {
    try {
      return action() ?? 0;
    } catch (error) {
      return failed(error);
    }
  };
  /** @param {() => Promise<any>} action */
  const begin = (action) => guarded(() => {
    /** @type {any} */
    const one = { done: false, value: 0, error: null };
    one.promise = action().then(
        (value) => {
          one.value = value;
        },
        async (error) => {
          one.error = gpu && !(error instanceof GpuError && error.kind === kCompile)
            ? await gpu.reason(error) : error;
        }).then(() => {
      one.done = true;
    });
    pending = one;
  });

  return {
    /** Kind of the last failure. */
    fault: () => kind,
    open: () => begin(async () => {
      gpu = await Gpu.open(records);
    }),
    /** @param {number} to @param {number} room */
    facts: (to, room) => guarded(() => program.put(opened().facts(), to, room)),
    /** The number of a buffer. @param {number} bytes */
    create_buffer: (bytes) => guarded(() => opened().createBuffer(bytes)),
    /** @param {number} number */
    destroy_buffer: (number) => gpu?.destroyBuffer(number),
    /** settle() returns the pipeline's number.
     * @param {number} name @param {number} nameSize @param {number} code @param {number} size
     * @param {number} buffers
     * @param {number} constants pairs of number and value @param {number} count of pairs */
    create_pipeline: (name, nameSize, code, size, buffers, constants, count) => begin(() => {
      /** @type {Record<string, number>} */
      const named = {};
      const numbers = program.numbers();
      for (let i = 0; i < count; ++i) {
        const at = (constants >>> 0) + 8 * i;
        named[String(numbers.getUint32(at, true))] = numbers.getUint32(at + 4, true);
      }
      return opened().createPipeline(program.text(name, nameSize), program.text(code, size), buffers, named);
    }),
    /** @param {number} number */
    destroy_pipeline: (number) => void gpu?.pipelines.delete(number),
    /** @param {number} number @param {number} offset @param {number} from @param {number} size */
    write: (number, offset, from, size) =>
      guarded(() => opened().write(number, offset >>> 0, program.view(from, size))),
    /** @param {number} from @param {number} count */
    submit: (from, count) => guarded(() => opened().submit(
        new Uint32Array(program.exports.memory.buffer, from >>> 0, count >>> 0))),
    /** Errors of earlier commands, without waiting for these. */
    check: () => begin(() => opened().check()),
    finish: () => begin(() => opened().finish()),
    /** settle() keeps the bytes, take() copies them.
     * @param {number} number @param {number} offset @param {number} size */
    read: (number, offset, size) => begin(() => opened().read(number, offset >>> 0, size >>> 0)),
    /** @param {number} to */
    take: (to) => guarded(() => {
      const { bytes, release } = pending?.value;
      program.view(to, bytes.length).set(bytes);
      release();
    }),
    /** Waits for what began, at most so long: 0 if it is not done yet, else 1 or its number;
     * negative if it failed. */
    settle: new (/** @type {any} */ (WebAssembly)).Suspending(
        async (/** @type {number} */ milliseconds) => {
          if (!pending) return failed(new GpuError(kInternal, 'nothing began'));
          if (!pending.done) {
            /** @type {any} */
            let timer;
            const late = new Promise((resolve) => {
              timer = setTimeout(resolve, milliseconds);
            });
            await Promise.race([pending.promise, late]);
            clearTimeout(timer);
          }
          if (!pending.done) return 0;
          if (pending.error) return failed(pending.error);
          return typeof pending.value === 'number' ? pending.value : 1;
        }),
  };
}
