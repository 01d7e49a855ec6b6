// Code generation for a platform: one implementation for each kind of code, with its functions in
// the order in which they run. docs/add-a-platform.md explains how to write one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/work.h"
#include "codegen/lower/device_func.h"
#include "exec/executable.h"
#include "target/target.h"

namespace tapml::codegen {

class CustomKernels;  // custom/custom_kernels.h

// The code of one kernel before linking: an object, a part of a module, or text.
struct KernelCode {
  std::string name;
  std::vector<std::string> entries;  // of its launches, in order
  std::vector<std::byte> bytes;
};

// Compiles the kernels of one executable.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // Adds the launches of a kernel. May compile them immediately, on its own threads.
  virtual void add(std::string kernel, std::vector<DeviceFunc> launches) = 0;
  // Waits for all kernels and returns their code in the order of add(). Rethrows the exception of
  // the first kernel that failed. `watcher` receives the number of finished kernels, from any
  // thread.
  virtual std::vector<KernelCode> finish(const WorkWatcher& watcher) = 0;
};

// Which kernels' code is cached between compilations.
enum class Kept : uint8_t {
  kNone,
  kOwnModules,  // if each kernel is a separate module
  kAll,
};

class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;

  // ---- lower

  // Whether the language requires 32-bit indices. Otherwise the target's `index_bits` are a
  // preference, and indices that do not fit use 64 bits.
  virtual bool needs_narrow_index() const { return false; }

  // ---- compile

  // `threads` includes the caller; 0: one a core. The code does not depend on it. The compiler
  // throws a PlatformError (kLimit) for a launch that the platform cannot run.
  virtual std::unique_ptr<KernelCompiler> compiler(const target::Target& target,
                                                   int threads) const = 0;
  // Links a module that the target's device loads, with the entries of all kernels. Deterministic:
  // the same code gives the same bytes.
  virtual ModuleBlob link(const std::vector<KernelCode>& kernels,
                          const target::Target& target) const = 0;
  // Whether the device's driver builds modules, so that with one module for each kernel it builds
  // only those that it has not seen (ImplementOptions::module_per_kernel).
  virtual bool driver_builds_modules() const { return false; }
  // `module`, from link() or a custom kernel, in the form stored in files.
  virtual ModuleBlob portable(const ModuleBlob& module) const { return module; }

  // ---- cache

  virtual Kept kept() const { return Kept::kAll; }
  // What the code depends on besides the launches, the target's options and this build: the local
  // compiler and the processor it targets. Recorded in executables. Empty if there is nothing else.
  virtual std::string identity(const target::Description& description) const {
    static_cast<void>(description);
    return {};
  }

  // ---- inspection

  // Short name of the platform's readable language: "opencl-c", "glsl", "c".
  virtual std::string language() const { return {}; }
  // Source of a kernel's launches in that language, as compiled; empty if there is no text form.
  virtual std::string source_text(const std::vector<DeviceFunc>& launches,
                                  const target::Target& target) const {
    static_cast<void>(launches);
    static_cast<void>(target);
    return {};
  }
  // Assembly of the launches; empty if there is none.
  virtual std::string disassembly(const std::vector<DeviceFunc>& launches,
                                  const target::Target& target) const {
    static_cast<void>(launches);
    static_cast<void>(target);
    return {};
  }

  // ---- custom kernels

  // Null if the platform does not support custom kernels.
  virtual const CustomKernels* custom_kernels() const { return nullptr; }
};

std::vector<std::string> entries_of(const std::vector<DeviceFunc>& launches);

// A compiler without threads: finish() calls `compile` for one kernel after another.
std::unique_ptr<KernelCompiler> serial_compiler(
    std::function<std::vector<std::byte>(const std::vector<DeviceFunc>& launches)> compile);

std::vector<std::byte> bytes_of(const std::string& text);

// A module with the entries of all kernels and no bytes yet.
ModuleBlob empty_module(const std::vector<KernelCode>& kernels, const target::Target& target,
                        const std::string& format);

}  // namespace tapml::codegen
