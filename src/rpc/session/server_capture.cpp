// Captures what the calls of a VM read and write, for a client.
#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "rpc/session/server_calls.h"

namespace tapml::rpc {

namespace {

// Limit on contents that a client is known to have. Beyond it all are forgotten, and sent again.
constexpr size_t kMostContents = size_t{1} << 18;

}  // namespace

// Adds replies to the running call: each content once, then the calls that name it.
class CallService::Capture final : public runtime::CaptureSink {
 public:
  Capture(CallService& calls, const Executable& executable, runtime::CapturePlan plan)
      : calls_(calls), observer_(executable, std::move(plan), *this) {}

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
  CallService& calls_;
  std::unordered_set<std::string> known_;
  runtime::CaptureObserver observer_;
};

Status CallService::Capture::content(const std::string& hash, const HostTensor& tensor,
                                     bool) noexcept {
  const Sha256Digest digest = *digest_of(hash);
  const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  std::span<const std::byte> rest = tensor.bytes();
  int64_t offset = 0;
  do {
    if (offset > 0) {
      calls_.channel_.link().look();
      TAPML_TRY(calls_.channel_.awaited());
    }
    const auto part = rest.first(std::min(rest.size(), kPartBytes));
    rest = rest.subspan(part.size());
    const bool sent =
        calls_.channel_.reply_bytes(calls_.call_->request, part, [&](uint64_t unpacked) {
          auto& builder = calls_.channel_.builder();
          const auto name = builder.CreateVector(digest.data(), digest.size());
          const auto dimensions = builder.CreateVector(shape);
          return wire::CreateContent(builder, name, static_cast<uint8_t>(tensor.dtype()),
                                     dimensions, offset, rest.empty(), unpacked);
        });
    if (!sent) return fail(*calls_.channel_.broken());
    offset += static_cast<int64_t>(part.size());
  } while (!rest.empty());
  know(hash);
  return {};
}

Status CallService::Capture::call(runtime::CapturedCall call) noexcept {
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
  if (!calls_.channel_.reply(
          calls_.call_->request,
          wire::CreateCapturedDirect(calls_.channel_.builder(), call.site, call.sequence,
                                     &call.scalars, call.kept, &before, &after, &hashes))) {
    return fail(*calls_.channel_.broken());
  }
  return {};
}

void CallService::CaptureDeleter::operator()(Capture* capture) const noexcept { delete capture; }

Status CallService::begin_capture(const wire::Capture& request, ServedVm& served) noexcept {
  const auto* kernels = request.kernels();
  const uint64_t bytes = (kernels ? kernels->size() * sizeof(int32_t) : 0) +
                         size_of(request.held()) + size_of(request.dropped());
  if (!channel_.copies().take(bytes)) return {};
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
    served.capture.reset(std::make_unique<Capture>(*this, executable, std::move(plan)).release());
  } else if (!served.capture) {
    return fail(internal_error("a capture was continued before it began"));
  }
  for_each_hash(request.held(), [&](std::string hash) { served.capture->know(std::move(hash)); });
  for_each_hash(request.dropped(), [&](const std::string& hash) { served.capture->forget(hash); });
  served.vm->call_point().set_observer(&served.capture->observer());
  return {};
}

}  // namespace tapml::rpc
