#include "topdown/suite/carve.h"

#include <algorithm>
#include <future>

#include "base/hash.h"
#include "ir/exceptions.h"
#include "tensor/uninitialized.h"
#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

// A float is NaN where its bits without the sign are above those of infinity.
template <class Bits>
bool any_above(std::span<const Bits> values, Bits infinity) {
  const Bits sign = static_cast<Bits>(~Bits{0} >> 1);
  return std::ranges::any_of(values, [&](Bits bits) { return (bits & sign) > infinity; });
}

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

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy = uninitialized_tensor(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
  return copy;
}

// Bytes from which on a thread is worth it.
constexpr size_t kLarge = size_t{1} << 20;

// What a second thread makes of a large tensor while it is hashed.
struct Look {
  bool has_nan = false;
  std::optional<HostTensor> copy;
};

}  // namespace

Carver::Carver(const Executable& executable, const CarveOptions& options) : options_(options) {
  suite_.source = executable.target;
  suite_.boundary_policy = executable.boundary_policy;
  suite_.model = executable.model.architecture;
  if (!options.weights) return;
  suite_.model_folder = options.model_folder;
  for (const auto& [name, weight] : *options.weights) {
    weight_of_.emplace(content_hash(weight), name);
  }
}

Carver::Carver(const Executable& executable, int64_t calls_per_kernel)
    : Carver(executable, CarveOptions{.calls_per_kernel = calls_per_kernel}) {}

bool Carver::wants(const runtime::CallSite&, int64_t) noexcept { return true; }

Result<std::string> Carver::keep(const runtime::Tensor& tensor) {
  const runtime::Storage& storage = *tensor.storage;
  Known& known = known_[{storage.id(), tensor.offset, tensor.dtype, tensor.shape}];
  uint64_t version = storage.version(), generation = storage.session().generation();
  const bool same = !known.hash.empty() && known.generation == generation &&
                    !storage.written_since(known.version, tensor.offset, tensor.byte_size());
  // A tensor whose calls were dropped is read once more.
  if (!same || (!suite_.weights.contains(known.hash) && !kept_tensors_.contains(known.hash))) {
    known.hash.clear();
    TAPML_ASSIGN(known.hash, read(tensor));
    known.generation = generation;
  }
  known.version = version;
  return known.hash;
}

// Where the session's memory is this process's, the bytes that lie there: everything before the
// call is done.
Result<HostTensor> Carver::contents_of(const runtime::Tensor& tensor) {
  const std::byte* base = tensor.storage->session().host_address(tensor.storage->buffer());
  if (!base) return runtime::download(tensor);
  return HostTensor::view(tensor.dtype, tensor.shape, base + tensor.offset, tensor.storage);
}

Result<bool> Carver::has_nan(const runtime::Tensor& tensor) {
  if (!is_float(tensor.dtype)) return false;
  const runtime::Storage& storage = *tensor.storage;
  auto [it, fresh] = looked_.try_emplace({storage.id(), tensor.offset, tensor.dtype, tensor.shape});
  Looked& looked = it->second;
  const uint64_t version = storage.version(), generation = storage.session().generation();
  if (fresh || looked.generation != generation ||
      storage.written_since(looked.version, tensor.offset, tensor.byte_size())) {
    looked.generation = 0;  // nothing is known where it cannot be read
    TAPML_ASSIGN(const HostTensor host, contents_of(tensor));
    looked.has_nan = any_nan(host);
    looked.generation = generation;
  }
  looked.version = version;
  return looked.has_nan;
}

// The content hash of a tensor that is in the suite from then on.
Result<std::string> Carver::read(const runtime::Tensor& tensor) {
  TAPML_ASSIGN(HostTensor host, contents_of(tensor));
  const bool in_place = tensor.storage->session().host_address(tensor.storage->buffer());
  // Bytes that lie in the session change.
  const bool borrowed = in_place && !options_.folder;
  std::future<Look> ahead;
  if (host.byte_size() >= kLarge && !options_.weights) {
    ahead = std::async(std::launch::async, [&host, borrowed] {
      return Look{any_nan(host), borrowed ? std::optional(copy_of(host)) : std::nullopt};
    });
  }
  std::string hash = content_hash(host);
  std::optional<Look> look;
  if (ahead.valid()) look = ahead.get();
  auto [content, fresh] = contents_.try_emplace(hash);
  if (fresh) {
    content->second.shape = host.shape();
    content->second.has_nan = look ? look->has_nan : any_nan(host);
    if (options_.budget_bytes > 0) content->second.summary = summarize(host);
  }
  if (auto weight = weight_of_.find(hash); weight != weight_of_.end()) {
    suite_.weights.insert(*weight);
    if (!options_.folder) suite_.tensors.emplace(hash, options_.weights->at(weight->second));
    return hash;
  }
  if (content->second.bytes == 0) content->second.bytes = stored_bytes(host);
  if (kept_tensors_.contains(hash)) return hash;
  if (borrowed) host = look ? std::move(*look->copy) : copy_of(host);
  TAPML_TRY(store(hash, host));
  return hash;
}

