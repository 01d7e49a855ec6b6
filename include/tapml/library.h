/* The interface of shared libraries whose routines implement tapml's kernels (`--library F.so`).
 *
 * The library exports one function, tapml_library_entry(), that returns a table of routines. A
 * routine reads the inputs of a call and writes its outputs, in memory of the caller. Tensors are
 * DLPack tensors in host memory, compact and row-major (`strides` is null), with `byte_offset` 0;
 * an output never overlaps an input. Include dlpack.h before this header to use its types.
 *
 * A routine may be called from several threads, each with its own call. It returns 0 for success;
 * otherwise it stores a text in `message`. It must not throw and must not keep pointers of the
 * call.
 *
 * Its signature describes its arguments. Every call is checked against it before the routine runs,
 * if possible when the program is compiled:
 *
 *   "x: f32[*s, k], w: T[k, n], bias: T[n]? -> y: T[*s, n]; scale; T: f32 | f64"
 *
 * Inputs and outputs have a name, dtypes joined by '|' (or `any`, or a type that the last part
 * defines: the same dtype at each use) and dimensions:
 *
 *   3                a number
 *   n                the same value at each use
 *   _                any value
 *   *s, *s:3         any number of dimensions, or at most three; the same at each use of *s
 *   ~s               dimensions that broadcast to *s: leading ones may be missing, each may be 1
 *   swap(p, m, k)    m, k; or k, m if the parameter p is not 0
 *
 * `?` marks optional inputs, which must be the last ones. The second part names the parameters; a
 * final `...` stands for any number of further ones. The second and the third part are optional. */
#ifndef TAPML_LIBRARY_H_
#define TAPML_LIBRARY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Libraries of another version are rejected. */
#define TAPML_LIBRARY_VERSION 2

#ifndef DLPACK_DLPACK_H_

typedef enum DLDeviceType { kDLCPU = 1 } DLDeviceType;

typedef struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum DLDataTypeCode {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6
} DLDataTypeCode;

typedef struct DLDataType {
  uint8_t code; /* a DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

#endif /* DLPACK_DLPACK_H_ */

typedef struct tapml_library_call {
  const DLTensor* inputs;
  const DLTensor* outputs; /* the routine writes their `data` */
  int32_t input_count;
  int32_t output_count;
  const int64_t* parameters; /* integers from the call or the pattern */
  int32_t parameter_count;
  int32_t threads; /* maximum that the routine may use */
  void* state;     /* result of open() */
  char* message;   /* a buffer of message_size bytes for a zero-terminated text */
  size_t message_size;
} tapml_library_call;

typedef int32_t (*tapml_routine_function)(const tapml_library_call* call);

typedef struct tapml_routine {
  const char* name;
  tapml_routine_function run;
  const char* signature; /* see above */
} tapml_routine;

typedef struct tapml_library {
  uint32_t version; /* TAPML_LIBRARY_VERSION */
  uint32_t routine_count;
  const char* name; /* letters, digits, underscores */
  const tapml_routine* routines;
  /* Called once for each device that loads the library; null if the routines need no state. A null
   * result is a failure, with a text in `message`. */
  void* (*open)(int32_t threads, char* message, size_t message_size);
  void (*close)(void* state); /* null if open is */
} tapml_library;

#define TAPML_LIBRARY_EXPORT __attribute__((visibility("default")))

/* The library defines this. The table must live as long as the library is loaded. */
TAPML_LIBRARY_EXPORT const tapml_library* tapml_library_entry(void);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_LIBRARY_H_ */
