#include "rpc/session/client_capture.h"

#include <algorithm>
#include <memory>

namespace tapml::rpc {

namespace {

constexpr size_t kMostDimensions = 64;

}  // namespace

Status CaptureReader::take(const wire::Reply& reply, std::span<const std::byte> bytes) noexcept {
  if (const auto* content = reply.answer_as_Content()) return take_content(*content, bytes);
  if (const auto* call = reply.answer_as_Captured()) return take_call(*call);
  return fail(protocol_error("a reply to a captured call is neither a content nor a call"));
}

Status CaptureReader::take_content(const wire::Content& part,
                                   std::span<const std::byte> bytes) noexcept {
  const auto digest = digest_of(part.hash());
  if (!digest) return fail(protocol_error("the hash of a captured content is not a SHA-256"));
  const std::string hash = to_hex(*digest);
  if (hash_.empty()) {
    const size_t dimensions = size_of(part.shape());
    if (part.dtype() > static_cast<uint8_t>(DType::kF64) || dimensions > kMostDimensions) {
      return fail(protocol_error("a captured content is not a tensor"));
    }
    dtype_ = static_cast<DType>(part.dtype());
    shape_.clear();
    for (size_t i = 0; i < dimensions; ++i) {
      shape_.push_back(part.shape()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    }
    auto size = checked_byte_count(dtype_, shape_);
    if (!size) return fail(protocol_error("a captured content is not a tensor"));
    bytes_ = *size;
    data_.clear();
    hash_ = hash;
  }
  const auto have = static_cast<int64_t>(data_.size()), more = static_cast<int64_t>(bytes.size());
  if (hash != hash_ || part.offset() != have || more > bytes_ - have ||
      part.last() != (more == bytes_ - have) || (more == 0 && bytes_ > 0)) {
    return fail(protocol_error("a part of a captured content is not the next one"));
  }
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  if (!part.last()) return {};
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data_));
  data_ = {};
  hash_.clear();
  const HostTensor tensor = HostTensor::view(dtype_, shape_, owner->data(), owner);
  if (content_hash(tensor) != hash) {
    return fail(protocol_error("a captured content does not match its hash"));
  }
  return sink_.has(hash) ? Status() : sink_.content(hash, tensor, false);
}

Status CaptureReader::take_call(const wire::Captured& captured) noexcept {
  const auto nonsense = [](const char* what) {
    return fail(protocol_error(std::string("a captured call ") + what));
  };
  if (!hash_.empty()) return nonsense("arrived inside a content");
  if (captured.site() < 0 ||
      static_cast<size_t>(captured.site()) >= executable_.call_sites.size()) {
    return nonsense("has no call site");
  }
  const CallSiteInfo& site = executable_.call_sites[static_cast<size_t>(captured.site())];
  const KernelInfo& kernel = executable_.kernels[static_cast<size_t>(site.kernel)];
  const size_t count = kernel.params.size();
  if (size_of(captured.before()) != count || size_of(captured.after()) != count ||
      size_of(captured.scalars()) != kernel.scalars.size()) {
    return nonsense("does not have the parameters of its kernel");
  }
  runtime::CapturedCall call;
  call.site = captured.site();
  call.sequence = captured.sequence();
  call.kept = captured.kept();
  if (captured.scalars()) {
    call.scalars.assign(captured.scalars()->begin(), captured.scalars()->end());
  }
  std::vector<std::string> hashes;
  if (size_of(captured.hashes()) % Sha256Digest().size() != 0) {
    return nonsense("has malformed hashes");
  }
  for_each_hash(captured.hashes(), [&](std::string hash) { hashes.push_back(std::move(hash)); });
  size_t next = 0;
  const auto get = [&](const flatbuffers::Vector<uint8_t>* params, AccessMode none,
                       std::vector<std::string>& contents, std::vector<bool>& nan) {
    for (size_t i = 0; i < count; ++i) {
      const uint8_t param = params->Get(static_cast<flatbuffers::uoffset_t>(i));
      const bool named = (param & kParamNamed) != 0;
      if (named != (call.kept && kernel.params[i].mode != none)) return false;
      if (named && (next >= hashes.size() || !sink_.has(hashes[next]))) return false;
      contents.push_back(named ? hashes[next++] : "");
      nan.push_back((param & kParamNaN) != 0);
    }
    return true;
  };
  if ((count > 0 && !get(captured.before(), AccessMode::kOut, call.before, call.nan_before)) ||
      (count > 0 && !get(captured.after(), AccessMode::kIn, call.after, call.nan_after)) ||
      next != hashes.size()) {
    return nonsense("refers to wrong or missing contents");
  }
  return sink_.call(std::move(call));
}

}  // namespace tapml::rpc
