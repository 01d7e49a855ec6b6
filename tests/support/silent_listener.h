// A TCP socket that never answers connections.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <tuple>
#include <vector>

#include "rpc/transport/connect.h"
#include "rpc/transport/descriptor.h"

namespace tapml::testing {

// Holds one connection in its queue, and no other while it is there; sends nothing.
class SilentListener {
 public:
  SilentListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 0), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  // Until a further connection is not answered.
  void fill() {
    for (int i = 0; i < 4; ++i) {
      rpc::FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(port_);
      // Not at once, since the socket is nonblocking.
      std::ignore = ::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
      waiting_.push_back(std::move(client));
    }
  }
  rpc::Endpoint endpoint(const std::string& scheme = "tcp:",
                         const std::string& host = "127.0.0.1") const {
    auto endpoint = rpc::parse_endpoint(scheme + host + ":" + std::to_string(port_));
    EXPECT_TRUE(endpoint) << endpoint.error().to_string();
    return *endpoint;
  }

 private:
  rpc::FileDescriptor socket_;
  uint16_t port_ = 0;
  std::vector<rpc::FileDescriptor> waiting_;
};

}  // namespace tapml::testing
