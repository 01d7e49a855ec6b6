#include "topdown/carve.h"

#include <algorithm>

#include "base/hash.h"
#include "ir/exceptions.h"
#include "tensor/uninitialized.h"

namespace tapml::topdown {

Carver::Carver(const Executable& executable, int64_t calls_per_kernel)
    : calls_per_kernel_(calls_per_kernel) {
  suite_.source = executable.target;
  suite_.boundary_policy = executable.boundary_policy;
  suite_.model = executable.model.architecture;
}

bool Carver::wants(const runtime::CallSite&, int64_t) noexcept { return true; }

Result<std::string> Carver::keep(const runtime::Tensor& tensor) {
  const runtime::Storage& storage = *tensor.storage;
  Known& known = known_[{storage.id(), tensor.offset, tensor.dtype, tensor.shape}];
  uint64_t version = storage.version(), generation = storage.session().generation();
  if (known.hash.empty() || known.generation != generation ||
      storage.written_since(known.version, tensor.offset, tensor.byte_size())) {
    known.hash.clear();
    TAPML_ASSIGN(known.hash, read(tensor));
    known.generation = generation;
  }
  known.version = version;
  return known.hash;
}

// The content hash of a tensor that is in the suite from then on.
Result<std::string> Carver::read(const runtime::Tensor& tensor) {
  const std::byte* base = tensor.storage->session().host_address(tensor.storage->buffer());
  if (!base) {
    TAPML_ASSIGN(HostTensor host, runtime::download(tensor));
    std::string hash = content_hash(host);
    suite_.tensors.emplace(hash, std::move(host));
    return hash;
  }
  // Everything before this call is done, so the bytes may be read where they are; what the suite
  // has already is not copied.
  HostTensor lying =
      HostTensor::view(tensor.dtype, tensor.shape, base + tensor.offset, tensor.storage);
  std::string hash = content_hash(lying);
  auto place = suite_.tensors.lower_bound(hash);
  if (place == suite_.tensors.end() || place->first != hash) {
    HostTensor copy = uninitialized_tensor(tensor.dtype, tensor.shape);
    std::ranges::copy(lying.bytes(), copy.mutable_bytes().begin());
    suite_.tensors.emplace_hint(place, hash, std::move(copy));
  }
  return hash;
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
    SuiteKernel entry{info.name, info.spec, {}, {}};
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
  if (calls_per_kernel_ > 0) {
    std::string group = info.name + "|" + call.site.function + "|";
    for (int64_t scalar : call.scalars) group += std::to_string(scalar) + ",";
    skip_ = ++kept_[group] > calls_per_kernel_;
    if (skip_) return {};
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
  if (skip_) return {};
  const KernelInfo& info = *call.site.kernel;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (info.params[i].mode == AccessMode::kIn) {
      current_.after.emplace_back();
      continue;
    }
    TAPML_ASSIGN(std::string hash, keep(call.args[i]));
    current_.after.push_back(std::move(hash));
  }
  suite_.calls.push_back(std::move(current_));
  return {};
}

}  // namespace tapml::topdown
