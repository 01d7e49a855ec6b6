/* Running compiled programs inside an application: load an executable that `tapml compile -o` made,
 * call its functions, read what they return. Plain C; no compiler is linked in.
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
typedef struct tapml_result tapml_result;   /* what a call returned */

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

/* Opens the device of `platform`: "cpu", "opencl". `threads` bounds the processor's threads, 0: all. */
TAPML_API tapml_status tapml_session_open(const char* platform, int32_t threads,
                                          tapml_session** session);
/* Programs and results of the session are freed first. */
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

#ifdef __cplusplus
}
#endif

#endif /* TAPML_TAPML_H_ */
