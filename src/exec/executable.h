// A compiled Module: every field is plain data, so it can be sent, stored and read anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "abi/access.h"
#include "abi/attributes.h"
#include "abi/expected_text.h"
#include "abi/launch.h"
#include "abi/model_interface.h"
#include "abi/origin.h"
#include "abi/scalar_program.h"
#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml {

// A tensor parameter of a kernel; dims are computed from the kernel's scalars.
struct ParamInfo {
  std::string name;
  DType dtype = DType::kF32;
  AccessMode mode = AccessMode::kIn;
  std::vector<ScalarProgram> dims;
};

// An entry of the signature table: the kernel, independent of its implementation by a target. ABI:
// tensors in order of `params`, scalars (i64) in order of `scalars`.
struct KernelInfo {
  std::string name;  // <ops>_<8 hex>
  std::vector<ParamInfo> params;
  std::vector<std::string> scalars;
  std::string spec;  // text of a Module that holds the spec (and hand-written loops, if any)
};

// A part of one kernel parameter, bound separately if the whole tensor exceeds the platform's
// binding limit: `bytes` from `offset` on, whole rows of its outermost dimension.
struct Segment {
  int32_t param = 0;
  int64_t offset = 0, bytes = 0;
};

// How the executable's target runs kernel `kernel`.
struct Implementation {
  int32_t kernel = 0;  // index into Executable::kernels
  int32_t module = 0;  // index into Executable::modules
  // Scratch tensors; `launches` number them after the kernel's parameters. Mode kWorkspace: for one
  // call only; kPrepared: results of the preparing launches, of constant shape.
  std::vector<ParamInfo> workspaces;
  // Parts of parameters that are never bound whole; numbered after the workspaces.
  std::vector<Segment> segments;
  std::vector<LaunchInfo> launches;  // run in order
  std::string provider;              // "schedule:<rule>", "unproved:<access>" (written loops),
                                     // later "library:<name>", "user:<file>"
  // Digest of the preparing launches, 16 hexadecimal digits: implementations with the same digest
  // make the same prepared scratch from the same tensors. Empty if there are none.
  std::string preparation;
};

// Alignment of each scratch tensor in a storage that holds all of one kind: the strictest that a
// platform requires.
inline constexpr int64_t kScratchAlignment = 256;

// Whether the implementation has prepared scratch.
bool has_prepared(const Implementation& implementation);
// Parameters that the preparing launches read, ascending: the tensors packed at load.
std::vector<int32_t> prepared_sources(const Implementation& implementation,
                                      const KernelInfo& kernel);
// Bytes of one storage for all prepared scratch, each at a multiple of kScratchAlignment.
// Dimensions must be constants (validate()).
Result<int64_t> prepared_bytes(const Implementation& implementation);

// Code in the format that a platform loads.
struct ModuleBlob {
  std::string platform;  // "cpu", "opencl", "null"
  std::string format;    // "elf-archive", "elf-shared", "opencl-c", "spirv"
  std::vector<std::byte> bytes;
  std::vector<std::string> entries;
  std::string cpu;       // cpu: the processor architecture, "x86-64"
  std::string features;  // cpu: required processor features, "+avx2,+fma"
};

enum class Opcode : uint8_t {
  kCheck,          // check register `a` against checks[b]; stores symbolic dimensions in slots
  kComputeSlot,    // slot `a` = programs[b]; where c > 0 at most programs[c - 1], else an error
  kAllocStorage,   // register `a` = storage of programs[b] bytes
  kStaticStorage,  // register `a` = static_storages[b]
  kMakeTensor,    // register `a` = tensor of layouts[c] in the storage of register b, at its offset
  kMakeShape,     // register `a` = shape of programs[list...]
  kMakeTuple,     // register `a` = tuple of registers list...
  kGetItem,       // register `a` = field c of the tuple in register b
  kView,          // register `a` = the tensor of register b with the dims of layouts[c]
  kLoadConstant,  // register `a` = constants[b]
  kMove,          // register `a` = register b
  kCallKernel,  // call site a; tensors: registers list..., scalars: programs[list2...]; workspaces
                // in the storage, or from the tensor on, of register c - 1 where c > 0; prepared
                // scratch: the tensor of register b - 1 where b > 0
  kCallFunction,  // register `a` = functions[b](registers list...)
  kRelease,       // clears register `a`
  kJump,          // to instruction b
  kBranchIfNot,   // register a (bool) false: to instruction b
  kMakePrim,      // register `a` = host scalar of dtype c with the value of programs[b]
  kMakeClosure,   // register `a` = functions[b] with its first parameters (registers list...)
  kCallValue,  // register `a` = the function value in register b (registers list...); the result of
               // a tail call must pass checks[list2...]
  kCallPacked,  // register `a` = packed[b](registers list...)
  kReadShape,   // register `a` = shape of the elements of the integer tensor in register b; waits
  kPrepare,     // prepared scratch of kernel b into the tensor of register a, from the tensors of
                // registers list... (prepared_sources)
  kStorage,  // register `a` = StorageAction c on the tensor or view in register b, with registers
             // list...; axes list2... (kTranspose)
  kReturn,   // register a
};

