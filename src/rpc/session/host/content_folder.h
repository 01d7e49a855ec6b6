// Contents in a folder of files (io/host/disk_cache.h), shared by the processes of a server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/session/content_store.h"

namespace tapml::rpc {

// Holds about `max_bytes` at most, and evicts the least recently used entries. Calls `warn` once if
// the folder cannot be used; then nothing is kept.
std::unique_ptr<ContentStore> open_content_folder(
    const std::string& folder, int64_t max_bytes,
    std::function<void(const std::string& message)> warn = {});

}  // namespace tapml::rpc
