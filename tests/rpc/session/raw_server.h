// A protocol server that can break the rules.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"
#include "support/memory_channel.h"

namespace tapml::test {

// A server that sends what the test wants, and a client session with it.
class RawServer {
 public:
  RawServer() { std::tie(server_, client_) = testing::memory_channels(); }

  template <class Make>
  void reply(uint64_t request, Make&& make, std::vector<std::byte> payload = {},
             uint64_t sequence = 0) {
    flatbuffers::FlatBufferBuilder builder;
    const auto answer = make(builder);
    const auto head = rpc::finish_reply(builder, sequence ? sequence : ++replies_, request, answer);
    ASSERT_TRUE(server_->send(head, payload));
  }
  void done(uint64_t request, uint64_t sequence = 0) {
    reply(
        request, [](flatbuffers::FlatBufferBuilder& b) { return rpc::wire::CreateDone(b); }, {},
        sequence);
  }
  void welcome(uint16_t version = rpc::kNewestVersion, uint64_t capabilities = 0) {
    reply(1, [&](flatbuffers::FlatBufferBuilder& b) {
      return rpc::wire::CreateWelcome(b, version, capabilities, rpc::put_device(b, {}), 1 << 20,
                                      1 << 20);
    });
  }
  Result<std::unique_ptr<rpc::RemoteSession>> connect() {
    rpc::ConnectOptions options;
    options.handshake = std::chrono::milliseconds(300);
    options.silence = std::chrono::seconds(2);
    return rpc::RemoteSession::connect(std::move(client_), options);
  }
  std::unique_ptr<rpc::RemoteSession> open(uint64_t capabilities = 0) {
    welcome(rpc::kNewestVersion, capabilities);
    auto session = connect();
    EXPECT_TRUE(session) << session.error().to_string();
    return std::move(*session);
  }
  rpc::Channel& channel() { return *server_; }

 private:
  std::unique_ptr<rpc::Channel> server_, client_;
  uint64_t replies_ = 0;
};

}  // namespace tapml::test
