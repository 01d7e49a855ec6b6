#include "app/cache.h"

#include <cstdlib>
#include <string_view>

#include "base/log.h"

namespace tapml::app {

namespace {

constexpr const char* kVariable = "TAPML_CACHE";

}  // namespace

bool cache_switched_off() {
  const char* value = std::getenv(kVariable);
  return value && std::string_view(value) == "off";
}

std::string cache_folder() {
  const char* value = std::getenv(kVariable);
  return value && *value ? value : default_cache_folder();
}

std::shared_ptr<DiskCache> open_disk_cache(const CacheOptions& options) {
  if (options.off || cache_switched_off()) return nullptr;
  return std::make_shared<DiskCache>(DiskCacheOptions{
      .folder = cache_folder(), .warn = [](const std::string& message) { log_warning(message); }});
}

std::string content_folder() {
  const std::string folder = cache_switched_off() ? "" : cache_folder();
  return folder.empty() ? "" : folder + "/contents";
}

CompileCache::CompileCache(const CacheOptions& options) : disk_(open_disk_cache(options)) {
  if (!disk_) return;
  kernels_ = std::make_unique<pipeline::KernelCache>(disk_);
}

}  // namespace tapml::app
