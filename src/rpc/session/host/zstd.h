// Zstandard (RFC 8878) as the compression of payloads.
#pragma once

#include <memory>

#include "rpc/session/compression.h"

namespace tapml::rpc {

std::shared_ptr<Compressor> make_zstd();

}  // namespace tapml::rpc
