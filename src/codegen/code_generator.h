// How the code of a platform is made: an implementation for each kind of code, whose order of work
// is this page's. docs/add-a-platform.md says how to write one.
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

// The code of one kernel before it is linked: an object, a part of a module, text.
struct KernelCode {
  std::string name;
  std::vector<std::string> entries;  // of its launches, in their order
  std::vector<std::byte> bytes;
};

// Compiles the kernels of one executable.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // Takes the launches of a kernel; may compile them at once, on threads of its own.
  virtual void add(std::string kernel, std::vector<DeviceFunc> launches) = 0;
  // Waits for all, and returns their code in the order of add(). Throws what the first kernel that
  // failed threw. `watcher` is reported, from any thread, how many are done.
  virtual std::vector<KernelCode> finish(const WorkWatcher& watcher) = 0;
};

// Which kernels' code is kept between compilations.
enum class Kept : uint8_t {
  kNone,
  kOwnModules,  // where each kernel is a module of its own
  kAll,
};

class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;

  // ---- lower

  // Whether the language indexes with 32 bits alone. Else the target's `index_bits` are a wish, and
  // what does not fit keeps 64.
  virtual bool needs_narrow_index() const { return false; }

  // ---- compile

  // `threads` counts the caller; 0: one a core. The code does not depend on it. What the compiler
  // throws for a launch that the platform cannot run is a PlatformError (kLimit).
  virtual std::unique_ptr<KernelCompiler> compiler(const target::Target& target,
                                                   int threads) const = 0;
  // A module that the target's device loads, with the entries of all kernels. The same code gives
  // the same bytes.
  virtual ModuleBlob link(const std::vector<KernelCode>& kernels,
                          const target::Target& target) const = 0;
  // Whether the device's driver builds modules, so that a module for each kernel lets it build
  // those alone that it has not seen (ImplementOptions::module_per_kernel).
  virtual bool driver_builds_modules() const { return false; }
  // `module`, of link() or of a custom kernel, in the form that files hold.
  virtual ModuleBlob portable(const ModuleBlob& module) const { return module; }

  // ---- cache

  virtual Kept kept() const { return Kept::kAll; }
  // What code depends on beside the launches, the target's options and this program's build: what
  // compiles it here, and for which processor. Executables record it. Empty: nothing.
  virtual std::string identity(const target::Description& description) const {
    static_cast<void>(description);
    return {};
  }

  // ---- for readers

  // The language that people read and write for the platform, in short: "opencl-c", "glsl", "c".
  virtual std::string language() const { return {}; }
  // The code of a kernel's launches in it, as it is compiled; empty: it is not made as text.
  virtual std::string source_text(const std::vector<DeviceFunc>& launches,
                                  const target::Target& target) const {
    static_cast<void>(launches);
    static_cast<void>(target);
    return {};
  }
  // As text for the processor's assembler; empty: there is none.
  virtual std::string disassembly(const std::vector<DeviceFunc>& launches,
                                  const target::Target& target) const {
    static_cast<void>(launches);
    static_cast<void>(target);
    return {};
  }

  // ---- custom kernels

  // Null: the platform takes none.
  virtual const CustomKernels* custom_kernels() const { return nullptr; }
};

std::vector<std::string> entries_of(const std::vector<DeviceFunc>& launches);

// A compiler without threads: `compile` makes the code of one kernel after another, at the end.
std::unique_ptr<KernelCompiler> serial_compiler(
    std::function<std::vector<std::byte>(const std::vector<DeviceFunc>& launches)> compile);

std::vector<std::byte> bytes_of(const std::string& text);

// A module with the entries of all kernels and no bytes yet.
ModuleBlob empty_module(const std::vector<KernelCode>& kernels, const target::Target& target,
                        const std::string& format);

}  // namespace tapml::codegen
