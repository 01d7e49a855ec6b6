// A client's encrypted connection as a byte stream.
#pragma once

#include "rpc/transport/byte_stream.h"
#include "rpc/transport/connect.h"
#include "rpc/transport/tls.h"

namespace tapml::rpc {

// Shakes hands over a connected socket with the server that is called `host`. Errors are those of
// TlsConnection, kTimeout and kCancelled.
Result<std::unique_ptr<ByteStream>> open_tls_stream(const TlsContext& context,
                                                    FileDescriptor socket, const std::string& host,
                                                    std::string peer, runtime::Deadline deadline,
                                                    const Interrupted& interrupted = {}) noexcept;

}  // namespace tapml::rpc
