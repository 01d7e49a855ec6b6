#include "rpc/session/server_dispatch.h"

#include <unordered_set>

#include "rpc/session/wire_value.h"

namespace tapml::rpc {

using runtime::Storage;

Status CallService::Dispatch::begin(const wire::Dispatch& request) noexcept {
  runtime::DispatchPlan plan;
  if (request.sites()) {
    if (!calls_.channel_.copies().take(uint64_t{request.sites()->size()} * sizeof(int32_t)))
      return {};
    plan.sites.assign(request.sites()->begin(), request.sites()->end());
  }
  TAPML_ASSIGN(sites_, runtime::dispatched_sites(vm_.executable(), plan));
  std::unordered_set<const Storage*> seen;
  for (const auto& [storage, name] : names_.entries()) {
    if (!seen.insert(storage).second) continue;
    TAPML_ASSIGN(auto owner, calls_.device_.buffer(name));
    const uint64_t version = owner->version();
    known_.push_back({std::move(owner), name, version});
  }
  return {};
}

// The client learns of the VM's own storage with the first call that uses it.
Result<uint64_t> CallService::Dispatch::name_of(const std::shared_ptr<Storage>& storage,
                                                std::vector<int64_t>& sizes) {
  if (const auto known = names_.find(storage.get())) return *known;
  if (named_ >= count_) {
    return fail(
        platform_error(PlatformFault::kLimit, "dispatched calls use more buffers than the " +
                                                  std::to_string(count_) + " that may be named"));
  }
  const uint64_t name = first_ + named_;
  TAPML_TRY(calls_.device_.handles().check_new(wire::HandleKind::Buffer, name));
  calls_.device_.name_buffer(name, storage);
  ++named_;
  names_.add(storage.get(), name);
  known_.push_back({storage, name, storage->version()});
  sizes.push_back(storage->bytes());
  return name;
}

std::vector<wire::Written> CallService::Dispatch::written() const {
  std::vector<wire::Written> ranges;
  for (const Known& one : known_) {
    one.storage->for_each_write_since(one.version, [&](int64_t offset, int64_t bytes) {
      ranges.emplace_back(one.name, offset, bytes);
    });
  }
  return ranges;
}

Status CallService::Dispatch::call(const runtime::CallSite& site, runtime::Arguments args,
                                   std::span<const int64_t> scalars) noexcept {
  auto& builder = calls_.channel_.builder();
  const auto ranges = builder.CreateVectorOfStructs(written());  // of storages known so far
  std::vector<int64_t> sizes;
  const NameOf name = [&](const std::shared_ptr<Storage>& storage) {
    return name_of(storage, sizes);
  };
  const Where where = [&] { return "kernel " + site.kernel->name; };
  std::vector<flatbuffers::Offset<wire::Value>> list;
  for (size_t i = 0; i < args.size(); ++i) {
    auto value = put_value(builder, args[i], name, where);
    if (!value) {
      builder.Clear();
      return fail(std::move(value).error());
    }
    list.push_back(*value);
  }
  const auto numbers = builder.CreateVector(scalars.data(), scalars.size());
  const auto arguments = builder.CreateVector(list);
  const auto buffers = builder.CreateVector(sizes);
  if (!calls_.channel_.reply(
          calls_.call_->request,
          wire::CreateDispatched(builder, site.id, numbers, arguments, buffers, ranges))) {
    return fail(*calls_.channel_.broken());
  }
  TAPML_TRY(calls_.serve_suspended(*calls_.call_));
  vm_.set_deadline(calls_.channel_.deadline());  // of the client that waits now
  // The client knows what it wrote meanwhile.
  for (Known& one : known_) one.version = one.storage->version();
  return {};
}

}  // namespace tapml::rpc
