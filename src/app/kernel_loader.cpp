#include "app/kernel_loader.h"

#include "codegen/llvm/native.h"

namespace tapml::app {

std::shared_ptr<runtime::KernelLoader> make_kernel_loader() { return codegen::make_jit_loader(); }

}  // namespace tapml::app
