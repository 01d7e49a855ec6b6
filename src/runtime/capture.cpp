#include "runtime/capture.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/hash.h"

namespace tapml::runtime {

namespace {

// Maximum number of tensor locations to remember.
constexpr size_t kMostPlaces = size_t{1} << 18;

// A float is NaN if its bits without the sign are above those of infinity. Checks blocks of values
// without early exit, so compilers can vectorize it.
template <class Bits>
bool any_above(std::span<const Bits> values, Bits infinity) {
  using Signed = std::make_signed_t<Bits>;
  constexpr size_t kTogether = 1024;
  constexpr auto kMagnitude = static_cast<Bits>(std::numeric_limits<Signed>::max());
  const auto bound = static_cast<Signed>(infinity);
  for (; values.size() >= kTogether; values = values.subspan(kTogether)) {
    Signed above = 0;
    for (size_t i = 0; i < kTogether; ++i) {
      above |= static_cast<Signed>(static_cast<Signed>(values[i] & kMagnitude) > bound);
    }
    if (above != 0) return true;
  }
  return std::ranges::any_of(values, [&](Bits bits) { return (bits & kMagnitude) > infinity; });
}

// Address of the tensor's bytes if the session's memory is in this process, else null.
const std::byte* address_of(const Tensor& tensor) {
  const std::byte* base = tensor.storage->session().host_address(tensor.storage->buffer());
  return base ? base + tensor.offset : nullptr;
}

// All work before the call is done, so the memory holds the call's inputs.
Result<HostTensor> contents_of(const Tensor& tensor) {
  const std::byte* there = address_of(tensor);
  if (!there) return download(tensor);
  std::shared_ptr<const void> owner = tensor.storage->lasting_memory();
  if (!owner) owner = tensor.storage;
  return HostTensor::view(tensor.dtype, tensor.shape, there, std::move(owner));
}

// Whether writing the tensor changes the bytes of contents_of().
bool is_borrowed(const Tensor& tensor) {
  return address_of(tensor) && !tensor.storage->lasting_memory();
}

}  // namespace

bool any_nan(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16:
      return any_above<uint16_t>(tensor.values<uint16_t>(), 0x7c00);
    case DType::kBF16:
      return any_above<uint16_t>(tensor.values<uint16_t>(), 0x7f80);
    case DType::kF32:
      return any_above<uint32_t>(tensor.values<uint32_t>(), 0x7f800000);
    case DType::kF64:
      return any_above<uint64_t>(tensor.values<uint64_t>(), 0x7ff0000000000000);
    default:
      return false;
  }
}

Status check_plan(const Executable& executable, const CapturePlan& plan) noexcept {
  const auto count = static_cast<int64_t>(executable.kernels.size());
  for (const int32_t kernel : plan.kernels) {
    if (kernel >= 0 && kernel < count) continue;
    return fail(user_error("the capture plan names a kernel that the executable lacks",
                           "capture plan", "a number below " + std::to_string(count),
                           std::to_string(kernel)));
  }
  if (plan.calls >= 0) return {};
  return fail(user_error("the capture plan has a negative number of calls", "capture plan",
                         "0 (all of them) or more", std::to_string(plan.calls)));
}

CaptureObserver::CaptureObserver(const Executable& executable, CapturePlan plan, CaptureSink& sink)
    : executable_(executable),
      plan_(std::move(plan)),
      kernels_(plan_.kernels.begin(), plan_.kernels.end()),
      sink_(sink) {}

bool CaptureObserver::wants(const CallSite& site, int64_t) noexcept {
  return kernels_.empty() ||
         kernels_.contains(static_cast<int32_t>(site.kernel - executable_.kernels.data()));
}

size_t CaptureObserver::PlaceHash::operator()(const Place& place) const noexcept {
  uint64_t hash = hash_combine(place.storage, static_cast<uint64_t>(place.offset));
  hash = hash_combine(hash, static_cast<uint64_t>(place.dtype));
  for (int64_t dim : place.shape) hash = hash_combine(hash, static_cast<uint64_t>(dim));
  return hash;
}

