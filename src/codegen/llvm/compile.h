// Compiles one LLVM module to one object. Private to codegen/llvm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "target/target.h"

namespace tapml::codegen {

// Compiles functions to objects, one call at a time; each thread has its own. Construction takes
// about a millisecond.
class ObjectCompiler {
 public:
  // PlatformError (kAbsent) if LLVM has no back end for the description's processor.
  explicit ObjectCompiler(const target::Description& description);
  ~ObjectCompiler();
  std::vector<std::byte> object(const std::string& name, const std::vector<DeviceFunc>& functions);
  // The same code as assembly.
  std::string assembly(const std::string& name, const std::vector<DeviceFunc>& functions);
  std::string ir(const std::vector<DeviceFunc>& functions);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::codegen
