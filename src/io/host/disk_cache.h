// A folder of results that can be computed again: by key, bounded in size, the least recently used
// go first. Several processes may use one folder at once; a crash leaves nothing that is taken for
// an entry. Each entry has a code (HMAC-SHA256) by a key that only this user has, `key` in the
// folder: an entry that was altered, or made by whoever lacks the key, is dropped. A folder that
// others can write to, or put another one in the place of (io/host/private_folder), is not used.
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

// $XDG_CACHE_HOME/tapml, else $HOME/.cache/tapml; empty where neither is known.
std::string default_cache_folder();

inline constexpr int64_t kDefaultCacheBytes = int64_t{1} << 30;

struct DiskCacheOptions {
  std::string folder;
  // Told, once, that the folder cannot be used; everything works without it then.
  std::function<void(const std::string& message)> warn;
  // What it is, for that message.
  std::string what = "the compile cache";
  // Bounds the folder for this object's puts; 0: what set_max_bytes() said last, for all processes.
  int64_t max_bytes = 0;
};

// Safe to use from several threads.
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);
  // Adds this object's hits and misses to those of the folder, and removes what is over the bound,
  // as puts of an eighth of it do.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // What was put under `key` (8 or more of [0-9a-f]); nothing for a miss.
  std::optional<std::vector<std::byte>> get(const std::string& key);
  // Keeps a copy; an entry that is there already is replaced. Failures are no errors.
  void put(const std::string& key, std::span<const std::byte> bytes);

  // Of this object's get().
  int64_t hits() const;
  int64_t misses() const;

  // UserError where the folder cannot be used. One that is not there yet can.
  Status check();

  struct Summary {
    std::string folder;
    int64_t entries = 0, bytes = 0;
    int64_t max_bytes = kDefaultCacheBytes;
    int64_t hits = 0, misses = 0;  // of all processes since the folder was last cleared
  };
  Summary summary();
  // Removes all entries and counts; returns how many entries there were. UserError where one cannot
  // be removed.
  Result<int64_t> clear();
  // Bounds the folder for all processes from now on, and removes what is over it.
  Status set_max_bytes(int64_t bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml
