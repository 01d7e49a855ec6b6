// What of one session's tensors is on another session.
#pragma once

#include <map>
#include <memory>

#include "runtime/tensor.h"

namespace tapml::runtime {

// Tensors that went from one session to another for dispatched calls.
struct CopyCount {
  int64_t to_target = 0, from_target = 0;              // copies
  int64_t bytes_to_target = 0, bytes_from_target = 0;  // in them
  CopyCount& operator+=(const CopyCount& other) {
    to_target += other.to_target;
    from_target += other.from_target;
    bytes_to_target += other.bytes_to_target;
    bytes_from_target += other.bytes_from_target;
    return *this;
  }
  CopyCount operator-(const CopyCount& other) const {
    return {to_target - other.to_target, from_target - other.from_target,
            bytes_to_target - other.bytes_to_target, bytes_from_target - other.bytes_from_target};
  }
};

// Copies of tensors on another session, valid while (storage id, version) stand.
class Residency {
 public:
  explicit Residency(Session& target) : target_(target) {}
  // A tensor on the target with the bytes of `source`, copied only when not there already.
  Result<Tensor> on_target(const Tensor& source) noexcept;
  // Memory for an output that the target is about to write, in place of `source`.
  Result<Tensor> output_for(const Tensor& source) noexcept;
  // The bytes of `copy` on the target, now also in `source`. Waits for the target.
  Status bring_back(const Tensor& copy, const Tensor& source) noexcept;
  // `copy` on the target now holds what `source` (just written) holds.
  void keep(const Tensor& source, const Tensor& copy) noexcept;
  const CopyCount& copies() const { return copies_; }

 private:
  // One range of a source storage. `version` is kStale while the copy does not hold its bytes.
  static constexpr uint64_t kStale = ~uint64_t{0};
  struct Entry {
    uint64_t version = kStale;
    uint64_t source_generation = 0, target_generation = 0;  // Session::generation()
    std::weak_ptr<Storage> source;
    Tensor copy;
  };
  struct Key {
    uint64_t storage;
    int64_t offset, bytes;
    auto operator<=>(const Key&) const = default;
  };
  // The entry of `source`'s range, with memory for a copy; entries without use are dropped.
  Result<Entry*> entry_for(const Tensor& source) noexcept;
  bool holds(const Entry& entry, const Tensor& source) const noexcept;

  Session& target_;
  CopyCount copies_;
  std::map<Key, Entry> entries_;
};

}  // namespace tapml::runtime
