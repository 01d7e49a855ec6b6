/* Generates text inside an application: load a package from `tapml compile MODEL --package DIR`
 * (the model's executable, weights and tokenizer in one folder), pass a prompt, get the answer
 * piece by piece. Plain C, on top of tapml.h; no compiler is linked in.
 *
 *   tapml_session* session;
 *   tapml_engine* engine;
 *   tapml_session_open("cpu", 0, &session);
 *   tapml_engine_load(session, "demo", NULL, &engine);
 *   tapml_engine_generate(engine, "In the beginning", 16, NULL, print, NULL, NULL);
 *
 * An engine holds one conversation: tapml_engine_generate() appends its prompt and its answer, and
 * the model's state for all of it stays in memory. Sound and images are inputs beside the prompt:
 * tapml_engine_set_features(), tapml_engine_place_embeddings().
 *
 * Use an engine from one thread at a time, except for tapml_engine_cancel(). Several engines, of
 * one session or of several, can run in parallel threads; those of one session share its device.
 *
 * Structures begin with their size, which their initializers set: an application that was built
 * with an older header runs with a newer library of the same major and minor version. */
#ifndef TAPML_ENGINE_H_
#define TAPML_ENGINE_H_

#include <tapml/tapml.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tapml_engine tapml_engine; /* a loaded language model and its conversation */

typedef struct tapml_engine_options {
  size_t size;
  int64_t context;   /* tokens that the cache holds, the most of a conversation unless the model
                        reads only a window of them; 0: the model's context, the upper limit */
  const char* draft; /* package of a smaller model with the same vocabulary, which proposes tokens
                        (docs/speculative-decoding.md); null: none */
} tapml_engine_options;
#define TAPML_ENGINE_OPTIONS {sizeof(tapml_engine_options), 0, NULL}

/* Loads a package on the session, which must outlive the engine. `options` may be null.
 * TAPML_BAD_INPUT: not a package, a file of it is missing, altered or of another version, it was
 * compiled for another platform, the context is out of range, or the draft model does not fit.
 * TAPML_PLATFORM: not enough memory, or the processor lacks a feature. */
TAPML_API tapml_status tapml_engine_load(tapml_session* session, const char* folder,
                                         const tapml_engine_options* options,
                                         tapml_engine** engine);
TAPML_API void tapml_engine_free(tapml_engine* engine);

/* Maximum tokens of a conversation. This and the functions below return 0 for null. */
TAPML_API int64_t tapml_engine_context(const tapml_engine* engine);
/* Number of tokens in the conversation so far. */
TAPML_API int64_t tapml_engine_length(const tapml_engine* engine);
/* Size of the model's vocabulary: tokens are 0 to one less. */
TAPML_API int64_t tapml_engine_vocabulary(const tapml_engine* engine);
/* 1 if the model reads features; 1 if it takes embeddings. */
TAPML_API int32_t tapml_engine_reads_features(const tapml_engine* engine);
TAPML_API int32_t tapml_engine_takes_embeddings(const tapml_engine* engine);

/* ---- Generating */

/* How to sample tokens; docs/interface.md defines it bit-exactly. */
typedef struct tapml_generate_options {
  size_t size;
  int64_t max_tokens;   /* maximum tokens of the answer; 0: only the prompt runs */
  double temperature;   /* 0 to 1e6; 0: always the most likely token */
  double top_p;         /* above 0, at most 1 (keeps all) */
  int64_t top_k;        /* 0 keeps all */
  uint64_t seed;        /* each call restarts from its seed */
  int64_t lookup;       /* 1 to 64: proposes what followed the last `lookup` tokens where they stood
                           before; 0: the draft model proposes, if there is one */
  int64_t draft_tokens; /* most tokens to propose at once, up to 64; 0: none */
  int32_t keep_draft;   /* 1: proposes also where that measures slower */
} tapml_generate_options;
#define TAPML_GENERATE_OPTIONS {sizeof(tapml_generate_options), 128, 0.0, 1.0, 0, 0, 0, 4, 0}

/* A piece of the answer: `bytes` bytes of whole UTF-8 characters, which may include U+0000; no
 * terminating zero. It is valid until the function returns. A result other than 0 ends the answer.
 * It must not throw, nor call functions with this engine except tapml_engine_cancel(). */
typedef int32_t (*tapml_text_function)(void* user, const char* text, size_t bytes);

typedef enum tapml_end_reason {
  TAPML_END_TOKEN,    /* the model's end token; if `tokens` is 0, try another prompt or a
                         temperature */
  TAPML_END_MAX,      /* max_tokens */
  TAPML_END_CONTEXT,  /* the context is full: tapml_engine_reset() */
  TAPML_END_CALLBACK, /* ended by the text function */
  TAPML_END_CANCELLED /* tapml_engine_cancel() */
} tapml_end_reason;

