// Addresses of connections, for people.
#pragma once

#include <string>

namespace tapml {

// The other end of a connected TCP socket: "192.0.2.1:50312", "[::1]:50312"; "?" if there is none.
std::string peer_address(int socket);

}  // namespace tapml
