/** Language models in web pages: tapml.mjs. */

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
  content: string;
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
  choices: { index: 0; message: { role: 'assistant'; content: string }; finish_reason: 'stop' | 'length' }[];
  usage: Usage;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: 0;
    delta: { role?: 'assistant'; content?: string };
    finish_reason: 'stop' | 'length' | null;
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
  /** Ends the worker and frees the device's memory. */
  unload(): void;
}

/**
 * Loads a package, or the first of several that this browser can run.
 * @param url of folders that `tapml compile MODEL --target webgpu --package DIR` wrote
 */
export function load(url: string | URL | (string | URL)[], options?: LoadOptions): Promise<Model>;
