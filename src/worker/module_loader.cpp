#include "worker/module_loader.h"

#include <cstdlib>
#include <utility>

#include "base/rounding.h"
#include "worker/host.h"

namespace tapml::worker {

namespace {

Error host_error(const char* what, int32_t result) {
  std::string text(static_cast<size_t>(-result), '\0');
  host::tapml_host_message(text.data(), static_cast<uint32_t>(text.size()));
  return internal_error(std::string(what) + ": " + text, "kernel module");
}

class Module final : public runtime::HostCode {
 public:
  explicit Module(int32_t number) : number_(number) {}
  ~Module() override {
    host::tapml_host_unload(number_);
    std::free(data_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Status instantiate() noexcept {
    std::byte* data = nullptr;
    const size_t bytes = host::tapml_host_data_bytes(number_);
    if (bytes > 0) {
      const size_t alignment = host::tapml_host_data_alignment(number_);
      data_ = alignment == 0 || bytes > SIZE_MAX - alignment ? nullptr
                                                             : std::calloc(bytes + alignment, 1);
      if (!data_) {
        return fail(platform_error(
            PlatformFault::kOutOfMemory,
            "no memory for the data of a kernel module: " + std::to_string(bytes) + " bytes"));
      }
      const auto address = reinterpret_cast<uintptr_t>(data_);
      data = reinterpret_cast<std::byte*>(round_up(address, uintptr_t{alignment}));
    }
    const int32_t made = host::tapml_host_instantiate(number_, data);
    if (made < 0) return fail(host_error("a kernel module cannot be loaded", made));
    return {};
  }

  Result<runtime::CpuKernel> find(const std::string& entry) noexcept override {
    const uint32_t place =
        host::tapml_host_entry(number_, entry.data(), static_cast<uint32_t>(entry.size()));
    if (place == 0) return fail(internal_error("the module has no entry " + entry));
    // A function pointer is a table index.
    return reinterpret_cast<runtime::CpuKernel>(static_cast<uintptr_t>(place));
  }

 private:
  const int32_t number_;
  void* data_ = nullptr;
};

class Loader final : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob& blob) noexcept override {
    if (blob.format != kModuleFormat) {
      return fail(internal_error("the wasm loader takes WebAssembly modules",
                                 blob.platform + " module of format " + blob.format));
    }
    const int32_t number =
        host::tapml_host_compile(blob.bytes.data(), static_cast<uint32_t>(blob.bytes.size()));
    if (number < 0) return fail(host_error("a kernel module does not compile", number));
    auto module = std::make_shared<Module>(number);
    TAPML_TRY(module->instantiate());
    return std::shared_ptr<runtime::HostCode>(std::move(module));
  }
};

}  // namespace

std::shared_ptr<runtime::KernelLoader> make_module_loader() { return std::make_shared<Loader>(); }

}  // namespace tapml::worker