CaptureObserver::Known& CaptureObserver::known(const Tensor& tensor) {
  if (known_.size() >= kMostPlaces) known_.clear();
  return known_[{tensor.storage->id(), tensor.offset, tensor.dtype, tensor.shape}];
}

bool CaptureObserver::is_same(const Known& known, const Tensor& tensor) {
  return known.looked && known.generation == tensor.storage->session().generation() &&
         !tensor.storage->written_since(known.version, tensor.offset, tensor.byte_size());
}

Status CaptureObserver::keep(const Tensor& tensor, std::string& hash, bool& nan) {
  Known& known = this->known(tensor);
  const uint64_t version = tensor.storage->version();
  // Contents that the sink has dropped are read again.
  if (!is_same(known, tensor) || known.hash.empty() || !sink_.has(known.hash)) {
    known = {};  // nothing is known if reading fails
    TAPML_ASSIGN(const HostTensor host, contents_of(tensor));
    std::string read = content_hash(host);
    if (!sink_.has(read)) {
      TAPML_TRY(sink_.content(read, host, is_borrowed(tensor)));
    }
    known.has_nan = any_nan(host);
    known.hash = std::move(read);
    known.generation = tensor.storage->session().generation();
    known.looked = true;
  }
  known.version = version;
  hash = known.hash;
  nan = known.has_nan;
  return {};
}

Status CaptureObserver::look(const Tensor& tensor, bool& nan) {
  nan = false;
  if (!is_float(tensor.dtype)) return {};
  Known& known = this->known(tensor);
  const uint64_t version = tensor.storage->version();
  if (!is_same(known, tensor)) {
    known = {};
    TAPML_ASSIGN(const HostTensor host, contents_of(tensor));
    known.has_nan = any_nan(host);
    known.generation = tensor.storage->session().generation();
    known.looked = true;
  }
  known.version = version;
  nan = known.has_nan;
  return {};
}

// Whether the call is among those of its group to keep.
bool CaptureObserver::counts_in(const KernelCall& call) {
  if (plan_.calls == 0) return true;
  std::string group = call.site.kernel->name + "|" + call.site.function + "|";
  for (int64_t scalar : call.scalars) group += std::to_string(scalar) + ",";
  return ++seen_[group] <= plan_.calls;
}

Status CaptureObserver::before(const KernelCall& call) noexcept {
  const std::vector<ParamInfo>& params = call.site.kernel->params;
  const size_t count = call.args.size();
  current_ = {};
  current_.site = call.site.id;
  current_.sequence = call.sequence;
  current_.scalars.assign(call.scalars.begin(), call.scalars.end());
  current_.kept = counts_in(call);
  current_.before.resize(count);
  current_.after.resize(count);
  current_.nan_before.resize(count);
  current_.nan_after.resize(count);
  for (size_t i = 0; i < count; ++i) {
    bool nan = false;
    if (current_.kept && params[i].mode != AccessMode::kOut) {
      TAPML_TRY(keep(call.args[i], current_.before[i], nan));
    } else if (!current_.kept && params[i].mode == AccessMode::kInOut) {
      TAPML_TRY(look(call.args[i], nan));
    }
    current_.nan_before[i] = nan;
  }
  return {};
}

Status CaptureObserver::after(const KernelCall& call) noexcept {
  const std::vector<ParamInfo>& params = call.site.kernel->params;
  bool any = false;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (params[i].mode == AccessMode::kIn) continue;
    bool nan = false;
    if (current_.kept) {
      TAPML_TRY(keep(call.args[i], current_.after[i], nan));
    } else {
      TAPML_TRY(look(call.args[i], nan));
    }
    current_.nan_after[i] = nan;
    any |= nan;
  }
  for (size_t i = 0; any && !current_.kept && i < call.args.size(); ++i) {
    if (params[i].mode != AccessMode::kIn) continue;
    bool nan = false;
    TAPML_TRY(look(call.args[i], nan));
    current_.nan_before[i] = nan;
  }
  return sink_.call(std::move(current_));
}

}  // namespace tapml::runtime
