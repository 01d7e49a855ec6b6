// Machine code by LLVM for the processor of a target's description: device functions to relocatable
// objects, one a kernel; objects to a module that the JIT loads, or to a shared object that needs
// no LLVM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/work.h"
#include "codegen/code_generator.h"
#include "exec/executable.h"
#include "runtime/kernel_loader.h"
#include "target/target.h"

namespace tapml::codegen {

// A kernel's code is a relocatable ELF object with the C entry (see runtime::CpuKernel) of every
// function. What objects depend on beside the functions that they come from: LLVM's version, the
// processor, its features, the options. Equal identities and functions give equal objects.
std::string native_identity(const target::Description& description);

// Compiles kernels on threads of its own while the caller makes more of them.
class NativeCompiler : public KernelCompiler {
 public:
  // `threads` counts the caller, which works too once it waits; 0: one a core.
  explicit NativeCompiler(const target::Description& description, int threads = 0);
  ~NativeCompiler() override;  // what has not begun is dropped
  NativeCompiler(const NativeCompiler&) = delete;
  NativeCompiler& operator=(const NativeCompiler&) = delete;

  // `kernel` is for messages and the object's name.
  void add(std::string kernel, std::vector<DeviceFunc> launches) override;
  std::vector<KernelCode> finish(const WorkWatcher& watcher = {}) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Objects as one module, format "elf-archive": a static library. The same objects give the same
// bytes.
ModuleBlob archive_native(const std::vector<KernelCode>& objects,
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