Status Carver::store(const std::string& hash, const HostTensor& tensor) {
  if (options_.folder) {
    TAPML_TRY(options_.folder->put(hash, tensor));
  } else {
    suite_.tensors.emplace(hash, tensor);
  }
  const int64_t bytes = contents_.at(hash).bytes;
  kept_tensors_.emplace(hash, bytes);
  bytes_ += bytes;
  return {};
}

size_t Carver::PlaceHash::operator()(const Place& place) const noexcept {
  uint64_t hash = hash_combine(place.storage, static_cast<uint64_t>(place.offset));
  hash = hash_combine(hash, static_cast<uint64_t>(place.dtype));
  for (int64_t dim : place.shape) hash = hash_combine(hash, static_cast<uint64_t>(dim));
  return hash;
}

// The number of a kernel in the suite, where it is entered when it is new.
int32_t Carver::suite_kernel(const KernelInfo& info) {
  auto [it, fresh] = kernel_of_.emplace(&info, -1);
  if (!fresh) return it->second;
  int32_t kernel = suite_.find_kernel(info.name);
  if (kernel < 0) {
    SuiteKernel entry{info.name, info.spec, {}, {}, 0};
    for (const ParamInfo& param : info.params) {
      entry.params.push_back(param.name);
      entry.modes.push_back(param.mode);
    }
    suite_.kernels.push_back(std::move(entry));
    kernel = static_cast<int32_t>(suite_.kernels.size() - 1);
  }
  return it->second = kernel;
}

Status Carver::before(const runtime::KernelCall& call) noexcept {
  // A full memory is an error of the run, not the end of the process.
  return guard([&] { unwrap(keep_before(call)); });
}

Status Carver::after(const runtime::KernelCall& call) noexcept {
  return guard([&] { unwrap(keep_after(call)); });
}

Status Carver::keep_before(const runtime::KernelCall& call) {
  const KernelInfo& info = *call.site.kernel;
  int32_t kernel = suite_kernel(info);
  current_ = SuiteCall{};
  current_.kernel = kernel;
  current_.sequence = call.sequence;
  current_.function = call.site.function;
  current_.origin = call.site.origin;
  current_.scalars.assign(call.scalars.begin(), call.scalars.end());
  skip_ = false;
  if (options_.calls_per_kernel > 0) {
    std::string group = info.name + "|" + call.site.function + "|";
    for (int64_t scalar : call.scalars) group += std::to_string(scalar) + ",";
    skip_ = ++seen_[group] > options_.calls_per_kernel;
    if (skip_) {
      ++suite_.kernels[static_cast<size_t>(kernel)].dropped;
      return look_before(call);
    }
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kOut) {
      current_.before.emplace_back();
      continue;
    }
    TAPML_ASSIGN(std::string hash, keep(call.args[i]));
    current_.before.push_back(std::move(hash));
  }
  return {};
}

Status Carver::keep_after(const runtime::KernelCall& call) {
  if (skip_) return look_after(call);
  const KernelInfo& info = *call.site.kernel;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kIn) {
      current_.after.emplace_back();
      continue;
    }
    TAPML_ASSIGN(std::string hash, keep(call.args[i]));
    current_.after.push_back(std::move(hash));
  }
  auto with_nan = [&](const std::vector<std::string>& hashes) {
    std::vector<bool> result;
    for (const std::string& hash : hashes) {
      result.push_back(!hash.empty() && contents_[hash].has_nan);
    }
    return result;
  };
  note_nan(info, with_nan(current_.before), with_nan(current_.after));
  return commit();
}

