/* Answers a prompt with a language model from C, piece by piece:
 *
 *   tapml compile models/demo --target cpu --package demo
 *   generate demo "In the beginning"
 *
 * Further lines from standard input continue the same conversation. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tapml/engine.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tapml_last_error());
  return 1;
}

/* Called with each piece of the answer; a result other than 0 ends it. */
static int32_t print_piece(void* user, const char* text, size_t bytes) {
  FILE* out = user;
  return fwrite(text, 1, bytes, out) != bytes || fflush(out) != 0;
}

static const char* reason_text(tapml_end_reason reason) {
  switch (reason) {
    case TAPML_END_TOKEN:
      return "the model ended it";
    case TAPML_END_MAX:
      return "as long as it may be";
    case TAPML_END_CONTEXT:
      return "the context is full";
    default:
      return "stopped";
  }
}

static tapml_status answer(tapml_engine* engine, const char* prompt) {
  tapml_generate_options options = TAPML_GENERATE_OPTIONS;
  options.max_tokens = 24;
  tapml_generation done = TAPML_GENERATION;
  tapml_status status = tapml_engine_generate(engine, prompt, strlen(prompt), &options, print_piece,
                                              stdout, &done);
  if (status != TAPML_OK) return status;
  printf("\n");
  fprintf(stderr, "[%" PRId64 " prompt tokens in %.3f s, %" PRId64 " generated in %.3f s: %s]\n",
          done.prompt_tokens, done.prefill_seconds, done.tokens, done.decode_seconds,
          reason_text(done.reason));
  return TAPML_OK;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: generate FOLDER PROMPT [PLATFORM]\n");
    return 2;
  }
  tapml_session* session = NULL;
  if (tapml_session_open(argc > 3 ? argv[3] : "cpu", 0, &session) != TAPML_OK) return fail("open");
  tapml_engine* engine = NULL;
  if (tapml_engine_load(session, argv[1], NULL, &engine) != TAPML_OK) return fail("load");

  if (answer(engine, argv[2]) != TAPML_OK) return fail("generate");
  char line[1024];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (answer(engine, line) != TAPML_OK) return fail("generate");
  }
  tapml_engine_free(engine);
  tapml_session_close(session);
  return 0;
}
