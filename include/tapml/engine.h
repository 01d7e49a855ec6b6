/* Generating text inside an application: load a package that `tapml compile MODEL --package DIR`
 * made (the model's executable, weights and tokenizer in one folder), give it a prompt, get the
 * answer piece by piece. Plain C, on top of tapml.h; no compiler is linked in.
 *
 *   tapml_session* session;
 *   tapml_engine* engine;
 *   tapml_session_open("cpu", 0, &session);
 *   tapml_engine_load(session, "demo", NULL, &engine);
 *   tapml_engine_generate(engine, "In the beginning", 16, NULL, print, NULL, NULL);
 *
 * An engine holds one conversation: what tapml_engine_generate() is given and what it answers is
 * appended to it, and the model's state for all of it stays in memory.
 *
 * An engine is used from one thread at a time, but for tapml_engine_cancel(). Several engines, of
 * one session or of several, run in as many threads at once; those of one session share its device.
 *
 * Structures begin with their size, which their initializers set: an application that was built
 * with an older header runs with a newer library of the same version number's first two parts. */
#ifndef TAPML_ENGINE_H_
#define TAPML_ENGINE_H_

#include <tapml/tapml.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tapml_engine tapml_engine; /* a language model, loaded, and its conversation */

typedef struct tapml_engine_options {
  size_t size;
  int64_t
      context; /* the most tokens of a conversation; 0: the model's context, which is the most */
} tapml_engine_options;
#define TAPML_ENGINE_OPTIONS {sizeof(tapml_engine_options), 0}

/* Loads a package on the session, which must outlive the engine. `options` may be null.
 * TAPML_BAD_INPUT: no package, a file of it that is missing, altered or of another version, one
 * that was compiled for another platform, a context out of range. TAPML_PLATFORM: not enough
 * memory, or a processor that lacks a feature. */
TAPML_API tapml_status tapml_engine_load(tapml_session* session, const char* folder,
                                         const tapml_engine_options* options,
                                         tapml_engine** engine);
TAPML_API void tapml_engine_free(tapml_engine* engine);

/* The most tokens of a conversation; 0 for null, here and below. */
TAPML_API int64_t tapml_engine_context(const tapml_engine* engine);
/* Tokens of the conversation so far. */
TAPML_API int64_t tapml_engine_length(const tapml_engine* engine);
/* Tokens of the model's vocabulary are 0 to one less. */
TAPML_API int64_t tapml_engine_vocabulary(const tapml_engine* engine);

/* ---- Generating */

/* How tokens are chosen; docs/interface.md defines it to the bit. */
typedef struct tapml_generate_options {
  size_t size;
  int64_t max_tokens; /* the most tokens of the answer; 0: only the prompt runs */
  double temperature; /* 0 to 1e6; 0: the most likely token, whatever the rest says */
  double top_p;       /* above 0, at most 1, which keeps all */
  int64_t top_k;      /* 0 keeps all */
  uint64_t seed;      /* each call draws from its seed anew */
} tapml_generate_options;
#define TAPML_GENERATE_OPTIONS {sizeof(tapml_generate_options), 128, 0.0, 1.0, 0, 0}

/* A piece of the answer: `bytes` bytes of whole UTF-8 characters, which may include U+0000; no
 * terminating zero. It is valid until the function returns. A result other than 0 ends the answer.
 * It must not throw, nor call functions with this engine but tapml_engine_cancel(). */
typedef int32_t (*tapml_text_function)(void* user, const char* text, size_t bytes);

typedef enum tapml_end_reason {
  TAPML_END_TOKEN,    /* the model's own end; where `tokens` is 0, try another prompt, or a
                         temperature */
  TAPML_END_MAX,      /* max_tokens */
  TAPML_END_CONTEXT,  /* no other token fits: tapml_engine_reset() */
  TAPML_END_CALLBACK, /* the text function */
  TAPML_END_CANCELLED /* tapml_engine_cancel() */
} tapml_end_reason;

typedef struct tapml_generation {
  size_t size;
  tapml_end_reason reason;
  int64_t prompt_tokens;  /* that ran before the first one of the answer */
  int64_t tokens;         /* of the answer, without the end token */
  double prefill_seconds; /* until the first token was known */
  double decode_seconds;  /* of the tokens after it */
} tapml_generation;
#define TAPML_GENERATION {sizeof(tapml_generation), TAPML_END_TOKEN, 0, 0, 0.0, 0.0}

/* Appends the prompt to the conversation and generates the answer; waits. The prompt is `bytes`
 * bytes of UTF-8, null only where there are none; special tokens may be spelled out in it. The
 * first prompt of a conversation gets the tokens that the tokenizer puts around a text, later ones
 * none. The end token does not become a part of the conversation: write it into the next prompt
 * where the model's format wants it. An empty prompt goes on with an answer that was ended early.
 * `options`, `on_text` and `generation` may be null. A call while another one runs is refused.
 *
 * TAPML_BAD_INPUT: no UTF-8, an empty prompt with nothing to go on with, one that leaves no room
 * for an answer, an option out of range; the conversation stays as it was. Logits that no token can
 * be taken from (the message names the kernel where they began) and TAPML_PLATFORM: the
 * conversation is forgotten, tapml_engine_length() is 0. Where tapml_engine_cancel() comes before
 * the first token, the conversation is as it was before the call. */
TAPML_API tapml_status tapml_engine_generate(tapml_engine* engine, const char* prompt, size_t bytes,
                                             const tapml_generate_options* options,
                                             tapml_text_function on_text, void* user,
                                             tapml_generation* generation);
/* The tokens of the last answer, `*count` of them (`count` may be null), valid until the engine
 * generates again. */
TAPML_API const int32_t* tapml_engine_answer(const tapml_engine* engine, int64_t* count);

/* Forgets the conversation. */
TAPML_API void tapml_engine_reset(tapml_engine* engine);
/* From any thread, a signal handler included: ends the tapml_engine_generate() that runs, between
 * two kernels. Does nothing where none runs. */
TAPML_API void tapml_engine_cancel(tapml_engine* engine);

/* ---- Tokens of the engine's tokenizer. Both write as many items as fit into `capacity` and say in
 * `*count` how many there are; with a capacity of 0 the array may be null. */

/* `special`: with the tokens that the tokenizer puts around a text. TAPML_BAD_INPUT for what is no
 * UTF-8, with the offset. */
TAPML_API tapml_status tapml_engine_tokenize(const tapml_engine* engine, const char* text,
                                             size_t bytes, int32_t special, int32_t* tokens,
                                             int64_t capacity, int64_t* count);
/* Valid UTF-8, without a terminating zero: U+FFFD stands for bytes that are none. Special tokens
 * and ids that are no tokens add nothing. */
TAPML_API tapml_status tapml_engine_detokenize(const tapml_engine* engine, const int32_t* tokens,
                                               int64_t token_count, char* text, int64_t capacity,
                                               int64_t* count);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_ENGINE_H_ */
