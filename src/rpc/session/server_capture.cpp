// Captures what the calls of a VM read and write, for a client.
#include <algorithm>

#include "base/hash.h"
#include "rpc/session/server_core.h"

namespace tapml::rpc {

namespace {

// Limit on contents that a client is known to have. Beyond it all are forgotten, and sent again.
constexpr size_t kMostContents = size_t{1} << 18;

}  // namespace

// Adds replies to the running call: each content once, then the calls that name it.
class ServerCore::Capture final : public runtime::CaptureSink {
 public:
  Capture(ServerCore& core, const Executable& executable, runtime::CapturePlan plan)
      : core_(core), observer_(executable, std::move(plan), *this) {}

  bool has(const std::string& hash) noexcept override { return known_.contains(hash); }
  Status content(const std::string& hash, const HostTensor& tensor, bool) noexcept override;
  Status call(runtime::CapturedCall call) noexcept override;

  void know(std::string hash) {
    if (known_.size() >= kMostContents) known_.clear();
    known_.insert(std::move(hash));
  }
  void forget(const std::string& hash) { known_.erase(hash); }
  runtime::Observer& observer() { return observer_; }

 private:
  ServerCore& core_;
  std::unordered_set<std::string> known_;
  runtime::CaptureObserver observer_;
};

Status ServerCore::Capture::content(const std::string& hash, const HostTensor& tensor,
                                    bool) noexcept {
  const Sha256Digest digest = *digest_of(hash);
  const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  std::span<const std::byte> rest = tensor.bytes();
  int64_t offset = 0;
  do {
    if (offset > 0) {
      core_.link_.look();
      TAPML_TRY(core_.awaited());
    }
    const auto part = rest.first(std::min(rest.size(), kPartBytes));
    rest = rest.subspan(part.size());
    const std::span<const std::byte> packed = core_.packer_.pack(part, core_.packed_);
    const Clock::time_point start = Clock::now();
    auto& builder = core_.builder_;
    const auto name = builder.CreateVector(digest.data(), digest.size());
    const auto dimensions = builder.CreateVector(shape);
    const auto head =
        wire::CreateContent(builder, name, static_cast<uint8_t>(tensor.dtype()), dimensions, offset,
                            rest.empty(), packed.empty() ? 0 : part.size());
    if (!core_.reply(core_.call_->request, head, packed.empty() ? part : packed))
      return fail(*core_.broken_);
    core_.packer_.sent(packed.empty() ? part.size() : packed.size(), Clock::now() - start);
    offset += static_cast<int64_t>(part.size());
  } while (!rest.empty());
  know(hash);
  return {};
}

Status ServerCore::Capture::call(runtime::CapturedCall call) noexcept {
  std::vector<uint8_t> hashes, before, after;
  const auto put = [&](const std::vector<std::string>& contents, const std::vector<bool>& nan,
                       std::vector<uint8_t>& params) {
    for (size_t i = 0; i < contents.size(); ++i) {
      const bool named = !contents[i].empty();
      params.push_back(static_cast<uint8_t>((named ? kParamNamed : 0) | (nan[i] ? kParamNaN : 0)));
      if (!named) continue;
      const Sha256Digest digest = *digest_of(contents[i]);
      hashes.insert(hashes.end(), digest.begin(), digest.end());
    }
  };
  put(call.before, call.nan_before, before);
  put(call.after, call.nan_after, after);
  if (!core_.reply(core_.call_->request, wire::CreateCapturedDirect(
                                             core_.builder_, call.site, call.sequence,
                                             &call.scalars, call.kept, &before, &after, &hashes))) {
    return fail(*core_.broken_);
  }
  return {};
}

void ServerCore::CaptureDeleter::operator()(Capture* capture) const noexcept { delete capture; }

Status ServerCore::begin_capture(const wire::Capture& request, ServedVm& served) noexcept {
  const auto* kernels = request.kernels();
  const uint64_t bytes = (kernels ? kernels->size() * sizeof(int32_t) : 0) +
                         size_of(request.held()) + size_of(request.dropped());
  if (!copies_.take(bytes)) return {};
  for (const auto* hashes : {request.held(), request.dropped()}) {
    if (hashes && hashes->size() % Sha256Digest().size() != 0) {
      return fail(internal_error("the hashes of a capture are not SHA-256s"));
    }
  }
  if (request.anew()) {
    runtime::CapturePlan plan;
    if (kernels) plan.kernels.assign(kernels->begin(), kernels->end());
    plan.calls = request.calls();
    const Executable& executable = served.vm->executable();
    TAPML_TRY(runtime::check_plan(executable, plan));
    served.capture.reset(new Capture(*this, executable, std::move(plan)));
  } else if (!served.capture) {
    return fail(internal_error("a capture was continued before it began"));
  }
  for_each_hash(request.held(), [&](std::string hash) { served.capture->know(std::move(hash)); });
  for_each_hash(request.dropped(), [&](const std::string& hash) { served.capture->forget(hash); });
  served.vm->call_point().set_observer(&served.capture->observer());
  return {};
}

}  // namespace tapml::rpc
