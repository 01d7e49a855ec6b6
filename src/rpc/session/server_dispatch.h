// Kernel calls of a VM that its client computes.
#pragma once

#include <vector>

#include "rpc/session/server_calls.h"
#include "runtime/dispatch.h"

namespace tapml::rpc {

// For one call of a VM. Each dispatched call answers the client that waits for the run, which is
// suspended until the client resumes it.
class CallService::Dispatch final : public runtime::Dispatcher {
 public:
  // `names`: of the storages of the run's arguments; those of other storages that dispatched calls
  // use are added.
  Dispatch(CallService& calls, runtime::LocalVirtualMachine& vm, const wire::Dispatch& request,
           StorageNames& names)
      : calls_(calls), vm_(vm), first_(request.first()), count_(request.count()), names_(names) {}
  // Reads the plan. UserError as for dispatched_sites().
  Status begin(const wire::Dispatch& request) noexcept;
  const std::vector<bool>& sites() const { return sites_; }

  Status call(const runtime::CallSite& site, runtime::Arguments args,
              std::span<const int64_t> scalars) noexcept override;
  // What the run wrote to named storages since it began or was resumed.
  std::vector<wire::Written> written() const;

 private:
  struct Known {
    std::shared_ptr<runtime::Storage> storage;
    uint64_t name = 0;
    uint64_t version = 0;  // known to the client
  };
  Result<uint64_t> name_of(const std::shared_ptr<runtime::Storage>& storage,
                           std::vector<int64_t>& sizes);

  CallService& calls_;
  runtime::LocalVirtualMachine& vm_;
  const uint64_t first_;
  const uint32_t count_;
  StorageNames& names_;
  std::vector<bool> sites_;
  std::vector<Known> known_;
  uint32_t named_ = 0;
};

}  // namespace tapml::rpc
