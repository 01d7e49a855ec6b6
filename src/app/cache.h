// The compile cache of this user.
#pragma once

#include <memory>
#include <string>

#include "io/host/disk_cache.h"
#include "pipeline/kernel_cache.h"

namespace tapml::app {

struct CacheOptions {
  bool off = false;  // neither read nor written
};

// Whether TAPML_CACHE is "off".
bool cache_switched_off();

// The folder that TAPML_CACHE names, else default_cache_folder().
std::string cache_folder();

// The folder of this user's caches; null if TAPML_CACHE or `options` disable it. A folder that
// cannot be used is a warning, given once.
std::shared_ptr<DiskCache> open_disk_cache(const CacheOptions& options);

// The folder where a server of this user keeps weights and modules of its clients, next to the
// compile cache; empty if TAPML_CACHE is "off" or no folder is known.
std::string content_folder();

// The cache of this user, in the folder that TAPML_CACHE names, else in default_cache_folder();
// none if TAPML_CACHE is "off". A folder that cannot be used is a warning, given once.
class CompileCache {
 public:
  explicit CompileCache(const CacheOptions& options);
  // Null where there is none.
  pipeline::KernelCache* kernels() { return kernels_.get(); }
  // Null where there is none. For whole executables (app/cached_compile.h).
  DiskCache* disk() { return disk_.get(); }
  // Cache hits so far.
  int64_t hits() const { return disk_ ? disk_->hits() : 0; }

 private:
  std::shared_ptr<DiskCache> disk_;
  std::unique_ptr<pipeline::KernelCache> kernels_;
};

}  // namespace tapml::app
