/* Routines of a shared library as implementations of tapml's kernels: what `--library F.so` loads.
 *
 * The library exports one function, tapml_library_entry(), that returns a table of routines. A
 * routine reads the tensors of a call and writes its outputs, whose memory the caller has. Tensors
 * are DLPack's: in host memory, compact and row-major (`strides` is null), `byte_offset` 0; an
 * output never overlaps an input. Include dlpack.h before this header to use its own types.
 *
 * A routine may be called from several threads, each with its own call. It returns 0, or another
 * value and a message in `message`. It must not throw and must not keep pointers of the call.
 *
 * Its signature says what it takes and makes. Every call is held against it before the routine
 * runs, where possible when the program is compiled:
 *
 *   "x: f32[*s, k], w: T[k, n], bias: T[n]? -> y: T[*s, n]; scale; T: f32 | f64"
 *
 * Inputs and outputs have a name, dtypes joined by '|' (or `any`, or a type that the last part
 * defines: one dtype wherever it stands) and dimensions:
 *
 *   3                a number
 *   n                one value wherever it stands
 *   _                any value
 *   *s, *s:3         any number of dimensions, or at most three; the same wherever *s stands
 *   ~s               dimensions that broadcast to *s: the first may be missing, each may be 1
 *   swap(p, m, k)    m, k; or k, m where the parameter p is not 0
 *
 * `?` marks inputs that a call may leave out, the last ones. The second part names the parameters;
 * `...` at its end stands for any number more. Both parts may be left out. */
#ifndef TAPML_LIBRARY_H_
#define TAPML_LIBRARY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Libraries of another version are refused. */
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
  uint8_t code; /* of DLDataTypeCode */
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
  const DLTensor* outputs; /* `data` of these is written */
  int32_t input_count;
  int32_t output_count;
  const int64_t* parameters; /* integers that the call or the pattern gives */
  int32_t parameter_count;
  int32_t threads; /* that the routine may use */
  void* state;     /* what open() made */
  char* message;   /* room for a text of message_size bytes, with the 0 at its end */
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
  /* Called once for each device that loads the library; null where the routines need no state. A
   * null result is a failure, with a text in `message`. */
  void* (*open)(int32_t threads, char* message, size_t message_size);
  void (*close)(void* state); /* null where open is */
} tapml_library;

#define TAPML_LIBRARY_EXPORT __attribute__((visibility("default")))

/* The library defines this. The table must live as long as the library is loaded. */
TAPML_LIBRARY_EXPORT const tapml_library* tapml_library_entry(void);

#ifdef __cplusplus
}
#endif

#endif /* TAPML_LIBRARY_H_ */
