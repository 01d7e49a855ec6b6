#include "topdown/profile/profile.h"

#include <algorithm>

#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

// The shapes of the tensors of a call, which its scalars determine.
std::string shapes_of(const KernelInfo& kernel, const std::vector<int64_t>& scalars) {
  std::string text;
  for (const ParamInfo& param : kernel.params) {
    Shape shape;
    for (const ScalarProgram& dim : param.dims) shape.push_back(unwrap(evaluate(dim, scalars)));
    text +=
        (text.empty() ? "" : " ") + std::string(dtype_name(param.dtype)) + shape_to_string(shape);
  }
  return text;
}

}  // namespace

double KernelProfile::share(const Ceilings& ceilings) const {
  return seconds > 0 ? work.least_seconds(ceilings) / seconds : 0;
}

Profiler::Profiler(const Executable& executable) : executable_(executable) {
  for (const KernelInfo& info : executable.kernels) {
    KernelProfile profile;
    profile.name = info.name;
    work_.emplace_back(info);
    profiles_.push_back(std::move(profile));
  }
}

Status Profiler::timed(const runtime::TimedCall& call) noexcept {
  return guard([&] { add(call); });
}

void Profiler::add(const runtime::TimedCall& call) {
  const CallSiteInfo& site = executable_.call_sites[static_cast<size_t>(call.site)];
  const auto kernel = static_cast<size_t>(site.kernel);
  KernelProfile& profile = profiles_[kernel];
  const CallWork work = work_[kernel].of(call.scalars);
  ++profile.calls;
  profile.seconds += 1e-9 * static_cast<double>(call.duration);
  profile.work.exact = work.exact;
  profile.work.flops += work.flops;
  profile.work.bytes += work.bytes;
  profile.functions.insert(site.function);
  profile.origin = merge_origins(profile.origin, site.origin);
  calls_.events.push_back({.name = profile.name, .start = call.start, .duration = call.duration});
  calls_.details.push_back(site.function + ": " +
                           shapes_of(executable_.kernels[kernel], call.scalars));
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
