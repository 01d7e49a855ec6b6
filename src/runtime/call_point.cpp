#include "runtime/call_point.h"

#include "runtime/dispatch.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

std::vector<CallSite> call_sites_of(const Executable& executable) {
  std::vector<CallSite> sites;
  sites.reserve(executable.call_sites.size());
  for (size_t i = 0; i < executable.call_sites.size(); ++i) {
    const CallSiteInfo& info = executable.call_sites[i];
    sites.push_back({static_cast<int32_t>(i), &executable.kernels[static_cast<size_t>(info.kernel)],
                     info.function, info.origin});
  }
  return sites;
}

Status CallPoint::call(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
                       const Scratch& scratch) noexcept {
  int64_t sequence = sequence_++;
  if (launched_) launched_->store(launched_->load(std::memory_order_relaxed) + 1);
  if (observer_ != nullptr && observer_->wants(site, sequence)) {
    return observe(KernelCall{site, sequence, args, scalars}, scratch);
  }
  return compute(site, args, scalars, scratch);
}

Status CallPoint::call_packed(const PackedCall& call, const HostFunction& function,
                              Value& result) noexcept {
  if (observer_ != nullptr) observer_->packed(call);
  TAPML_ASSIGN(result, function(source_.session(), call.args));
  return {};
}

Status CallPoint::observe(const KernelCall& call, const Scratch& scratch) noexcept {
  // Earlier work must not be attributed to this call, neither its errors nor its time.
  TAPML_TRY(source_.session().synchronize(kDefaultStream));
  TAPML_TRY(observer_->before(call));
  TAPML_TRY(compute(call.site, call.args, call.scalars, scratch));
  TAPML_TRY(source_.session().synchronize(kDefaultStream));
  return observer_->after(call);
}

Status CallPoint::compute(const CallSite& site, Arguments args, std::span<const int64_t> scalars,
                          const Scratch& scratch) noexcept {
  if (dispatcher_ && offloaded_sites_[static_cast<size_t>(site.id)]) {
    return dispatcher_->call(site, args, scalars);
  }
  int32_t kernel = static_cast<int32_t>(site.kernel - source_.executable().kernels.data());
  return source_.enqueue(kernel, args, scalars, kDefaultStream, scratch);
}

}  // namespace tapml::runtime
