// What a server keeps of weights and modules, so that they are sent once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapml::rpc {

// Keys are 64 hexadecimal digits. Several processes may share what is behind it. It is not trusted:
// whoever asks knows the hash of what should come.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  // Nothing for a miss.
  virtual std::optional<std::vector<std::byte>> get(const std::string& key) noexcept = 0;
  // It may be let go of at any time; failures are no errors.
  virtual void put(const std::string& key, std::span<const std::byte> bytes) noexcept = 0;
};

}  // namespace tapml::rpc
