#include "rpc/session/server_timing.h"

namespace tapml::rpc {

namespace {

constexpr size_t kMostTogether = 512;

}  // namespace

Status ServerCore::Timing::timed(const runtime::TimedCall& call) noexcept {
  calls_.push_back(call);
  return calls_.size() < kMostTogether ? Status() : flush();
}

Status ServerCore::Timing::flush() noexcept {
  if (calls_.empty()) return {};
  auto& builder = core_.builder_;
  std::vector<flatbuffers::Offset<wire::TimedCall>> list;
  for (const runtime::TimedCall& call : calls_) {
    list.push_back(wire::CreateTimedCallDirect(builder, call.site, call.sequence, &call.scalars,
                                               call.start, call.duration));
  }
  calls_.clear();
  if (!core_.reply(core_.call_->request, wire::CreateTimedDirect(builder, &list))) {
    return fail(*core_.broken_);
  }
  return {};
}

}  // namespace tapml::rpc
