// A place that is listened on.
#pragma once

#include "rpc/transport/socket.h"

namespace tapml::rpc {

class Listener {
 public:
  // UserError for a place beyond this machine unless `anywhere`, for a path that is taken by
  // something else than a socket nobody listens on, and for a pipe; PlatformError for an address
  // that is taken.
  static Result<std::unique_ptr<Listener>> open(const Endpoint& endpoint, bool anywhere);
  // The socket's file goes, if it still is this one's.
  ~Listener();
  Listener(const Listener&) = delete;

  const Endpoint& endpoint() const noexcept { return endpoint_; }  // with the port that was chosen
  int get() const noexcept { return socket_.get(); }
  // A connection that waits; not valid where there is none.
  FileDescriptor accept() noexcept;
  // In a process that inherited it: closes, and leaves the socket's file alone.
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
