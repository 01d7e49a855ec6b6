#include "app/kernel_loader.h"

#include "runtime/host/shared_object.h"

namespace tapml::app {

std::shared_ptr<runtime::KernelLoader> make_kernel_loader() {
  return runtime::make_shared_object_loader();
}

}  // namespace tapml::app
