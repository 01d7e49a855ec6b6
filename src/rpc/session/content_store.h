// A server's store of weights and modules, so that they are sent only once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapml::rpc {

// Keys are 64 hexadecimal digits. Several processes may share the storage. It is not trusted:
// callers check what they get against its hash.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  // Nothing on a miss.
  virtual std::optional<std::vector<std::byte>> get(const std::string& key) noexcept = 0;
  // The store may drop it at any time; failures are not reported.
  virtual void put(const std::string& key, std::span<const std::byte> bytes) noexcept = 0;
};

}  // namespace tapml::rpc
