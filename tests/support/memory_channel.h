// Two connected channels in one process.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "rpc/session/remote_session.h"
#include "rpc/session/server_session.h"

namespace tapml::testing {

// `room`: bytes in flight in one direction before send() blocks; a larger frame passes when nothing
// else is in flight.
std::pair<std::unique_ptr<rpc::Channel>, std::unique_ptr<rpc::Channel>> memory_channels(
    size_t room = size_t{8} << 20);

// A server's session on its own thread, with the client's end of its channel.
class MemoryServer {
 public:
  explicit MemoryServer(rpc::ServerOptions options);
  // The device that the client gets, whatever target it names.
  explicit MemoryServer(const std::shared_ptr<runtime::Device>& device);
  ~MemoryServer();  // the client must be gone, or its session is cut off

  std::unique_ptr<rpc::Channel> take_client() { return std::move(client_); }
  // Fails the test if the handshake fails.
  std::unique_ptr<rpc::RemoteSession> connect(const rpc::ConnectOptions& options = {});
  // Closes the channel for both ends, as when the remote machine goes down.
  void cut() { server_->close(); }
  // The status with which the session ended.
  Status join();

 private:
  void start();
  rpc::ServerOptions options_;
  std::unique_ptr<rpc::Channel> server_, client_;
  std::thread thread_;
  Status ended_;
};

}  // namespace tapml::testing
