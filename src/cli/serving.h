// What the commands that serve have in common.
#pragma once

#include <string>

#include "rpc/transport/connect.h"

namespace tapml::cli {

// The endpoint to listen at; a tcp one becomes a tls one with a certificate. UserError for a
// certificate without a key or the reverse, for a tls endpoint without them, and for another
// endpoint with them.
rpc::Endpoint listening_endpoint(const std::string& listen, const std::string& tls_certificate,
                                 const std::string& tls_key);
// The same for HTTP, which is served over TCP only.
rpc::Endpoint http_endpoint(const std::string& listen, const std::string& tls_certificate,
                            const std::string& tls_key);

// UserError for a --key that is no key of a tracker's devices.
void check_device_key(const std::string& key);

// Allows as many open files as the system does: each connection of a server has one, and three if
// it is encrypted.
void raise_file_limit();

}  // namespace tapml::cli
