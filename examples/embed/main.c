/* Runs a compiled program from C:
 *
 *   tapml compile affine.txt --target cpu -o affine.tapml
 *   embed affine.tapml
 */
#include <stdio.h>
#include <tapml/tapml.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tapml_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: embed affine.tapml\n");
    return 2;
  }
  tapml_session* session = NULL;
  if (tapml_session_open("cpu", 0, &session) != TAPML_OK) return fail("open");
  tapml_program* program = NULL;
  if (tapml_program_load(session, argv[1], &program) != TAPML_OK) return fail("load");

  /* Two rows of three; the number of rows is free. */
  const int64_t x_shape[] = {2, 3}, w_shape[] = {3, 2}, b_shape[] = {2};
  const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, 0, 1, 1, 1}, b[] = {10, 20};
  const tapml_tensor arguments[] = {
      {TAPML_F32, 2, x_shape, x}, {TAPML_F32, 2, w_shape, w}, {TAPML_F32, 1, b_shape, b}};
  tapml_result* result = NULL;
  if (tapml_program_call(program, "main", arguments, 3, &result) != TAPML_OK) return fail("call");

  const tapml_tensor* y = tapml_result_tensor(result, 0);
  const float* values = y->data;
  for (int64_t row = 0; row < y->shape[0]; ++row) {
    for (int64_t column = 0; column < y->shape[1]; ++column) {
      printf("%g ", values[row * y->shape[1] + column]);
    }
    printf("\n");
  }
  tapml_result_free(result);
  tapml_program_free(program);
  tapml_session_close(session);
  return 0;
}
