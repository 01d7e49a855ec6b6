// Kernel calls of a machine that its client computes.
#pragma once

#include <vector>

#include "rpc/session/server_core.h"
#include "runtime/dispatch.h"

namespace tapml::rpc {

// Of one call of a machine. Each dispatched call is an answer to whoever waits for the run, which
// stands until the client goes on with it.
class ServerCore::Dispatch final : public runtime::Dispatcher {
 public:
  // `names`: those of the storages of the run's arguments; names of others that dispatched calls
  // lie in are added.
  Dispatch(ServerCore& core, runtime::LocalVirtualMachine& vm, const wire::Dispatch& request,
           StorageNames& names)
      : core_(core), vm_(vm), first_(request.first()), count_(request.count()), names_(names) {}
  // Reads the plan. UserError as of dispatched_sites().
  Status begin(const wire::Dispatch& request) noexcept;
  const std::vector<bool>& sites() const { return sites_; }

  Status call(const runtime::CallSite& site, runtime::Arguments args,
              std::span<const int64_t> scalars) noexcept override;
  // What the run wrote since it began or was resumed, in storages that have a name.
  std::vector<wire::Written> written() const;

 private:
  struct Known {
    std::shared_ptr<runtime::Storage> storage;
    uint64_t name = 0;
    uint64_t version = 0;  // that the client knows
  };
  Result<uint64_t> name_of(const std::shared_ptr<runtime::Storage>& storage,
                           std::vector<int64_t>& sizes);

  ServerCore& core_;
  runtime::LocalVirtualMachine& vm_;
  const uint64_t first_;
  const uint32_t count_;
  StorageNames& names_;
  std::vector<bool> sites_;
  std::vector<Known> known_;
  uint32_t named_ = 0;
};

}  // namespace tapml::rpc
