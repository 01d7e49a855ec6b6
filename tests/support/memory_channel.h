// Two channels in one process, each the other's end.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "rpc/session/remote_session.h"
#include "rpc/session/server_session.h"

namespace tapml::testing {

// `room`: bytes on the way in one direction before send() blocks; a frame larger than that passes
// when nothing else is on the way.
std::pair<std::unique_ptr<rpc::Channel>, std::unique_ptr<rpc::Channel>> memory_channels(
    size_t room = size_t{8} << 20);

// A server's session on a thread of its own, with the client's end of its channel.
class MemoryServer {
 public:
  explicit MemoryServer(rpc::ServerOptions options);
  // The device that the client gets, whatever target it names.
  explicit MemoryServer(const std::shared_ptr<runtime::Device>& device);
  ~MemoryServer();  // the client must have gone, or its session is cut off

  std::unique_ptr<rpc::Channel> take_client() { return std::move(client_); }
  // Fails the test where the handshake does.
  std::unique_ptr<rpc::RemoteSession> connect(const rpc::ConnectOptions& options = {});
  // Both ends find the channel closed, as when the machine there goes.
  void cut() { server_->close(); }
  // What the session ended with.
  Status join();

 private:
  void start();
  rpc::ServerOptions options_;
  std::unique_ptr<rpc::Channel> server_, client_;
  std::thread thread_;
  Status ended_;
};

}  // namespace tapml::testing
