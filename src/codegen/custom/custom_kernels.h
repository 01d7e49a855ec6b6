// Kernels that users write in a platform's language (docs/custom-kernels.md).
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
  int line = 0;  // 0: no line of the source says it
};

struct CustomSource {
  std::string file;  // as messages name it
  std::string text;
  int line = 0;  // of the signature
  // Parameters, and those of mode workspace: memory of the call alone. Without a body.
  tir::PrimFuncRef signature;
  std::vector<CustomLaunch> launches;

  // The kernel's parameters, then the workspaces, each in the signature's order.
  std::vector<tir::Param> tensors() const;
  std::string where(int at_line) const { return file + ":" + std::to_string(at_line); }
};

// A language that kernels are written in.
class CustomKernels {
 public:
  virtual ~CustomKernels() = default;

  // Whether sources call the functions of floats by name. Else skeletons have polynomials.
  virtual bool calls_functions() const { return false; }
  // A source to begin with: the launches, for people to read and change.
  virtual std::string skeleton(const std::vector<DeviceFunc>& launches,
                               const target::Target& target) const = 0;
  // Declarations in front of the user's code, which make the language's compiler compare the
  // parameters of every entry with the header's; empty for languages whose entries are no
  // functions.
  virtual std::string declarations(const CustomSource& source) const {
    static_cast<void>(source);
    return {};
  }
  // The entry in the module of launch `number`.
  virtual std::string entry(const CustomSource& source, size_t number) const {
    return source.launches[number].entry;
  }
  // A module without its entries, compiled as far as that is done here. UserError with the
  // compiler's log (refuse_custom_source) for a source that it refuses; PlatformError where the
  // compiler is not here.
  virtual ModuleBlob compile(const CustomSource& source, const target::Target& target,
                             const std::function<bool()>& cancelled) const = 0;
};

// The language of the target's custom kernels. InternalError where it takes none.
const CustomKernels& custom_kernels_of(const target::Target& target);

// compile(), with the entries of all launches.
ModuleBlob compile_custom_module(const CustomSource& source, const target::Target& target,
                                 const std::function<bool()>& cancelled);

// Throws the UserError for a source that its compiler refuses: with the first lines of the log, and
// the declarations where parameters differ from them.
[[noreturn]] void refuse_custom_source(const CustomSource& source, const target::Target& target,
                                       const std::string& log);

}  // namespace tapml::codegen
