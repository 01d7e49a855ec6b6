// The names that a client uses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

// The handles of one session in use, by kind. If an object could not be made, its name stays and
// holds the error.
class HandleTable {
 public:
  // `most`: the limit for all kinds together, at one time.
  explicit HandleTable(size_t most) : most_(most) {}

  // Ok if the client may give this name to a new object.
  Status check_new(wire::HandleKind kind, uint64_t id) const noexcept;
  // Ok if the object exists; otherwise its error, or that the name is unknown.
  Status known(wire::HandleKind kind, uint64_t id) const noexcept;
  bool contains(wire::HandleKind kind, uint64_t id) const noexcept;
  bool is_failed(wire::HandleKind kind, uint64_t id) const noexcept;

  void add(wire::HandleKind kind, uint64_t id, std::optional<Error> error = {});
  // Adds a name that exists from the start and does not count against the limit.
  void add_own(wire::HandleKind kind, uint64_t id);
  // Whether the name existed. Unless its object is still `counted`, there is room for another.
  bool erase(wire::HandleKind kind, uint64_t id, bool counted = false) noexcept;

 private:
  using Names = std::unordered_map<uint64_t, std::optional<Error>>;
  Names& names(wire::HandleKind kind) { return names_[static_cast<size_t>(kind)]; }
  const Names& names(wire::HandleKind kind) const { return names_[static_cast<size_t>(kind)]; }

  std::array<Names, static_cast<size_t>(wire::HandleKind::MAX) + 1> names_;
  size_t count_ = 0;
  const size_t most_;
};

}  // namespace tapml::rpc
