#include "codegen/code_generator.h"

#include <span>

namespace tapml::codegen {

namespace {

class SerialCompiler : public KernelCompiler {
 public:
  explicit SerialCompiler(
      std::function<std::vector<std::byte>(const std::vector<DeviceFunc>&)> compile)
      : compile_(std::move(compile)) {}

  void add(std::string kernel, std::vector<DeviceFunc> launches) override {
    kernels_.emplace_back(std::move(kernel), std::move(launches));
  }
  std::vector<KernelCode> finish(const WorkWatcher&) override {
    std::vector<KernelCode> all;
    for (const auto& [kernel, launches] : kernels_) {
      all.push_back({kernel, entries_of(launches), compile_(launches)});
    }
    kernels_.clear();
    return all;
  }

 private:
  std::function<std::vector<std::byte>(const std::vector<DeviceFunc>&)> compile_;
  std::vector<std::pair<std::string, std::vector<DeviceFunc>>> kernels_;
};

}  // namespace

std::vector<std::string> entries_of(const std::vector<DeviceFunc>& launches) {
  std::vector<std::string> entries;
  for (const DeviceFunc& launch : launches) entries.push_back(launch.entry);
  return entries;
}

std::unique_ptr<KernelCompiler> serial_compiler(
    std::function<std::vector<std::byte>(const std::vector<DeviceFunc>& launches)> compile) {
  return std::make_unique<SerialCompiler>(std::move(compile));
}

std::vector<std::byte> bytes_of(const std::string& text) {
  auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

ModuleBlob empty_module(const std::vector<KernelCode>& kernels, const target::Target& target,
                        const std::string& format) {
  ModuleBlob blob;
  blob.platform = target.description.platform;
  blob.format = format;
  for (const KernelCode& kernel : kernels) {
    blob.entries.insert(blob.entries.end(), kernel.entries.begin(), kernel.entries.end());
  }
  return blob;
}

}  // namespace tapml::codegen
