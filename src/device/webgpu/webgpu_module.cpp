#include "device/webgpu/webgpu_module.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

constexpr std::string_view kAccess = "// access:";
constexpr uint32_t kFirstSizedBuffer = 1000;
// A size is part of the pipeline: a long generation may see thousands.
constexpr size_t kMostPipelines = 32;

class WebGpuModule final : public DeviceModule {
 public:
  WebGpuModule(std::shared_ptr<WebGpuContext> context, std::map<std::string, std::string> texts)
      : context_(std::move(context)), texts_(std::move(texts)) {}

  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    const auto made = kernels_.find(entry);
    if (made != kernels_.end()) return made->second;
    const auto text = texts_.find(entry);
    if (text == texts_.end()) {
      return fail(internal_error("the module has no entry " + entry, "webgpu"));
    }
    TAPML_ASSIGN(auto kernel, WebGpuKernel::create(context_, entry, std::move(text->second)));
    texts_.erase(text);
    return kernels_.emplace(entry, std::move(kernel)).first->second;
  }

 private:
  const std::shared_ptr<WebGpuContext> context_;
  std::map<std::string, std::string> texts_;  // of kernels that were not asked for
  std::map<std::string, std::shared_ptr<WebGpuKernel>> kernels_;
};

}  // namespace

Result<std::shared_ptr<WebGpuKernel>> WebGpuKernel::create(std::shared_ptr<WebGpuContext> context,
                                                           std::string entry, std::string wgsl) {
  std::shared_ptr<WebGpuKernel> kernel(
      new WebGpuKernel(std::move(context), std::move(entry), std::move(wgsl)));
  TAPML_TRY(kernel->read_access());
  const int64_t most = kernel->context_->info().limits.max_bindings;
  if (std::cmp_greater(kernel->access_.size(), most)) {
    return fail(platform_error(PlatformFault::kLimit,
                               "kernel " + kernel->entry_ + " needs " +
                                   std::to_string(kernel->access_.size()) +
                                   " buffers; this adapter allows " + std::to_string(most),
                               "webgpu"));
  }
  return kernel;
}

WebGpuKernel::~WebGpuKernel() {
  if (pipelines_.empty()) return;
  std::ignore = context_->flush();
  for (const auto& [of, pipeline] : pipelines_) context_->gpu().destroy_pipeline(pipeline);
}

Status WebGpuKernel::read_access() {
  std::string_view line(wgsl_);
  line = line.substr(0, line.find('\n'));
  auto refuse = [&] {
    return fail(internal_error(
        "a kernel in WGSL must begin with \"// access:\" and in, out or inout for each buffer",
        "kernel " + entry_));
  };
  if (!line.starts_with(kAccess)) return refuse();
  line.remove_prefix(kAccess.size());
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \r"), line.size()));
    if (line.empty()) return {};
    const std::string_view word = line.substr(0, line.find_first_of(" \r"));
    line.remove_prefix(word.size());
    if (word == "in") {
      access_.push_back(Access::kIn);
    } else if (word == "out") {
      access_.push_back(Access::kOut);
    } else if (word == "inout") {
      access_.push_back(Access::kInOut);
    } else {
      return refuse();
    }
  }
}

Result<uint32_t> WebGpuKernel::pipeline(int64_t threads, std::span<const SharedSize> shared) {
  std::vector<GpuConstant> constants;
  if (wgsl_.find("@id(0)") != std::string::npos) {
    constants.push_back({0, static_cast<uint32_t>(threads)});
  }
  for (uint32_t i = 0; i < shared.size(); ++i) {
    if (!std::in_range<int32_t>(shared[i].elements)) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + entry_ + " needs a shared buffer of " +
                                     std::to_string(shared[i].elements) + " elements",
                                 "webgpu"));
    }
    constants.push_back({kFirstSizedBuffer + i, static_cast<uint32_t>(shared[i].elements)});
  }
  Constants values;
  for (const GpuConstant& constant : constants) values.push_back(constant.value);
  for (auto at = pipelines_.begin(); at != pipelines_.end(); ++at) {
    if (at->first != values) continue;
    std::rotate(pipelines_.begin(), at, at + 1);
    return pipelines_.front().second;
  }
  auto made = context_->gpu().create_pipeline(entry_, wgsl_, static_cast<uint32_t>(access_.size()),
                                              constants);
  if (!made) {
    Error error = std::move(made).error();
    if (error.fault == PlatformFault::kCompile) {
      error.message = "the browser refuses a kernel in WGSL: " + error.message;
      error.where = "kernel " + entry_;
    }
    return fail(std::move(error));
  }
  if (pipelines_.size() >= kMostPipelines) {
    TAPML_TRY(context_->flush());
    context_->gpu().destroy_pipeline(pipelines_.back().second);
    pipelines_.pop_back();
  }
  pipelines_.insert(pipelines_.begin(), {std::move(values), *made});
  return *made;
}

Result<std::shared_ptr<DeviceModule>> load_webgpu_module(std::shared_ptr<WebGpuContext> context,
                                                         const ModuleBlob& blob) {
  if (blob.platform != "webgpu" || blob.format != "wgsl") {
    return fail(internal_error("the webgpu device takes modules of format wgsl",
                               blob.platform + " module of format " + blob.format));
  }
  std::map<std::string, std::string> texts;
  std::span<const std::byte> rest(blob.bytes);
  for (const std::string& entry : blob.entries) {
    uint32_t size = 0;
    if (rest.size() >= sizeof size) std::memcpy(&size, rest.data(), sizeof size);
    if (rest.size() < sizeof size || rest.size() - sizeof size < size) {
      return fail(internal_error("the module ends within the text of entry " + entry, "webgpu"));
    }
    const std::span<const std::byte> text = rest.subspan(sizeof size, size);
    rest = rest.subspan(sizeof size + size);
    if (!texts.emplace(entry, std::string(reinterpret_cast<const char*>(text.data()), size))
             .second) {
      return fail(internal_error("the module has two entries " + entry, "webgpu"));
    }
  }
  return std::make_shared<WebGpuModule>(std::move(context), std::move(texts));
}

}  // namespace tapml::device
