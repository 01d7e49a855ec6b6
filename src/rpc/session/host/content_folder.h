// Contents in a folder of files (io/host/disk_cache.h), shared by the processes of a server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rpc/session/content_store.h"

namespace tapml::rpc {

// Takes at most about `max_bytes`; the least recently used go first. `warn` hears, once, that the
// folder cannot be used: then nothing is kept.
std::unique_ptr<ContentStore> open_content_folder(
    const std::string& folder, int64_t max_bytes,
    std::function<void(const std::string& message)> warn = {});

}  // namespace tapml::rpc
