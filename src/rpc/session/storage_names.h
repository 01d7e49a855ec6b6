// The client's names for the storages of a call.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/tensor.h"

namespace tapml::rpc {

// Searches a list while there are few names, which is faster than a table, and a table after that.
class StorageNames {
 public:
  using Entry = std::pair<const runtime::Storage*, uint64_t>;

  // find() returns the first name of a storage.
  void add(const runtime::Storage* storage, uint64_t name) {
    entries_.emplace_back(storage, name);
    if (!table_.empty()) table_.emplace(storage, name);
  }
  std::optional<uint64_t> find(const runtime::Storage* storage) const {
    if (entries_.size() > kFew) {
      if (table_.empty()) table_.insert(entries_.begin(), entries_.end());
      const auto found = table_.find(storage);
      if (found == table_.end()) return {};
      return found->second;
    }
    for (const auto& [known, name] : entries_) {
      if (known == storage) return name;
    }
    return {};
  }
  // A storage may occur more than once.
  const std::vector<Entry>& entries() const { return entries_; }
  void reserve(size_t count) { entries_.reserve(count); }

 private:
  static constexpr size_t kFew = 256;
  std::vector<Entry> entries_;
  mutable std::unordered_map<const runtime::Storage*, uint64_t> table_;  // built on first use
};

}  // namespace tapml::rpc
