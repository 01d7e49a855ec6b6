// One object from one LLVM module. Private to codegen/llvm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "target/target.h"

namespace tapml::codegen {

// Turns functions into objects, one call at a time; each thread has its own. Making one costs about
// a millisecond.
class ObjectCompiler {
 public:
  // PlatformError (kAbsent) where LLVM has no back end for the description's processor.
  explicit ObjectCompiler(const target::Description& description);
  ~ObjectCompiler();
  std::vector<std::byte> object(const std::string& name, const std::vector<DeviceFunc>& functions);
  // The same code as text for the processor's assembler.
  std::string assembly(const std::string& name, const std::vector<DeviceFunc>& functions);
  std::string ir(const std::vector<DeviceFunc>& functions);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::codegen
