/* Makes vectors of texts inside an application: load a package of an encoder from
 * `tapml compile MODEL --package DIR`, pass texts, get one vector for each. Plain C, on top of
 * tapml.h; no compiler is linked in.
 *
 *   const char* texts[] = {"A cat sleeps.", "A dog runs."};
 *   tapml_session* session;
 *   tapml_embedder* embedder;
 *   const float* vectors;
 *   int64_t width;
 *   tapml_session_open("cpu", 0, &session);
 *   tapml_embedder_load(session, "encoder", &embedder);
 *   tapml_embedder_embed(embedder, texts, NULL, 2, &vectors, &width);
 *
 * Use an embedder from one thread at a time. Several embedders, of one session or of several, can
 * run in parallel threads; those of one session share its device. */
#ifndef TAPML_EMBEDDER_H_
#define TAPML_EMBEDDER_H_

#include <tapml/tapml.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tapml_embedder tapml_embedder; /* a loaded encoder */

/* Loads a package on the session, which must outlive the embedder. TAPML_BAD_INPUT: not a package
 * of an encoder, a file of it is missing, altered or of another version, or it was compiled for
 * another platform. TAPML_PLATFORM: not enough memory, or the processor lacks a feature. */
TAPML_API tapml_status tapml_embedder_load(tapml_session* session, const char* folder,
                                           tapml_embedder** embedder);
TAPML_API void tapml_embedder_free(tapml_embedder* embedder);

/* Maximum tokens of a text; 0 for null. */
TAPML_API int64_t tapml_embedder_context(const tapml_embedder* embedder);

/* Makes a vector of each of the `count` texts, at least one, and waits for them. Text i is
 * `bytes`[i] bytes of UTF-8; without `bytes`, each text ends with a zero byte. Stores in `*vectors`
 * `count` rows of `*width` numbers each, in the order of the texts, valid until the embedder is
 * called again or freed. They have the length 1, unless the package was compiled with `--normalize
 * no`. Texts of about the same length run together, so that many texts in one call are faster than
 * one call each.
 *
 * TAPML_BAD_INPUT: invalid UTF-8, no text, or a text without tokens or with more than
 * tapml_embedder_context(); the message has its number. */
TAPML_API tapml_status tapml_embedder_embed(tapml_embedder* embedder, const char* const* texts,
                                            const size_t* bytes, int64_t count,
                                            const float** vectors, int64_t* width);

#ifdef __cplusplus
}
#endif

#endif
