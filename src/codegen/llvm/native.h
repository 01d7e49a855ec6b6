// Machine code by LLVM for the processor of a target's description: device functions to relocatable
// objects, one a kernel; objects to a module that the JIT loads, or to a shared object that needs
// no LLVM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/work.h"
#include "codegen/lower/device_func.h"
#include "exec/executable.h"
#include "runtime/kernel_loader.h"
#include "target/target.h"

namespace tapml::codegen {

// A relocatable ELF object with the C entry (see runtime::CpuKernel) of every function of a kernel.
struct NativeObject {
  std::string name;
  std::vector<std::string> entries;
  std::vector<std::byte> bytes;
};

// What objects depend on beside the functions that they come from: LLVM's version, the processor,
// its features, the options. Equal identities and functions give equal objects.
std::string native_identity(const target::Description& description);

// Compiles kernels on threads of its own while the caller makes more of them.
class NativeCompiler {
 public:
  // `threads` counts the caller, which works too once it waits; 0: one a core.
  explicit NativeCompiler(const target::Description& description, int threads = 0);
  ~NativeCompiler();  // what has not begun is dropped
  NativeCompiler(const NativeCompiler&) = delete;
  NativeCompiler& operator=(const NativeCompiler&) = delete;

  // Takes the functions of a kernel. `name` is for messages and the object's own.
  void add(std::string name, std::vector<DeviceFunc> functions);
  // Waits for all, and returns the objects in the order of add(). Throws what the first kernel that
  // failed threw. `watcher` is told, from any thread, how many are done.
  std::vector<NativeObject> finish(const WorkWatcher& watcher = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Objects as one module, format "elf-archive": a static library. The same objects give the same
// bytes.
ModuleBlob archive_native(const std::vector<NativeObject>& objects,
                          const target::Description& description);
// All functions as one object in such a module.
ModuleBlob compile_native(const std::vector<DeviceFunc>& functions,
                          const target::Description& description);
// The code of the functions as text for the processor's assembler, for readers.
std::string native_assembly(const std::vector<DeviceFunc>& functions,
                            const target::Description& description);
// LLVM IR of the functions before optimization, for readers.
std::string native_ir(const std::vector<DeviceFunc>& functions,
                      const target::Description& description);

// ModuleBlob::format of a shared WebAssembly module.
inline constexpr const char* kWasmFormat = "wasm";

// A module of archive_native() linked to a shared object (runtime/host/shared_object.h), by lld
// inside this process, for whatever processor it was made, WebAssembly to a shared module; what is
// linked is left alone. The same
// archive gives the same bytes.
ModuleBlob link_shared(const ModuleBlob& archive);

// Loads both kinds of modules into this process: archives through LLVM's JIT linker, shared objects
// through the system's loader. Refuses code for CPU features that this machine lacks.
std::shared_ptr<runtime::KernelLoader> make_jit_loader();

}  // namespace tapml::codegen
