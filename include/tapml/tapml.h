/* Runs compiled programs inside an application: load an executable from `tapml compile -o`, call
 * its functions, read their results. Plain C; no compiler is linked in. <tapml/engine.h> generates
 * text with a language model.
 *
 * Functions that can fail return 0 for success; otherwise tapml_last_error() of the calling thread
 * has a message. Each type has its own function to free objects, which ignores null. A session may
 * be used from several threads; a program from one at a time, but a file may be loaded many times.
 *
 * Executables contain machine code: load only files that you trust like a shared library. */
#ifndef TAPML_TAPML_H_
#define TAPML_TAPML_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAPML_API __attribute__((visibility("default")))

typedef struct tapml_session tapml_session; /* an open device */
typedef struct tapml_program tapml_program; /* a loaded executable on a session */
typedef struct tapml_result tapml_result;   /* the result of a call with tensors */
typedef struct tapml_value tapml_value;     /* any argument or result of a function */

typedef enum tapml_status {
  TAPML_OK = 0,
  TAPML_BAD_INPUT = 2, /* of the caller: files, names, shapes, dtypes */
  TAPML_DEFECT = 3,    /* a bug in this library */
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

/* Sets that message; application functions call it before they return a failure. */
TAPML_API void tapml_set_error(const char* message);

/* Opens the device of `platform`: "cpu", "opencl", "vulkan". `threads` limits the processor
 * threads, 0: all. */
TAPML_API tapml_status tapml_session_open(const char* platform, int32_t threads,
                                          tapml_session** session);
/* Free programs, results and values of the session first. */
TAPML_API void tapml_session_close(tapml_session* session);

/* Reads, checks and loads an executable file. */
TAPML_API tapml_status tapml_program_load(tapml_session* session, const char* path,
                                          tapml_program** program);
TAPML_API void tapml_program_free(tapml_program* program);
/* Name of function `index`, or null if the index is too large. */
TAPML_API const char* tapml_program_function(const tapml_program* program, int32_t index);

/* Calls a function with tensors, which it copies, and waits. Rejects wrong counts, dtypes and
 * shapes with a message that names the parameter. The result flattens nested tuples. */
TAPML_API tapml_status tapml_program_call(tapml_program* program, const char* function,
                                          const tapml_tensor* arguments, int32_t count,
                                          tapml_result** result);
TAPML_API int32_t tapml_result_count(const tapml_result* result);
/* Tensor `index` (0 <= index < count), valid until the result is freed; null for others. */
TAPML_API const tapml_tensor* tapml_result_tensor(const tapml_result* result, int32_t index);
TAPML_API void tapml_result_free(tapml_result* result);

/* ---- Values beyond tensors: shapes, host scalars, tuples, functions.
 *
 * The caller frees each value that it creates or receives, and may free the parts of a value first.
 * Use a value from one thread at a time. */

typedef enum tapml_kind {
  TAPML_NOTHING, /* null, or a value that is opaque to applications */
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
/* An integer or a bool (0 or 1). */
TAPML_API tapml_status tapml_value_scalar(tapml_dtype dtype, int64_t number, tapml_value** value);
TAPML_API tapml_status tapml_value_tuple(const tapml_value* const* fields, int32_t count,
                                         tapml_value** value);
TAPML_API void tapml_value_free(tapml_value* value);

TAPML_API tapml_kind tapml_value_kind(const tapml_value* value);
/* Waits, and copies the tensor to host memory on the first call; valid as long as the value. */
TAPML_API tapml_status tapml_value_read_tensor(tapml_value* value, const tapml_tensor** tensor);
/* Dimensions of a shape, fields of a tuple; 0 for others. */
TAPML_API int32_t tapml_value_size(const tapml_value* value);
/* tapml_value_size() dimensions, valid as long as the value; null if it is not a shape. */
TAPML_API const int64_t* tapml_value_dims(const tapml_value* value);
/* `dtype` may be null. */
TAPML_API tapml_status tapml_value_read_scalar(const tapml_value* value, tapml_dtype* dtype,
                                               int64_t* number);
/* A field of a tuple, which owns it: do not free it. Null for an invalid index. */
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

/* A function of the application. Arguments are valid until it returns; `*result` is a new value,
 * which the library frees. If it returns a failure, the message is from tapml_set_error(). It must
 * not throw, nor call the program that calls it. */
typedef tapml_status (*tapml_host_function)(void* user, tapml_session* session,
                                            tapml_value* const* arguments, int32_t count,
                                            tapml_value** result);
/* Registers the target of `extern "name"(...)` for programs loaded on the session later. */
TAPML_API tapml_status tapml_session_register(tapml_session* session, const char* name,
                                              tapml_host_function function, void* user);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_TAPML_H_ */
