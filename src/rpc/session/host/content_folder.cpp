#include "rpc/session/host/content_folder.h"

#include <utility>

#include "io/host/disk_cache.h"

namespace tapml::rpc {

namespace {

class ContentFolder final : public ContentStore {
 public:
  explicit ContentFolder(DiskCacheOptions options) : cache_(std::move(options)) {}
  std::optional<std::vector<std::byte>> get(const std::string& key) noexcept override {
    return cache_.get(key);
  }
  void put(const std::string& key, std::span<const std::byte> bytes) noexcept override {
    cache_.put(key, bytes);
  }

 private:
  DiskCache cache_;
};

}  // namespace

std::unique_ptr<ContentStore> open_content_folder(
    const std::string& folder, int64_t max_bytes,
    std::function<void(const std::string& message)> warn) {
  DiskCacheOptions options;
  options.folder = folder;
  options.warn = std::move(warn);
  options.max_bytes = max_bytes;
  options.what = "the store of weights and modules";
  return std::make_unique<ContentFolder>(std::move(options));
}

}  // namespace tapml::rpc
