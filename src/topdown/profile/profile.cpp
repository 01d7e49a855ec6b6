#include "topdown/profile/profile.h"

#include <algorithm>

#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

std::string shapes_of(const runtime::Arguments& tensors) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const runtime::Tensor& tensor = tensors[i];
    text += (text.empty() ? "" : " ") + std::string(dtype_name(tensor.dtype)) +
            shape_to_string(tensor.shape);
  }
  return text;
}

}  // namespace

double KernelProfile::share(const Ceilings& ceilings) const {
  return seconds > 0 ? work.least_seconds(ceilings) / seconds : 0;
}

Profiler::Profiler(const Executable& executable) {
  for (const KernelInfo& info : executable.kernels) {
    index_[&info] = static_cast<int32_t>(work_.size());
    KernelProfile profile;
    profile.name = info.name;
    work_.emplace_back(info);
    profiles_.push_back(std::move(profile));
  }
}

Status Profiler::before(const runtime::KernelCall&) noexcept {
  start_ = runtime::trace_now();
  return {};
}

Status Profiler::after(const runtime::KernelCall& call) noexcept {
  const int64_t end = runtime::trace_now();
  auto status = guard([&] { return add(call, end); });
  return status ? *status : std::unexpected(status.error());
}

Status Profiler::add(const runtime::KernelCall& call, int64_t end) {
  const int32_t kernel = index_.at(call.site.kernel);
  KernelProfile& profile = profiles_[static_cast<size_t>(kernel)];
  const Work work = work_[static_cast<size_t>(kernel)].of(call.scalars);
  ++profile.calls;
  profile.seconds += 1e-9 * static_cast<double>(end - start_);
  profile.work.exact = work.exact;
  profile.work.flops += work.flops;
  profile.work.bytes += work.bytes;
  for (const std::string& layer : call.site.origin) {
    std::vector<std::string>& layers = profile.layers;
    if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
  }
  calls_.events.push_back({.name = profile.name, .start = start_, .duration = end - start_});
  calls_.details.push_back(call.site.function + ": " + shapes_of(call.args));
  return {};
}

std::vector<KernelProfile> Profiler::kernels() const {
  std::vector<KernelProfile> list;
  for (const KernelProfile& profile : profiles_) {
    if (profile.calls > 0) list.push_back(profile);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return list;
}

double Profiler::seconds() const {
  double sum = 0;
  for (const KernelProfile& profile : profiles_) sum += profile.seconds;
  return sum;
}

}  // namespace tapml::topdown
