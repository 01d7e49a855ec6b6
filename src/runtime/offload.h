// Sends dispatched calls to kernels of another executable, on the same session or another one.
#pragma once

#include <string>
#include <unordered_map>

#include "runtime/dispatch.h"
#include "runtime/residency.h"

namespace tapml::runtime {

// Copies inputs to the target if they are not there yet, and copies outputs back at once.
class Offload final : public Dispatcher {
 public:
  // Both must outlive it; `residency` tracks copies on the runner's session.
  Offload(KernelRunner& target, Residency& residency);

  // The calls to dispatch: those whose kernel the target has, by name, and for which `choice`,
  // called for each site, returns true.
  template <class Choice>
  DispatchPlan plan(const Executable& executable, Choice&& choice) const;

  // InternalError for a kernel that the target lacks.
  Status call(const CallSite& site, Arguments args,
              std::span<const int64_t> scalars) noexcept override;

  int64_t calls() const { return calls_; }

 private:
  Status call_beside(int32_t kernel, const CallSite& site, Arguments args,
                     std::span<const int64_t> scalars) noexcept;
  Status call_there(int32_t kernel, const CallSite& site, Arguments args,
                    std::span<const int64_t> scalars) noexcept;

  KernelRunner& target_;
  std::unordered_map<std::string, int32_t> kernels_;  // of the target, by name
  Residency& residency_;
  int64_t calls_ = 0;
};

template <class Choice>
DispatchPlan Offload::plan(const Executable& executable, Choice&& choice) const {
  DispatchPlan plan;
  for (const CallSite& site : call_sites_of(executable)) {
    if (kernels_.contains(site.kernel->name) && choice(site)) plan.sites.push_back(site.id);
  }
  return plan;
}

}  // namespace tapml::runtime
