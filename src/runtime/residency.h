// Tracks which tensors of one session have copies on another.
#pragma once

#include <map>
#include <memory>

#include "runtime/tensor.h"

namespace tapml::runtime {

// Counts tensors copied between sessions for dispatched calls.
struct CopyCount {
  int64_t to_target = 0, from_target = 0;              // copies
  int64_t bytes_to_target = 0, bytes_from_target = 0;  // of these copies
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

// Copies of tensors on another session, valid while (storage id, version) are unchanged.
class Residency {
 public:
  explicit Residency(Session& target) : target_(target) {}
  // A tensor on the target with the bytes of `source`, copied only if it is not there yet.
  Result<Tensor> on_target(const Tensor& source) noexcept;
  // Memory on the target for an output that will be written in place of `source`.
  Result<Tensor> output_for(const Tensor& source) noexcept;
  // Copies the bytes of `copy` on the target to `source`. Waits for the target.
  Status bring_back(const Tensor& copy, const Tensor& source) noexcept;
  // Records that `copy` on the target equals `source`, which was just written.
  void keep(const Tensor& source, const Tensor& copy) noexcept;
  const CopyCount& copies() const { return copies_; }

 private:
  // One range of a source storage. `version` is kStale while the copy lacks its bytes.
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
  // The entry for `source`'s range, with memory for a copy; drops useless entries.
  Result<Entry*> entry_for(const Tensor& source) noexcept;
  bool holds(const Entry& entry, const Tensor& source) const noexcept;

  Session& target_;
  CopyCount copies_;
  std::map<Key, Entry> entries_;
};

}  // namespace tapml::runtime