Status Carver::look_before(const runtime::KernelCall& call) {
  const KernelInfo& info = *call.site.kernel;
  nan_before_.assign(call.args.size(), false);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode != AccessMode::kInOut) continue;
    TAPML_ASSIGN(const bool nan, has_nan(call.args[i]));
    nan_before_[i] = nan;
  }
  return {};
}

Status Carver::look_after(const runtime::KernelCall& call) {
  const KernelInfo& info = *call.site.kernel;
  std::vector<bool> after(call.args.size(), false);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kIn) continue;
    TAPML_ASSIGN(const bool nan, has_nan(call.args[i]));
    after[i] = nan;
  }
  if (std::ranges::find(after, true) == after.end()) return {};
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode != AccessMode::kIn) continue;
    TAPML_ASSIGN(const bool nan, has_nan(call.args[i]));
    nan_before_[i] = nan;
  }
  note_nan(info, nan_before_, after);
  return {};
}

void Carver::note_nan(const KernelInfo& info, const std::vector<bool>& before,
                      const std::vector<bool>& after) {
  std::vector<std::string> inputs;
  std::string output;
  for (size_t i = 0; i < info.params.size(); ++i) {
    if (before[i]) inputs.push_back(info.params[i].name);
    if (!before[i] && after[i] && output.empty()) output = info.params[i].name;
  }
  if (output.empty()) return;
  if (!nan_) {
    nan_ = SourceNaN{info.name, output, current_.sequence, current_.origin, std::move(inputs), 0};
  }
  ++nan_->calls;
}

Suite Carver::take() {
  std::vector<bool> used(suite_.kernels.size(), false);
  for (size_t k = 0; k < used.size(); ++k) used[k] = suite_.kernels[k].dropped > 0;
  for (const SuiteCall& call : suite_.calls) used[static_cast<size_t>(call.kernel)] = true;
  std::vector<int32_t> number(used.size(), -1);
  std::vector<SuiteKernel> kernels;
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    number[k] = static_cast<int32_t>(kernels.size());
    kernels.push_back(std::move(suite_.kernels[k]));
  }
  suite_.kernels = std::move(kernels);
  for (SuiteCall& call : suite_.calls) call.kernel = number[static_cast<size_t>(call.kernel)];
  return std::move(suite_);
}

// The call is a test of the suite, or one more time that there is.
Status Carver::commit() {
  const std::string key = test_key(current_);
  if (auto known = sequence_of_.find(key); known != sequence_of_.end()) {
    SuiteCall& call = call_at(known->second);
    ++call.times;
    call.origin = merge_origins(call.origin, current_.origin);
    return {};
  }
  sequence_of_.emplace(key, current_.sequence);
  if (options_.budget_bytes > 0) {
    std::vector<CallSelection::Tensor> tensors;
    for (const auto* hashes : {&current_.before, &current_.after}) {
      for (const std::string& hash : *hashes) {
        if (hash.empty()) continue;
        const Content& content = contents_.at(hash);
        tensors.push_back({hash, content.shape, *content.summary, content.bytes});
      }
    }
    selection_.add(current_.sequence, current_, tensors);
  }
  suite_.calls.push_back(std::move(current_));
  while (options_.budget_bytes > 0 && selection_.bytes() > options_.budget_bytes) {
    const int64_t least = selection_.least();
    if (least < 0) break;
    TAPML_TRY(drop(least));
  }
  return {};
}

SuiteCall& Carver::call_at(int64_t sequence) {
  return *std::ranges::lower_bound(suite_.calls, sequence, {}, &SuiteCall::sequence);
}

Status Carver::drop(int64_t sequence) {
  SuiteCall& call = call_at(sequence);
  suite_.kernels[static_cast<size_t>(call.kernel)].dropped += call.times;
  sequence_of_.erase(test_key(call));
  suite_.calls.erase(suite_.calls.begin() + (&call - suite_.calls.data()));
  for (const std::string& hash : selection_.remove(sequence)) {
    suite_.weights.erase(hash);
    suite_.tensors.erase(hash);
    auto kept = kept_tensors_.find(hash);
    if (kept == kept_tensors_.end()) continue;
    bytes_ -= kept->second;
    kept_tensors_.erase(kept);
    if (options_.folder) TAPML_TRY(options_.folder->remove(hash));
  }
  return {};
}

}  // namespace tapml::topdown
