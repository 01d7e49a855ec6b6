// @ts-check
// Tensors of a page, and what a message to the worker has of them (src/browser/page_values.h).
import { TapmlError } from './errors.mjs';

/** @typedef {Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray
 *   | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array} TypedArray */

/** The typed array of a dtype. JavaScript has none for bf16, and not everywhere one for f16: these are
 * bits. @type {Record<string, any>} */
const kArrays = {
  bool: Uint8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array, u8: Uint8Array,
  u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array, f16: Uint16Array, bf16: Uint16Array,
  f32: Float32Array, f64: Float64Array,
};
/** The dtype of a typed array, if the caller does not say. @type {Record<string, string>} */
const kDtypes = {
  Int8Array: 'i8', Int16Array: 'i16', Int32Array: 'i32', BigInt64Array: 'i64', Uint8Array: 'u8',
  Uint8ClampedArray: 'u8', Uint16Array: 'u16', Uint32Array: 'u32', BigUint64Array: 'u64',
  Float16Array: 'f16', Float32Array: 'f32', Float64Array: 'f64',
};
const kBits = ['f16', 'bf16'];

/** @param {any} data */
const kindOf = (data) => Array.isArray(data) ? 'Array' : data?.constructor?.name ?? String(data);

/** @param {any} data @param {string=} dtype @returns {any} */
function elementsOf(data, dtype) {
  const own = kDtypes[kindOf(data)], wanted = dtype ?? own ?? 'f32';
  const Elements = kArrays[wanted];
  if (!Elements) {
    throw new TapmlError({ message: 'there is no such dtype', where: 'tensor', expected: Object.keys(kArrays).join(', '),
      found: String(wanted) });
  }
  if (Array.isArray(data) && !kBits.includes(wanted)) {
    const big = wanted === 'i64' || wanted === 'u64';
    try {
      return { dtype: wanted, data: big ? Elements.from(data, BigInt) : Elements.from(data) };
    } catch (/** @type {any} */ error) {
      throw new TapmlError({ message: `the data has elements that are no ${wanted}`, where: 'tensor',
        found: String(error.message) });
    }
  }
  // A half in a Float16Array has the same bits.
  const fits = data instanceof Elements || own === wanted;
  if (fits) return { dtype: wanted, data };
  throw new TapmlError({ message: 'the data does not have the elements of the dtype', where: 'tensor',
    expected: `${Elements.name}${kBits.includes(wanted) ? `, the bits of ${wanted}` : ' or an array of numbers'}`,
    found: kindOf(data) });
}

/** A compact, row-major tensor in the page's memory. */
export class Tensor {
  /** @param {any} data @param {number[]} shape @param {string} dtype */
  constructor(data, shape, dtype) {
    /** @type {any} */
    this.data = data;
    this.shape = shape;
    this.dtype = dtype;
  }
}

/** @param {TypedArray | number[]} data row-major @param {number[]=} shape the default has one
 *   dimension @param {string=} dtype the default is that of the typed array */
export function tensor(data, shape, dtype) {
  const made = elementsOf(data, dtype), dims = shape ?? [made.data.length];
  if (!Array.isArray(dims) || !dims.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw new TapmlError({ message: 'a shape is a list of integers of 0 or more', where: 'tensor',
      found: JSON.stringify(shape) });
  }
  const count = dims.reduce((product, dim) => product * dim, 1);
  if (count !== made.data.length) {
    throw new TapmlError({ message: 'the data does not fill the shape', where: 'tensor',
      expected: `${count} elements for [${dims.join(', ')}]`, found: `${made.data.length} elements` });
  }
  return new Tensor(made.data, [...dims], made.dtype);
}

/** A typed array and an object like a tensor are one too. @param {any} value @returns {Tensor | null} */
function asTensor(value) {
  if (value instanceof Tensor) return value;
  if (ArrayBuffer.isView(value)) return tensor(/** @type {any} */ (value));
  return value?.data && value.shape && value.dtype ? tensor(value.data, value.shape, value.dtype) : null;
}

/** Puts arguments into a message: the tensors' bytes follow each other.
 * @param {any[]} values @param {string} where */
export function encodeValues(values, where) {
  /** @type {Uint8Array[]} */
  const parts = [];
  let at = 0;
  /** @param {any} value @returns {any} */
  const encode = (value) => {
    const found = asTensor(value);
    if (found) {
      const { buffer, byteOffset, byteLength } = found.data;
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      // A message copies the whole memory behind a view.
      parts.push(byteLength < buffer.byteLength ? bytes.slice() : bytes);
      at += byteLength;
      return { dtype: found.dtype, shape: found.shape, at: at - byteLength };
    }
    if (typeof value === 'boolean') return { value: value ? '1' : '0' };
    if (typeof value === 'bigint' || Number.isSafeInteger(value)) return { value: String(value) };
    if (Array.isArray(value)) {
      const isShape = value.length > 0 && value.every((dim) => Number.isSafeInteger(dim));
      return isShape ? { dims: value } : { fields: value.map(encode) };
    }
    throw new TapmlError({ message: 'an argument has no form that a program takes', where,
      expected: 'a tensor or typed array, an integer or boolean, a list of integers (a shape), or a list of arguments (a tuple)',
      found: typeof value === 'number' ? String(value) : kindOf(value) });
  };
  return { values: values.map(encode), parts };
}

/** The values of a reply. @param {any} json @param {Uint8Array} bytes @returns {any} */
export function decodeValue(json, bytes) {
  if (json.fields) return json.fields.map((/** @type {any} */ field) => decodeValue(field, bytes));
  if (json.dims) return json.dims;
  if (json.value !== undefined) {
    if (json.dtype === 'bool') return json.value === '1';
    const number = Number(json.value);
    return Number.isSafeInteger(number) ? number : BigInt(json.value);
  }
  const Elements = kArrays[json.dtype];
  const own = bytes.slice(json.at, json.at + json.bytes);
  return new Tensor(new Elements(own.buffer), json.shape, json.dtype);
}
