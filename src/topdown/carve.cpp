#include "topdown/carve.h"

#include "ir/exceptions.h"

namespace tapml::topdown {

Carver::Carver(const Executable& executable, int64_t calls_per_kernel)
    : calls_per_kernel_(calls_per_kernel) {
  suite_.source = executable.target;
  suite_.boundary_policy = executable.boundary_policy;
  suite_.model = executable.model.architecture;
}

bool Carver::wants(const runtime::CallSite&, int64_t) noexcept { return true; }

Result<std::string> Carver::keep(const runtime::Tensor& tensor) {
  auto key = std::tuple(tensor.storage->id(), tensor.storage->version(), tensor.offset,
                        std::string(dtype_name(tensor.dtype)) + shape_to_string(tensor.shape));
  if (auto it = known_.find(key); it != known_.end()) return it->second;
  TAPML_ASSIGN(HostTensor host, runtime::download(tensor));
  std::string hash = content_hash(host);
  suite_.tensors.emplace(hash, std::move(host));
  known_[key] = hash;
  return hash;
}

Status Carver::before(const runtime::KernelCall& call) noexcept {
  // A full memory is an error of the run, not the end of the process.
  return guard([&] { unwrap(keep_before(call)); });
}

Status Carver::after(const runtime::KernelCall& call) noexcept {
  return guard([&] { unwrap(keep_after(call)); });
}

Status Carver::keep_before(const runtime::KernelCall& call) {
  const KernelInfo& info = *call.site.kernel;
  int32_t kernel = suite_.find_kernel(info.name);
  if (kernel < 0) {
    SuiteKernel entry{info.name, info.spec, {}, {}};
    for (const ParamInfo& param : info.params) {
      entry.params.push_back(param.name);
      entry.modes.push_back(param.mode);
    }
    suite_.kernels.push_back(std::move(entry));
    kernel = static_cast<int32_t>(suite_.kernels.size() - 1);
  }
  current_ = SuiteCall{};
  current_.kernel = kernel;
  current_.sequence = call.sequence;
  current_.function = call.site.function;
  current_.origin = call.site.origin;
  current_.scalars.assign(call.scalars.begin(), call.scalars.end());
  std::string group = info.name + "|" + call.site.function + "|";
  for (int64_t scalar : call.scalars) group += std::to_string(scalar) + ",";
  skip_ = calls_per_kernel_ > 0 && ++kept_[group] > calls_per_kernel_;
  if (skip_) return {};
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kOut) {
      current_.before.emplace_back();
      continue;
    }
    TAPML_ASSIGN(std::string hash, keep(call.args[i]));
    current_.before.push_back(std::move(hash));
  }
  return {};
}

Status Carver::keep_after(const runtime::KernelCall& call) {
  if (skip_) return {};
  const KernelInfo& info = *call.site.kernel;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kIn) {
      current_.after.emplace_back();
      continue;
    }
    TAPML_ASSIGN(std::string hash, keep(call.args[i]));
    current_.after.push_back(std::move(hash));
  }
  suite_.calls.push_back(std::move(current_));
  return {};
}

}  // namespace tapml::topdown
