/* Values beyond tensors, and a function of the application that the program calls:
 *
 *   tapml compile values.txt --target cpu -o values.tapml
 *   values values.tapml
 */
#include <stdio.h>
#include <tapml/tapml.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tapml_last_error());
  return 1;
}

/* extern "app.next": one more than a scalar. */
static tapml_status next(void* user, tapml_session* session, tapml_value* const* arguments,
                         int32_t count, tapml_value** result) {
  (void)user;
  (void)session;
  if (count != 1) {
    tapml_set_error("app.next takes one argument");
    return TAPML_BAD_INPUT;
  }
  int64_t number = 0;
  tapml_status status = tapml_value_read_scalar(arguments[0], NULL, &number);
  return status == TAPML_OK ? tapml_value_scalar(TAPML_I64, number + 1, result) : status;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: values values.tapml\n");
    return 2;
  }
  tapml_session* session = NULL;
  if (tapml_session_open("cpu", 0, &session) != TAPML_OK) return fail("open");
  if (tapml_session_register(session, "app.next", next, NULL) != TAPML_OK) return fail("register");
  tapml_program* program = NULL;
  if (tapml_program_load(session, argv[1], &program) != TAPML_OK) return fail("load");

  const int64_t dims[] = {3};
  tapml_value *count = NULL, *size = NULL, *result = NULL;
  if (tapml_value_scalar(TAPML_I64, 4, &count) != TAPML_OK) return fail("scalar");
  if (tapml_value_shape(dims, 1, &size) != TAPML_OK) return fail("shape");
  const tapml_value* arguments[] = {count, size};
  if (tapml_program_invoke(program, "main", arguments, 2, &result) != TAPML_OK) return fail("call");

  int64_t number = 0;
  const tapml_tensor* ones = NULL;
  if (tapml_value_read_scalar(tapml_value_field(result, 0), NULL, &number) != TAPML_OK ||
      tapml_value_read_tensor(tapml_value_field(result, 1), &ones) != TAPML_OK) {
    return fail("result");
  }
  printf("%lld:", (long long)number);
  for (int64_t i = 0; i < ones->shape[0]; ++i) printf(" %g", ((const float*)ones->data)[i]);
  printf("\n");
  tapml_value_free(result);
  tapml_value_free(size);
  tapml_value_free(count);
  tapml_program_free(program);
  tapml_session_close(session);
  return 0;
}
