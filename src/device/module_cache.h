// A cache of loaded device modules.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/hash.h"
#include "runtime/device.h"

namespace tapml::device {

// Keeps modules by the hash of all their inputs, because compiling one again costs milliseconds to
// seconds. Thread-safe; loads one module at a time.
class ModuleCache {
 public:
  // The module of this key, which `load` makes on a miss. Failures are not cached.
  template <class Load>
  Result<std::shared_ptr<runtime::DeviceModule>> get(const Sha256Digest& key, Load&& load) {
    std::lock_guard guard(lock_);
    auto found = modules_.find(key);
    if (found != modules_.end()) return found->second;
    TAPML_ASSIGN(std::shared_ptr<runtime::DeviceModule> module, load());
    if (modules_.size() >= kMostModules) modules_.clear();
    modules_.emplace(key, module);
    return module;
  }

 private:
  static constexpr size_t kMostModules = 256;

  std::mutex lock_;
  std::map<Sha256Digest, std::shared_ptr<runtime::DeviceModule>> modules_;
};

}  // namespace tapml::device
