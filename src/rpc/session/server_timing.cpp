#include "rpc/session/server_timing.h"

namespace tapml::rpc {

namespace {

constexpr size_t kMostTogether = 512;

}  // namespace

Status CallService::Timing::timed(const runtime::TimedCall& call) noexcept {
  times_.push_back(call);
  return times_.size() < kMostTogether ? Status() : flush();
}

Status CallService::Timing::flush() noexcept {
  if (times_.empty()) return {};
  auto& builder = calls_.channel_.builder();
  std::vector<flatbuffers::Offset<wire::TimedCall>> list;
  for (const runtime::TimedCall& call : times_) {
    list.push_back(wire::CreateTimedCallDirect(builder, call.site, call.sequence, &call.scalars,
                                               call.start, call.duration));
  }
  times_.clear();
  if (!calls_.channel_.reply(calls_.call_->request, wire::CreateTimedDirect(builder, &list))) {
    return fail(*calls_.channel_.broken());
  }
  return {};
}

}  // namespace tapml::rpc