typedef struct tapml_generation {
  size_t size;
  tapml_end_reason reason;
  int64_t prompt_tokens;  /* that ran before the answer */
  int64_t tokens;         /* of the answer, without the end token */
  double prefill_seconds; /* until the first token */
  double decode_seconds;  /* for the later tokens */
  int64_t proposed;       /* tokens that were proposed and checked */
  int64_t accepted;       /* of these, the ones that the answer took */
} tapml_generation;
#define TAPML_GENERATION {sizeof(tapml_generation), TAPML_END_TOKEN, 0, 0, 0.0, 0.0, 0, 0}

/* Appends the prompt to the conversation, generates the answer and waits for it. The prompt is
 * `bytes` bytes of UTF-8, null only if `bytes` is 0; it may contain special tokens as text. The
 * tokenizer adds its surrounding tokens only to the first prompt of a conversation. The end token
 * does not become part of the conversation: write it into the next prompt if the model's format
 * requires it. An empty prompt continues an answer that was ended early. `options`, `on_text` and
 * `generation` may be null. A call while another one runs is rejected.
 *
 * TAPML_BAD_INPUT: invalid UTF-8, an empty prompt with nothing to continue, a prompt that leaves no
 * space for an answer, an option out of range, features or tokens for embeddings that are missing
 * (below); the conversation is unchanged. After logits that allow no token (the message names the
 * kernel that caused them) and TAPML_PLATFORM, the conversation is empty: tapml_engine_length() is
 * 0. If tapml_engine_cancel() comes before the first token, the conversation is as before the
 * call. */
TAPML_API tapml_status tapml_engine_generate(tapml_engine* engine, const char* prompt, size_t bytes,
                                             const tapml_generate_options* options,
                                             tapml_text_function on_text, void* user,
                                             tapml_generation* generation);
/* The tokens of the last answer, `*count` of them (`count` may be null), valid until the engine
 * generates again. */
TAPML_API const int32_t* tapml_engine_answer(const tapml_engine* engine, int64_t* count);

/* Clears the conversation and its embeddings; the features stay. */
TAPML_API void tapml_engine_reset(tapml_engine* engine);
/* Ends the running tapml_engine_generate(), between two kernels; does nothing if none runs. Safe
 * from any thread and from signal handlers. */
TAPML_API void tapml_engine_cancel(tapml_engine* engine);

/* ---- Inputs besides tokens, for models that have them. Both functions copy the tensor. */

/* Sets what the model's encoder reads, such as frames of sound: [m, ...] without a dimension for
 * texts, in the dtype that the encoder takes. A model with an encoder needs features before the
 * first prompt. They are those of this conversation, which is cleared, and of later ones.
 *
 * TAPML_BAD_INPUT: the model reads no features, or the dtype or the shape is wrong (the message has
 * both); nothing changes. Rejected while tapml_engine_generate() runs. */
TAPML_API tapml_status tapml_engine_set_features(tapml_engine* engine,
                                                 const tapml_tensor* features);
/* Places embeddings, such as those of an image's patches, in the next prompts: `rows` [m, d] in the
 * dtype and of the width d that the model takes, for the m tokens from `position` on. The tokens at
 * these positions have no effect, but a prompt must have them: write a placeholder for each. The
 * first token of the next prompt is at position tapml_engine_length(), and tapml_engine_tokenize()
 * tells the others (`special`: 1 for the first prompt of a conversation, else 0). Call the function
 * for each image. The embeddings belong to the conversation, and are cleared with it.
 *
 * TAPML_BAD_INPUT: the model takes no embeddings, the dtype or the shape is wrong, or a position is
 * before tapml_engine_length(), outside the context or has an embedding already; nothing changes.
 * Rejected while tapml_engine_generate() runs. tapml_engine_generate() rejects a prompt that ends
 * before an embedding's position, unless max_tokens is 0. */
TAPML_API tapml_status tapml_engine_place_embeddings(tapml_engine* engine, const tapml_tensor* rows,
                                                     int64_t position);

/* ---- The engine's tokenizer. Both functions write as many items as fit into `capacity` and store
 * the full number in `*count`; with a capacity of 0 the array may be null. */

/* `special`: adds the tokens that the tokenizer puts around a text. TAPML_BAD_INPUT, with the
 * offset, for invalid UTF-8. */
TAPML_API tapml_status tapml_engine_tokenize(const tapml_engine* engine, const char* text,
                                             size_t bytes, int32_t special, int32_t* tokens,
                                             int64_t capacity, int64_t* count);
/* Writes valid UTF-8 without a terminating zero: U+FFFD replaces invalid bytes. Special tokens and
 * invalid ids add nothing. */
TAPML_API tapml_status tapml_engine_detokenize(const tapml_engine* engine, const int32_t* tokens,
                                               int64_t token_count, char* text, int64_t capacity,
                                               int64_t* count);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_ENGINE_H_ */
