/* Running compiled programs inside an application: load an executable that `tapml compile -o` made,
 * call its functions, read what they return. Plain C; no compiler is linked in. <tapml/engine.h>
 * generates text with a language model.
 *
 * Functions that can fail return 0, or another value and leave a message in tapml_last_error() of the
 * calling thread. Objects are freed by their own functions; null is ignored there. A session may be
 * used from several threads; a program from one at a time, but one file may be loaded many times.
 *
 * Executables hold machine code: load only files that you trust as you trust a shared library. */
#ifndef TAPML_TAPML_H_
#define TAPML_TAPML_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAPML_API __attribute__((visibility("default")))

typedef struct tapml_session tapml_session; /* a device at hand */
typedef struct tapml_program tapml_program; /* a loaded executable on a session */
typedef struct tapml_result tapml_result;   /* what a call with tensors returned */
typedef struct tapml_value tapml_value;     /* anything that a function takes or returns */

typedef enum tapml_status {
  TAPML_OK = 0,
  TAPML_BAD_INPUT = 2, /* the caller's: files, names, shapes, dtypes */
  TAPML_DEFECT = 3,    /* a fault of this library */
  TAPML_PLATFORM = 4   /* absent, lost, out of memory, a limit */
} tapml_status;

typedef enum tapml_dtype {
  TAPML_BOOL, /* one byte, 0 or 1 */
  TAPML_I8,
  TAPML_I16,
  TAPML_I32,
  TAPML_I64,
  TAPML_U8,
  TAPML_U16,
  TAPML_U32,
  TAPML_U64,
  TAPML_F16,
  TAPML_BF16,
  TAPML_F32,
  TAPML_F64
} tapml_dtype;

/* A compact row-major tensor in host memory. */
typedef struct tapml_tensor {
  tapml_dtype dtype;
  int32_t ndim;
  const int64_t* shape; /* ndim dimensions */
  const void* data;
} tapml_tensor;

/* "0.1.0" */
TAPML_API const char* tapml_version(void);
/* The message of this thread's last failure; never null, valid until its next one. */
TAPML_API const char* tapml_last_error(void);

/* Sets it: what a function of the application does before it returns a failure. */
TAPML_API void tapml_set_error(const char* message);

/* Opens the device of `platform`: "cpu", "opencl", "vulkan". `threads` bounds the processor's threads,
   0: all. */
TAPML_API tapml_status tapml_session_open(const char* platform, int32_t threads,
                                          tapml_session** session);
/* Programs, results and values of the session are freed first. */
TAPML_API void tapml_session_close(tapml_session* session);

/* Reads, checks and loads an executable file. */
TAPML_API tapml_status tapml_program_load(tapml_session* session, const char* path,
                                          tapml_program** program);
TAPML_API void tapml_program_free(tapml_program* program);
/* Names of its functions, or null from the first index that is too large on. */
TAPML_API const char* tapml_program_function(const tapml_program* program, int32_t index);

/* Calls a function with tensors, which are copied in, and waits. Wrong counts, dtypes and shapes are
 * refused with a message that names the parameter. Tensors of nested tuples come out in order. */
TAPML_API tapml_status tapml_program_call(tapml_program* program, const char* function,
                                          const tapml_tensor* arguments, int32_t count,
                                          tapml_result** result);
TAPML_API int32_t tapml_result_count(const tapml_result* result);
/* Tensor `index`, 0 <= index < count; valid until the result is freed. Null for another index. */
TAPML_API const tapml_tensor* tapml_result_tensor(const tapml_result* result, int32_t index);
TAPML_API void tapml_result_free(tapml_result* result);

/* ---- Values beyond tensors: shapes, host scalars, tuples, functions.
 *
 * A value is freed by whom it was made for or returned to; what it was made of may be freed before. It
 * is used from one thread at a time. */

typedef enum tapml_kind {
  TAPML_NOTHING, /* null, or nothing that an application can look at */
  TAPML_TENSOR,
  TAPML_SHAPE,
  TAPML_SCALAR,
  TAPML_TUPLE,
  TAPML_FUNCTION
} tapml_kind;

/* Copies the tensor to the session's device. */
TAPML_API tapml_status tapml_value_tensor(tapml_session* session, const tapml_tensor* tensor,
                                          tapml_value** value);
/* `count` dimensions of 0 or more. */
TAPML_API tapml_status tapml_value_shape(const int64_t* dims, int32_t count, tapml_value** value);
/* An integer, or a truth value (0 or 1). */
TAPML_API tapml_status tapml_value_scalar(tapml_dtype dtype, int64_t number, tapml_value** value);
TAPML_API tapml_status tapml_value_tuple(const tapml_value* const* fields, int32_t count,
                                         tapml_value** value);
TAPML_API void tapml_value_free(tapml_value* value);

TAPML_API tapml_kind tapml_value_kind(const tapml_value* value);
/* Waits, and copies the tensor to host memory at the first time; valid as long as the value. */
TAPML_API tapml_status tapml_value_read_tensor(tapml_value* value, const tapml_tensor** tensor);
/* Dimensions of a shape, fields of a tuple; 0 for others. */
TAPML_API int32_t tapml_value_size(const tapml_value* value);
/* tapml_value_size() dimensions, valid as long as the value; null where it is no shape. */
TAPML_API const int64_t* tapml_value_dims(const tapml_value* value);
/* `dtype` may be null. */
TAPML_API tapml_status tapml_value_read_scalar(const tapml_value* value, tapml_dtype* dtype,
                                               int64_t* number);
/* A field of a tuple, which is the tuple's: valid as long, not freed. Null for another index. */
TAPML_API tapml_value* tapml_value_field(tapml_value* value, int32_t index);

/* Calls a function with any values. It only enqueues: tapml_value_read_tensor() waits. */
TAPML_API tapml_status tapml_program_invoke(tapml_program* program, const char* function,
                                            const tapml_value* const* arguments, int32_t count,
                                            tapml_value** result);
/* Calls a function value that the same program returned. */
TAPML_API tapml_status tapml_program_invoke_value(tapml_program* program,
                                                  const tapml_value* function,
                                                  const tapml_value* const* arguments,
                                                  int32_t count, tapml_value** result);

/* A function of the application. Arguments are valid until it returns; `*result` is a value that it
 * made, which the library frees. Where it returns a failure, its message is what it gave
 * tapml_set_error(). It must not throw, nor call the program that calls it. */
typedef tapml_status (*tapml_host_function)(void* user, tapml_session* session,
                                            tapml_value* const* arguments, int32_t count,
                                            tapml_value** result);
/* What `extern "name"(...)` calls in programs that are loaded on the session from now on. */
TAPML_API tapml_status tapml_session_register(tapml_session* session, const char* name,
                                              tapml_host_function function, void* user);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_TAPML_H_ */
