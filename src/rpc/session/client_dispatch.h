// Computes kernel calls of a remote VM on this side.
#pragma once

#include <unordered_map>
#include <vector>

#include "rpc/session/client_session.h"
#include "runtime/dispatch.h"

namespace tapml::rpc {

// The storages that a call of the VM uses, by buffer name.
using Storages = std::unordered_map<uint64_t, std::shared_ptr<runtime::Storage>>;

// Records what the other side wrote. ProtocolError for ranges outside the storages.
Status note_written(const flatbuffers::Vector<const wire::Written*>* written,
                    const Storages& storages) noexcept;

// The dispatched calls of one run.
class DispatchedCalls {
 public:
  // All arguments must outlive the object. The VM's own buffers are named from `first` on, and
  // added to `storages`.
  DispatchedCalls(ClientSession& session, const std::vector<runtime::CallSite>& sites,
                  runtime::Dispatcher& dispatcher, uint64_t first, Storages& storages)
      : session_(session),
        sites_(sites),
        dispatcher_(dispatcher),
        first_(first),
        storages_(storages) {}
  // Computes one call. ProtocolError for a malformed call, otherwise the dispatcher's error.
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
