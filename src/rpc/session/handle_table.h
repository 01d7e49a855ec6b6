// What the client has names for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

// The handles of one session in use, by kind. A name whose thing could not be made stays, and
// stands for the error.
class HandleTable {
 public:
  // `most`: of all kinds together, at one time.
  explicit HandleTable(size_t most) : most_(most) {}

  // Ok where the client may name something so now.
  Status check_new(wire::HandleKind kind, uint64_t id) const noexcept;
  // Ok for the name of something that is there; else its error, or that nothing has the name.
  Status known(wire::HandleKind kind, uint64_t id) const noexcept;
  bool contains(wire::HandleKind kind, uint64_t id) const noexcept;
  bool is_failed(wire::HandleKind kind, uint64_t id) const noexcept;

  void add(wire::HandleKind kind, uint64_t id, std::optional<Error> error = {});
  // A name that is there from the beginning and counts as none of the client's.
  void add_own(wire::HandleKind kind, uint64_t id);
  // Whether there was such a name. Where it is not `counted` any more there is room for another.
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
