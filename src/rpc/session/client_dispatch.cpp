#include "rpc/session/client_dispatch.h"

#include "rpc/session/wire_value.h"

namespace tapml::rpc {

using runtime::BufferId;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;

Status note_written(const flatbuffers::Vector<const wire::Written*>* written,
                    const Storages& storages) noexcept {
  for (flatbuffers::uoffset_t i = 0; i < size_of(written); ++i) {
    const wire::Written& range = *written->Get(i);
    const auto found = storages.find(range.buffer());
    if (found == storages.end()) {
      return fail(protocol_error("the other side wrote to a buffer that the call does not use"));
    }
    Storage& storage = *found->second;
    if (range.offset() < 0 || range.size() < 0 || range.size() > storage.bytes() ||
        range.offset() > storage.bytes() - range.size()) {
      return fail(protocol_error("the other side wrote outside a buffer"));
    }
    storage.written(range.offset(), range.size());
  }
  return {};
}

Status DispatchedCalls::take_buffers(const flatbuffers::Vector<int64_t>* sizes) noexcept {
  if (size_of(sizes) > kMostNames - named_) {
    return fail(protocol_error("dispatched calls use more buffers than there are names for"));
  }
  for (flatbuffers::uoffset_t i = 0; i < size_of(sizes); ++i) {
    const int64_t bytes = sizes->Get(i);
    if (bytes < 0) return fail(protocol_error("a buffer has a negative size"));
    const BufferId id{first_ + named_++};
    TAPML_TRY(session_.add_buffer(id, bytes));
    TAPML_ASSIGN(storages_[static_cast<uint64_t>(id)], Storage::adopt(session_, id, bytes));
  }
  return {};
}

Status DispatchedCalls::compute(const wire::Dispatched& call, size_t message_bytes) noexcept {
  if (call.site() < 0 || static_cast<size_t>(call.site()) >= sites_.size()) {
    return fail(protocol_error("a dispatched call has no call site"));
  }
  const runtime::CallSite& site = sites_[static_cast<size_t>(call.site())];
  const std::vector<ParamInfo>& params = site.kernel->params;
  if (size_of(call.arguments()) != params.size() ||
      size_of(call.scalars()) != site.kernel->scalars.size()) {
    return fail(protocol_error("a dispatched call does not have the parameters of its kernel"));
  }
  TAPML_TRY(take_buffers(call.buffers()));
  TAPML_TRY(note_written(call.written(), storages_));
  const auto storage_of = [&](uint64_t id) -> Result<std::shared_ptr<Storage>> {
    const auto found = storages_.find(id);
    if (found != storages_.end()) return found->second;
    return fail(protocol_error("a dispatched call uses a buffer without a name"));
  };
  CopyBudget copies(message_bytes);
  std::vector<Tensor> args;
  for (flatbuffers::uoffset_t i = 0; i < params.size(); ++i) {
    TAPML_ASSIGN(Value value, get_value(*call.arguments()->Get(i), storage_of, copies));
    const Tensor* tensor = value.tensor();
    if (!tensor || tensor->dtype != params[i].dtype) {
      return fail(protocol_error("an argument of a dispatched call does not match its kernel"));
    }
    args.push_back(*tensor);
  }
  std::vector<int64_t> scalars;
  if (call.scalars()) scalars.assign(call.scalars()->begin(), call.scalars()->end());
  return dispatcher_.call(site, args, scalars);
}

}  // namespace tapml::rpc
