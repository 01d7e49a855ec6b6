#include "runtime/residency.h"

namespace tapml::runtime {

namespace {

Tensor view_of(const Tensor& copy, const Tensor& source) {
  return Tensor{copy.storage, 0, source.dtype, source.shape};
}

}  // namespace

bool Residency::holds(const Entry& entry, const Tensor& source) const noexcept {
  return entry.version != kStale &&
         !source.storage->written_since(entry.version, source.offset, source.byte_size()) &&
         entry.source_generation == source.storage->session().generation() &&
         entry.target_generation == target_.generation();
}

Result<Residency::Entry*> Residency::entry_for(const Tensor& source) noexcept {
  if (!source.storage) return fail(internal_error("a tensor without storage is copied"));
  Key key{source.storage->id(), source.offset, source.byte_size()};
  auto found = entries_.find(key);
  if (found != entries_.end()) return &found->second;
  // When a new range needs memory, drop entries that nobody can request again, and other ranges of
  // the same storage from before it was reused.
  std::erase_if(entries_, [&](const auto& item) {
    return item.second.source.expired() ||
           (item.first.storage == key.storage &&
            (item.second.version == kStale ||
             source.storage->written_since(item.second.version, item.first.offset,
                                           item.first.bytes)));
  });
  TAPML_ASSIGN(std::shared_ptr<Storage> storage, Storage::allocate(target_, key.bytes));
  Entry entry;
  entry.source = source.storage;
  entry.copy = Tensor{std::move(storage), 0, source.dtype, source.shape};
  return &entries_.emplace(key, std::move(entry)).first->second;
}

Result<Tensor> Residency::on_target(const Tensor& source) noexcept {
  TAPML_ASSIGN(Entry * entry, entry_for(source));
  if (!holds(*entry, source)) {
    entry->version = kStale;
    TAPML_ASSIGN(HostTensor bytes, download(source));
    TAPML_TRY(target_.write(kDefaultStream, {entry->copy.storage->buffer(), 0}, bytes.bytes()));
    ++copies_.to_target;
    copies_.bytes_to_target += source.byte_size();
    keep(source, entry->copy);
  }
  entry->version = source.storage->version();
  return view_of(entry->copy, source);
}

Result<Tensor> Residency::output_for(const Tensor& source) noexcept {
  TAPML_ASSIGN(Entry * entry, entry_for(source));
  entry->version = kStale;
  return view_of(entry->copy, source);
}

Status Residency::bring_back(const Tensor& copy, const Tensor& source) noexcept {
  TAPML_ASSIGN(HostTensor bytes, download(copy));
  TAPML_TRY(source.storage->session().write(
      kDefaultStream, {source.storage->buffer(), source.offset}, bytes.bytes()));
  source.storage->written(source.offset, source.byte_size());
  ++copies_.from_target;
  copies_.bytes_from_target += source.byte_size();
  return {};
}

void Residency::keep(const Tensor& source, const Tensor& copy) noexcept {
  Entry& entry = entries_[{source.storage->id(), source.offset, source.byte_size()}];
  entry.version = source.storage->version();
  entry.source_generation = source.storage->session().generation();
  entry.target_generation = target_.generation();
  entry.source = source.storage;
  entry.copy = view_of(copy, source);
}

}  // namespace tapml::runtime
