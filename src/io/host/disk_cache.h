// A folder of recomputable results: by key, bounded in size, with the least recently used evicted
// first. Several processes may use one folder at once; after a crash no partial file is accepted as
// an entry. Each entry has an authentication code (HMAC-SHA256) by a key that only this user has,
// `key` in the folder: an entry that was altered, or made without the key, is dropped. A folder
// that others can write to or replace (io/host/private_folder) is not used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml {

// $XDG_CACHE_HOME/tapml, else $HOME/.cache/tapml; empty if neither is set.
std::string default_cache_folder();

inline constexpr int64_t kDefaultCacheBytes = int64_t{1} << 30;

struct DiskCacheOptions {
  std::string folder;
  // Called once if the folder cannot be used; everything works without it.
  std::function<void(const std::string& message)> warn;
  // The name of the cache in that message.
  std::string what = "the compile cache";
  // Bounds the folder for this object's puts; 0: the last set_max_bytes() of any process.
  int64_t max_bytes = 0;
};

// Thread-safe.
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);
  // Adds this object's hits and misses to those of the folder, and evicts what exceeds the bound,
  // as puts do after every eighth of the bound.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // The bytes stored under `key` (8 or more of [0-9a-f]); empty for a miss.
  std::optional<std::vector<std::byte>> get(const std::string& key);
  // Stores a copy; replaces an existing entry. Failures are ignored.
  void put(const std::string& key, std::span<const std::byte> bytes);

  // Counts of this object's get() calls.
  int64_t hits() const;
  int64_t misses() const;

  // UserError if the folder cannot be used. One that does not exist yet can.
  Status check();

  struct Summary {
    std::string folder;
    int64_t entries = 0, bytes = 0;
    int64_t max_bytes = kDefaultCacheBytes;
    int64_t hits = 0, misses = 0;  // of all processes since the folder was last cleared
  };
  Summary summary();
  // Removes all entries and counts; returns the number of entries removed. UserError if one cannot
  // be removed.
  Result<int64_t> clear();
  // Bounds the folder for all processes from now on, and evicts what exceeds the bound.
  Status set_max_bytes(int64_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml
