// Machine code through LLVM for the processor of a target's description: compiles device functions
// to relocatable objects, one for each kernel, and objects to a module for the JIT or to a shared
// object that does not need LLVM.
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

// Everything that an object depends on besides its functions: LLVM's version, the processor, its
// features and the options. Equal identities and functions give equal objects. An object is a
// relocatable ELF file with the C entry (see runtime::CpuKernel) of every function.
std::string native_identity(const target::Description& description);

// Compiles kernels on its own threads while the caller produces more.
class NativeCompiler : public KernelCompiler {
 public:
  // `threads` includes the caller, which also compiles while it waits; 0: one a core.
  explicit NativeCompiler(const target::Description& description, int threads = 0);
  ~NativeCompiler() override;  // drops jobs that have not started
  NativeCompiler(const NativeCompiler&) = delete;
  NativeCompiler& operator=(const NativeCompiler&) = delete;

  // `kernel` is used in messages and in the object's name.
  void add(std::string kernel, std::vector<DeviceFunc> launches) override;
  std::vector<KernelCode> finish(const WorkWatcher& watcher = {}) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Packs objects into one module, format "elf-archive": a static library. Deterministic: the same
// objects give the same bytes.
ModuleBlob archive_native(const std::vector<KernelCode>& objects,
                          const target::Description& description);
// Compiles all functions to one object in such a module.
ModuleBlob compile_native(const std::vector<DeviceFunc>& functions,
                          const target::Description& description);
// Assembly of the functions, for inspection.
std::string native_assembly(const std::vector<DeviceFunc>& functions,
                            const target::Description& description);
// Unoptimized LLVM IR of the functions, for inspection.
std::string native_ir(const std::vector<DeviceFunc>& functions,
                      const target::Description& description);

// ModuleBlob::format of a shared WebAssembly module.
inline constexpr const char* kWasmFormat = "wasm";

// Links a module of archive_native() to a shared object (runtime/host/shared_object.h) with lld, in
// this process and for any processor; WebAssembly becomes a shared module. A module that is already
// linked is returned unchanged. Deterministic: the same archive gives the same bytes.
ModuleBlob link_shared(const ModuleBlob& archive);

// Loads both kinds of modules into this process: archives through LLVM's JIT linker, shared objects
// through the system's loader. Rejects code that needs CPU features this machine lacks.
std::shared_ptr<runtime::KernelLoader> make_jit_loader();

}  // namespace tapml::codegen
