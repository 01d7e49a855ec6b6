// A client's encrypted connection as a byte stream.
#pragma once

#include "rpc/transport/byte_stream.h"
#include "rpc/transport/connect.h"
#include "rpc/transport/tls.h"

namespace tapml::rpc {

// Does the handshake over a connected socket with the server named `host`. Errors: those of
// TlsConnection, kTimeout and kCancelled.
Result<std::unique_ptr<ByteStream>> open_tls_stream(const TlsContext& context,
                                                    FileDescriptor socket, const std::string& host,
                                                    std::string peer, runtime::Deadline deadline,
                                                    const Interrupted& interrupted = {}) noexcept;

}  // namespace tapml::rpc
