// The compile cache of this user.
#pragma once

#include <memory>
#include <string>

#include "io/host/disk_cache.h"
#include "pipeline/kernel_cache.h"

namespace tapml::app {

struct CacheOptions {
  bool off = false;  // neither looked into nor added to
};

// Whether TAPML_CACHE is "off".
bool cache_switched_off();

// The folder that TAPML_CACHE names, else default_cache_folder().
std::string cache_folder();

// The folder of this user's caches, null where TAPML_CACHE or `options` say so. That it cannot be
// used is a warning, once.
std::shared_ptr<DiskCache> open_disk_cache(const CacheOptions& options);

// Where a server of this user keeps weights and modules of its clients, beside the compile cache;
// empty where TAPML_CACHE is "off" or no folder is known.
std::string content_folder();

// The cache of this user, or none: TAPML_CACHE is "off", or the folder; else
// default_cache_folder(). That it cannot be used is a warning, once.
class CompileCache {
 public:
  explicit CompileCache(const CacheOptions& options);
  // Null where there is none.
  pipeline::KernelCache* kernels() { return kernels_ ? kernels_.get() : nullptr; }
  // Kernels found, and not found, so far.
  int64_t hits() const { return disk_ ? disk_->hits() : 0; }
  int64_t misses() const { return disk_ ? disk_->misses() : 0; }

 private:
  std::shared_ptr<DiskCache> disk_;
  std::unique_ptr<pipeline::KernelCache> kernels_;
};

}  // namespace tapml::app
