// Kernel calls of a machine elsewhere that are computed on this side.
#pragma once

#include <unordered_map>
#include <vector>

#include "rpc/session/client_session.h"
#include "runtime/dispatch.h"

namespace tapml::rpc {

// What a call of the machine has to do with, by the names of the buffers.
using Storages = std::unordered_map<uint64_t, std::shared_ptr<runtime::Storage>>;

// Takes note of what the other side wrote. ProtocolError for what lies outside of the storages.
Status note_written(const flatbuffers::Vector<const wire::Written*>* written,
                    const Storages& storages) noexcept;

// Of one run.
class DispatchedCalls {
 public:
  // All of them outlive it. Buffers of the machine's own are named from `first` on; `storages`
  // has them, too, from then on.
  DispatchedCalls(ClientSession& session, const std::vector<runtime::CallSite>& sites,
                  runtime::Dispatcher& dispatcher, uint64_t first, Storages& storages)
      : session_(session),
        sites_(sites),
        dispatcher_(dispatcher),
        first_(first),
        storages_(storages) {}
  // One call. ProtocolError for one that makes no sense, else as the dispatcher.
  Status compute(const wire::Dispatched& call, size_t message_bytes) noexcept;

 private:
  Status take_buffers(const flatbuffers::Vector<int64_t>* sizes) noexcept;

  ClientSession& session_;
  const std::vector<runtime::CallSite>& sites_;
  runtime::Dispatcher& dispatcher_;
  const uint64_t first_;
  Storages& storages_;
  uint32_t named_ = 0;
};

}  // namespace tapml::rpc
