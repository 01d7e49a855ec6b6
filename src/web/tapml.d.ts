/** Language models, and functions of compiled programs, in web pages: tapml.mjs. */

/** Errors of loading and of answers. `message` has all fields, as lines. */
export class TapmlError extends Error {
  /** "user", "platform: absent", "platform: limit", "platform: lost", ... */
  readonly kind: string;
  /** The first line of the message. */
  readonly summary: string;
  readonly where: string;
  readonly expected: string;
  readonly found: string;
  /** What to do about it. */
  readonly hint: string;
  constructor(fields: {
    kind?: string; message: string; where?: string; expected?: string; found?: string; hint?: string;
  });
}

export interface Progress {
  /** "download", "cache" (from this browser's storage), then stages of preparing the model. */
  stage: string;
  /** Bytes of the whole package for the first two, else steps. */
  done: number;
  total: number;
  /** The file that arrives. */
  file?: string;
}

export interface LoadOptions {
  /** The default takes WebGPU where it works. */
  device?: 'auto' | 'webgpu' | 'wasm';
  /** Whether to keep downloads in this browser; true by default. */
  cache?: boolean;
  onProgress?: (progress: Progress) => void;
  /** Ends loading. */
  signal?: AbortSignal;
}

export interface GenerateOptions {
  /** Receives the answer in pieces of whole characters, and the number of tokens so far. */
  onToken?: (text: string, tokens: number) => void;
  /** 256 by default. */
  maxTokens?: number;
  /** 0, the default, takes the most likely token. */
  temperature?: number;
  topP?: number;
  topK?: number;
  /** Equal seeds give equal answers on every platform; random by default. */
  seed?: number;
  /** Texts that end the answer, which does not contain them. */
  stop?: string | string[];
  responseFormat?: ResponseFormat;
  /** Ends the answer, which is no error. */
  signal?: AbortSignal;
}

export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name?: string; schema: object } };

export interface Generation {
  text: string;
  tokens: number[];
  end: 'eos' | 'stop' | 'max_tokens' | 'context' | 'cancelled';
  promptTokens: number;
  /** Prompt tokens that the cache had from the last answer. */
  keptTokens: number;
  prefillSeconds: number;
  decodeSeconds: number;
  /** How often the GPU was lost and the model was loaded again. */
  restarts: number;
}

export interface Message {
  role: string;
  content: string | { type: 'text'; text: string }[] | null;
  /** Of an assistant's message. */
  tool_calls?: ToolCall[];
  /** Of a tool's message: the call that it answers. */
  tool_call_id?: string;
}

export interface Tool {
  type: 'function';
  function: {
    name: string;
    description?: string;
    /** A JSON schema. */
    parameters?: object;
    /** An answer that must call it follows its schema, or is refused if that has unknown keywords. */
    strict?: boolean;
  };
}

export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is the text of a JSON object. */
  function: { name: string; arguments: string };
}

export interface ChatRequest {
  messages: Message[];
  model?: string;
  max_tokens?: number;
  max_completion_tokens?: number;
  /** 1 by default. */
  temperature?: number;
  top_p?: number;
  top_k?: number;
  seed?: number;
  stop?: string | string[];
  response_format?: ResponseFormat;
  tools?: Tool[];
  /** "auto" by default; "required" and a named function hold the answer to the form of a call. */
  tool_choice?: 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } };
  /** Whether there may be several calls; true by default. */
  parallel_tool_calls?: boolean;
  n?: 1;
  user?: string;
  stream_options?: { include_usage?: boolean };
  signal?: AbortSignal;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: {
    index: 0;
    message: {
      role: 'assistant';
      /** Null if the answer only calls tools. */
      content: string | null;
      /** The model's thoughts. */
      reasoning_content?: string;
      tool_calls?: ToolCall[];
    };
    finish_reason: 'stop' | 'length' | 'tool_calls';
  }[];
  usage: Usage;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: 0;
    delta: {
      role?: 'assistant';
      content?: string;
      reasoning_content?: string;
      /** In one piece, before the last. */
      tool_calls?: ({ index: number } & ToolCall)[];
    };
    finish_reason: 'stop' | 'length' | 'tool_calls' | null;
  }[];
  usage?: Usage;
}

export interface Device {
  platform: 'webgpu' | 'wasm';
  name: string;
  version: string;
  max_buffer_bytes: number;
  max_binding_bytes: number;
  max_bindings: number;
  max_workgroup_bytes: number;
}

