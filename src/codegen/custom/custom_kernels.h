// Kernels that users write in a platform's own language (docs/custom-kernels.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "exec/executable.h"
#include "target/target.h"

namespace tapml::codegen {

// One launch of a custom kernel.
struct CustomLaunch {
  std::string entry;
  // Indices into CustomSource::tensors() and the signature's scalars.
  std::vector<int32_t> buffers, scalars;
  PrimExpr extent;  // over the signature's scalars
  int64_t group = 64;
  int line = 0;  // 0: not declared by a line of the source
};

struct CustomSource {
  std::string file;  // as shown in messages
  std::string text;
  int line = 0;  // of the signature
  // Parameters, and those of mode workspace: memory used only during the call. Has no body.
  tir::PrimFuncRef signature;
  std::vector<CustomLaunch> launches;

  // The kernel's parameters, then the workspaces, both in the signature's order.
  std::vector<tir::Param> tensors() const;
  std::string where(int at_line) const { return file + ":" + std::to_string(at_line); }
};

// A language for custom kernels.
class CustomKernels {
 public:
  virtual ~CustomKernels() = default;

  // Whether sources call floating-point functions by name. Otherwise skeletons contain polynomials.
  virtual bool calls_functions() const { return false; }
  // A source to start from: the launches, for people to read and edit.
  virtual std::string skeleton(const std::vector<DeviceFunc>& launches,
                               const target::Target& target) const = 0;
  // Declarations placed before the user's code, so that the language's compiler checks the
  // parameters of every entry against the header; empty for languages whose entries are not
  // functions.
  virtual std::string declarations(const CustomSource& source) const {
    static_cast<void>(source);
    return {};
  }
  // The module entry of launch `number`.
  virtual std::string entry(const CustomSource& source, size_t number) const {
    return source.launches[number].entry;
  }
  // A module without entries, compiled as far as possible locally. Throws a UserError with the
  // compiler's log (refuse_custom_source) if the source is rejected, and a PlatformError if the
  // compiler is not available.
  virtual ModuleBlob compile(const CustomSource& source, const target::Target& target,
                             const std::function<bool()>& cancelled) const = 0;
};

// The language of the target's custom kernels. InternalError if it does not support any.
const CustomKernels& custom_kernels_of(const target::Target& target);

// compile(), with the entries of all launches.
ModuleBlob compile_custom_module(const CustomSource& source, const target::Target& target,
                                 const std::function<bool()>& cancelled);

// Throws the UserError for a source that its compiler rejected, with the first lines of the log,
// and with the declarations if the parameters do not match them.
[[noreturn]] void refuse_custom_source(const CustomSource& source, const target::Target& target,
                                       const std::string& log);

}  // namespace tapml::codegen