// Views of tensors, and the placement of tensors (relax/storage.h).
enum class StorageAction : uint8_t {
  kReshape,      // the same elements under the shape in register list[0]
  kSlice,        // the part from the shape in register list[0] on, of the shape in list[1]
  kTranspose,    // axis i of the view is axis list2[i]
  kBase,         // the base tensor of the view, as a vector
  kLayout,       // shape of the first element of the base and the strides
  kIsTensor,     // a bool: whether it is a tensor, not a view
  kCheckAssign,  // an empty tuple; an error if register list[0] differs in shape or dtype
};

// c of kCallFunction and kCallValue: the callee replaces this function, whose result it returns, so
// recursive loops run in constant stack.
inline constexpr int32_t kTailCall = 1;

struct Instruction {
  Opcode op = Opcode::kReturn;
  int32_t a = 0, b = 0, c = 0;
  std::vector<int32_t> list, list2;
};

// A check of a value at a function boundary or a match_cast. A dimension either defines its slot
// (first occurrence) or must equal a program over slots.
struct DimCheck {
  int32_t define_slot = -1;
  ScalarProgram equals;    // when define_slot < 0
  std::string expression;  // as written, for messages: "n + 1"
  int64_t most = -1;       // the maximum, if define_slot >= 0 and there is a bound
};

struct ValueCheck {
  enum class Kind : uint8_t {
    kAny,
    kTensor,
    kShape,
    kTuple,
    kPrim,      // dims: its value, if known
    kCallable,  // ndim: the number of its parameters
  } kind = Kind::kAny;
  bool has_dtype = false;
  DType dtype = DType::kF32;
  int32_t ndim = -1;
  bool has_dims = false;
  std::vector<DimCheck> dims;
  std::vector<ValueCheck> fields;
  std::string where;  // "parameter x of main", "match_cast y of main", "result of main"
};

struct TensorLayout {
  DType dtype = DType::kF32;
  std::vector<int32_t> dims;  // indices of programs
  int32_t offset = -1;        // program index: bytes from the start of the storage; -1: none
};

struct CallSiteInfo {
  int32_t kernel = 0;
  std::string function;  // the function that contains the call
  Origin origin;
};

// The binding that the instructions from `instruction` on belong to; for messages and backtraces.
struct BindingNote {
  int32_t instruction = 0;
  std::string binding;  // its source name; empty: the function's result
  Origin origin;
  std::string function = {};  // where it was written; empty: the enclosing function
};

struct VmFunction {
  std::string name;
  std::vector<std::string> params;
  int32_t registers = 0;  // parameters come first
  int32_t slots = 0;      // in its frame of the shape heap
  std::vector<Instruction> code;
  std::vector<ValueCheck> checks;
  std::vector<ScalarProgram> programs;
  std::vector<TensorLayout> layouts;
  std::vector<BindingNote> notes;  // by instruction, ascending
  // By slot: where it gets its value; for messages. Slots beyond the end have no name.
  std::vector<SymbolSource> sources;
};

// The check of parameter `parameter`; null if there is none.
const ValueCheck* check_of_parameter(const VmFunction& function, size_t parameter);

struct Executable {
  std::string target;         // as the user wrote it: "cpu:threads=2"
  std::string fusion_policy;  // executables with different policies cannot migrate into each other
  std::vector<KernelInfo> kernels;
  std::vector<Implementation> implementations;  // at most one per kernel
  std::vector<ModuleBlob> modules;
  std::vector<CallSiteInfo> call_sites;
  std::vector<VmFunction> functions;
  std::vector<std::string> packed;  // names of the host functions that it calls
  std::vector<HostTensor> constants;
  // Bytes of storages that are allocated at load and reused by every function.
  std::vector<int64_t> static_storages;
  ModelInterface model;

  const VmFunction* find_function(std::string_view name) const;
  int32_t find_kernel(std::string_view name) const;                 // -1: none
  const Implementation* find_implementation(int32_t kernel) const;  // null: none
};

}  // namespace tapml
