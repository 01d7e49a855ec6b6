#include "rpc/session/server_dispatch.h"

#include <unordered_set>

#include "rpc/session/wire_value.h"

namespace tapml::rpc {

using runtime::Storage;

Status ServerCore::Dispatch::begin(const wire::Dispatch& request) noexcept {
  runtime::DispatchPlan plan;
  if (request.sites()) {
    if (!core_.copies_.take(uint64_t{request.sites()->size()} * sizeof(int32_t))) return {};
    plan.sites.assign(request.sites()->begin(), request.sites()->end());
  }
  TAPML_ASSIGN(sites_, runtime::dispatched_sites(vm_.executable(), plan));
  std::unordered_set<const Storage*> seen;
  for (const auto& [storage, name] : names_.entries()) {
    if (!seen.insert(storage).second) continue;
    TAPML_ASSIGN(auto owner, core_.buffer(name));
    const uint64_t version = owner->version();
    known_.push_back({std::move(owner), name, version});
  }
  return {};
}

// The client learns of the VM's own storage with the first call that uses it.
Result<uint64_t> ServerCore::Dispatch::name_of(const std::shared_ptr<Storage>& storage,
                                               std::vector<int64_t>& sizes) {
  if (const auto known = names_.find(storage.get())) return *known;
  if (named_ >= count_) {
    return fail(
        platform_error(PlatformFault::kLimit, "dispatched calls use more buffers than the " +
                                                  std::to_string(count_) + " that may be named"));
  }
  const uint64_t name = first_ + named_;
  TAPML_TRY(core_.handles_.check_new(wire::HandleKind::Buffer, name));
  core_.handles_.add(wire::HandleKind::Buffer, name);
  core_.buffers_[name] = storage;
  ++named_;
  names_.add(storage.get(), name);
  known_.push_back({storage, name, storage->version()});
  sizes.push_back(storage->bytes());
  return name;
}

std::vector<wire::Written> ServerCore::Dispatch::written() const {
  std::vector<wire::Written> ranges;
  for (const Known& one : known_) {
    one.storage->for_each_write_since(one.version, [&](int64_t offset, int64_t bytes) {
      ranges.emplace_back(one.name, offset, bytes);
    });
  }
  return ranges;
}

Status ServerCore::Dispatch::call(const runtime::CallSite& site, runtime::Arguments args,
                                  std::span<const int64_t> scalars) noexcept {
  auto& builder = core_.builder_;
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
  if (!core_.reply(core_.call_->request,
                   wire::CreateDispatched(builder, site.id, numbers, arguments, buffers, ranges))) {
    return fail(*core_.broken_);
  }
  TAPML_TRY(core_.serve_suspended(*core_.call_));
  vm_.set_deadline(core_.deadline_);  // of the client that waits now
  // The client knows what it wrote meanwhile.
  for (Known& one : known_) one.version = one.storage->version();
  return {};
}

// --- of the core -------------------------------------------------------------------------------

Status ServerCore::serve_suspended(ServedCall& call) noexcept {
  // The frame of the call, which is used again once the call is done.
  std::vector<std::byte> head = std::move(head_);
  const CopyBudget copies = copies_;
  call.suspended = true;
  work(false);
  while (call.suspended && !broken_) {
    Status taken = take_frame(Clock::now() + options_.limits.idle);
    if (!taken && !broken_) broken_ = std::move(taken).error();
  }
  work(true);
  call.suspended = false;
  head_ = std::move(head);
  copies_ = copies;
  if (broken_) return fail(*broken_);
  if (call.failed) return fail(std::move(*call.failed));
  if (call.request == 0) {
    return fail(platform_error(PlatformFault::kCancelled, "the client abandoned the run"));
  }
  return {};
}

Status ServerCore::resume(uint64_t id, const wire::Resume& request) noexcept {
  if (!call_ || !call_->suspended || call_->vm != request.vm()) {
    // A client that gives up cannot know how far the VM got.
    if (request.abandoned()) return {};
    return fail(internal_error("a call was resumed that is not suspended at a dispatched call"));
  }
  call_->suspended = false;
  call_->request = request.abandoned() ? 0 : id;
  if (Status written = surface(); !written) call_->failed = std::move(written).error();
  return {};
}

}  // namespace tapml::rpc