export type DType =
  | 'bool' | 'i8' | 'i16' | 'i32' | 'i64' | 'u8' | 'u16' | 'u32' | 'u64' | 'f16' | 'bf16' | 'f32' | 'f64';

/** i64 and u64 are in big arrays, bool in a Uint8Array, and f16 and bf16 as bits in a Uint16Array. */
export type TypedArray =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray | Uint16Array
  | Uint32Array | BigUint64Array | Float32Array | Float64Array;

/** A compact, row-major tensor in the page's memory. */
export interface Tensor {
  readonly data: TypedArray;
  readonly shape: number[];
  readonly dtype: DType;
}

/**
 * Describes data as a tensor; typed arrays are not copied.
 * @param shape the default has one dimension
 * @param dtype the default is that of the typed array, f32 for a list of numbers
 */
export function tensor(data: TypedArray | number[], shape?: number[], dtype?: DType): Tensor;

/** A tensor (or its array, with one dimension), a host scalar, a shape, or a tuple. */
export type Argument = Tensor | TypedArray | number | bigint | boolean | number[] | Argument[];
export type Result = Tensor | number | bigint | boolean | number[] | Result[];

export interface Param {
  name: string;
  dtype?: DType;
  /** Numbers, and texts of what depends on the call: "n", "(n + 1)". */
  dims?: (number | string)[];
}

export interface KernelSignature {
  name: string;
  params: (Param & { mode: 'in' | 'out' | 'inout' })[];
  /** What the dims depend on. */
  scalars: string[];
}

export interface KernelOptions {
  /** Those that no dimension of an input is. */
  scalars?: Record<string, number>;
}

/** Runs one kernel: takes its inputs in order (mode in and inout), returns its outputs (out and inout). */
type CallKernel = (name: string, inputs: (Tensor | TypedArray)[], options?: KernelOptions) => Promise<Tensor[]>;

/** A loaded executable. Its calls run one after another, in their order. */
export interface Executable {
  readonly device: Device;
  readonly target: string;
  readonly url: string;
  readonly functions: { name: string; params: Param[] }[];
  readonly kernels: KernelSignature[];
  tensor: typeof tensor;
  /** Calls a function of the executable. */
  call(name: string, ...args: Argument[]): Promise<Result>;
  callKernel: CallKernel;
  /** Ends the worker and frees the device's memory. */
  unload(): void;
}

/**
 * Loads an executable, or the first of several that this browser can run.
 * @param url of files that `tapml compile MODULE --target webgpu -o FILE` wrote
 */
export function loadExecutable(
  url: string | URL | (string | URL)[],
  options?: { device?: 'auto' | 'webgpu' | 'wasm'; signal?: AbortSignal },
): Promise<Executable>;

/** A loaded model. It answers one request after another, in the order of the calls. */
export interface Model {
  readonly device: Device;
  /** What the package was compiled for. */
  readonly target: string;
  readonly architecture: string;
  readonly vocabulary: number;
  /** Most tokens of a text, prompt included. */
  readonly context: number;
  /** Whether it has a chat template. */
  readonly hasChat: boolean;
  /** Bytes of the package, and how many of them this browser had. */
  readonly bytes: number;
  readonly cachedBytes: number;
  /** Whether downloads are kept. */
  readonly keepsFiles: boolean;
  readonly url: string;

  /** Continues a text, or answers a conversation. */
  generate(prompt: string | Message[], options?: GenerateOptions): Promise<Generation>;
  readonly chat: {
    completions: {
      /** As OpenAI's interface. Leaving the loop over a stream ends the answer. */
      create(request: ChatRequest & { stream: true }): AsyncGenerator<ChatCompletionChunk>;
      create(request: ChatRequest & { stream?: false | null }): Promise<ChatCompletion>;
    };
  };
  tokenize(text: string): Promise<number[]>;
  /** The kernels of the model's executable. */
  readonly kernels: KernelSignature[];
  tensor: typeof tensor;
  callKernel: CallKernel;
  /** Ends the worker and frees the device's memory. */
  unload(): void;
}

/**
 * Loads a package, or the first of several that this browser can run.
 * @param url of folders that `tapml compile MODEL --target webgpu --package DIR` wrote
 */
export function load(url: string | URL | (string | URL)[], options?: LoadOptions): Promise<Model>;
