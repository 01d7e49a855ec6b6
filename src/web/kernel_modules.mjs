// @ts-check
// WebAssembly kernel modules, which share the memory, stack and table of tapml_worker.wasm.

/** The memory requirements of a shared module: the first subsection of type 1 in "dylink.0".
 * @param {WebAssembly.Module} module */
function dataOf(module) {
  const [section] = WebAssembly.Module.customSections(module, 'dylink.0');
  if (!section) throw new Error('not a shared module: no section "dylink.0"');
  const bytes = new Uint8Array(section);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (at >= bytes.length) throw new Error('section "dylink.0" is truncated');
      const byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error('section "dylink.0" has a number beyond 32 bits');
  };
  while (at < bytes.length) {
    const type = number(), size = number(), end = at + size;
    if (type === 1) {
      const data = { bytes: number(), alignment: 2 ** number() };
      if (number() > 0) throw new Error('a kernel module with function pointers');
      return data;
    }
    at = end;
  }
  return { bytes: 0, alignment: 1 };
}

/** The imports of module "tapml" that load kernel modules.
 * @param {import('./wasm_program.mjs').WasmProgram} program */
export function kernelModuleImports(program) {
  /** @type {Map<number, {module: WebAssembly.Module, data: {bytes: number, alignment: number},
   *   instance: WebAssembly.Instance | null, places: Map<string, number>}>} */
  const modules = new Map();
  /** @type {number[]} */
  const freeSlots = [];  // in the table
  let lastModule = 0;
  /** @param {number} number */
  const find = (number) => {
    const found = modules.get(number);
    if (!found) throw new Error(`no kernel module ${number}`);
    return found;
  };
  return {
    /** @param {number} from @param {number} size */
    compile(from, size) {
      try {
        // A copy: browsers refuse memory that may grow meanwhile.
        const module = new WebAssembly.Module(program.view(from, size).slice());
        modules.set(++lastModule, { module, data: dataOf(module), instance: null, places: new Map() });
        return lastModule;
      } catch (error) {
        return program.failed(error);
      }
    },
    /** @param {number} number */
    data_bytes: (number) => find(number).data.bytes,
    /** @param {number} number */
    data_alignment: (number) => find(number).data.alignment,
    /** A kernel module uses the worker's memory, stack and functions, by their C names.
     * @param {number} number @param {number} data */
    instantiate(number, data) {
      const entry = find(number), { exports } = program;
      /** @param {number} value */
      const constant = (value) => new WebAssembly.Global({ value: 'i32', mutable: false }, value);
      /** @type {Record<string, any>} */
      const env = {
        memory: exports.memory,
        __stack_pointer: exports.__stack_pointer,
        __indirect_function_table: exports.__indirect_function_table,
        __memory_base: constant(data),
        __table_base: constant(0),
      };
      try {
        for (const { module, name } of WebAssembly.Module.imports(entry.module)) {
          if (module === 'env' && !(name in env) && typeof exports[name] === 'function') {
            env[name] = exports[name];
          }
        }
        entry.instance = new WebAssembly.Instance(entry.module, { env });
        /** @type {any} */
        const made = entry.instance.exports;
        made.__wasm_apply_data_relocs?.();
        made.__wasm_call_ctors?.();
        return 0;
      } catch (error) {
        return program.failed(error);
      }
    },
    /** @param {number} number @param {number} name @param {number} size */
    entry(number, name, size) {
      const { instance, places } = find(number);
      const symbol = program.text(name, size);
      const known = places.get(symbol);
      if (known !== undefined) return known;
      const kernel = instance?.exports[symbol];
      if (typeof kernel !== 'function') return 0;
      const table = program.exports.__indirect_function_table;
      const place = freeSlots.pop() ?? table.grow(1);
      table.set(place, kernel);
      places.set(symbol, place);
      return place;
    },
    /** @param {number} number */
    unload(number) {
      for (const place of find(number).places.values()) {
        program.exports.__indirect_function_table.set(place, null);
        freeSlots.push(place);
      }
      modules.delete(number);
    },
  };
}
