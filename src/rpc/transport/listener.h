// An endpoint that accepts connections.
#pragma once

#include "rpc/transport/socket.h"

namespace tapml::rpc {

class Listener {
 public:
  // UserError for an endpoint beyond this machine unless `anywhere`, for a path taken by anything
  // but a socket that no one listens on, and for a pipe; PlatformError for an address in use.
  static Result<std::unique_ptr<Listener>> open(const Endpoint& endpoint, bool anywhere);
  // Removes the socket's file if it is still this one's.
  ~Listener();
  Listener(const Listener&) = delete;

  const Endpoint& endpoint() const noexcept { return endpoint_; }  // with the actual port
  int get() const noexcept { return socket_.get(); }
  // Returns a pending connection; not valid if there is none.
  FileDescriptor accept() noexcept;
  // In a process that inherited it: closes it, and keeps the socket's file.
  void forget() noexcept;

 private:
  explicit Listener(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  Status bind_unix() noexcept;
  Status bind_tcp(bool anywhere) noexcept;

  Endpoint endpoint_;
  FileDescriptor socket_;
  bool has_file_ = false;
  dev_t device_ = 0;  // of the socket's file
  ino_t inode_ = 0;
};

}  // namespace tapml::rpc
