// A protocol client that can break the rules.
#pragma once

#include <gtest/gtest.h>

#include "exec/executable_file.h"
#include "native_device.h"
#include "rpc/session/wire.h"
#include "small_program.h"
#include "support/memory_channel.h"

namespace tapml::test {

// The request for buffer `id`, as RawClient::send() takes it.
inline auto allocate(uint64_t id, int64_t bytes) {
  return [=](flatbuffers::FlatBufferBuilder& builder) {
    return rpc::wire::CreateAllocate(builder, id, bytes);
  };
}

// A client that sends what the test wants.
class RawClient {
 public:
  explicit RawClient(rpc::ServerOptions options = {}) : server_(with_device(std::move(options))) {
    channel_ = server_.take_client();
  }

  // One request in its own frame; its id is `id`, or the next one.
  template <class Make>
  void send(Make&& make, std::vector<std::byte> payload = {}, uint64_t id = 0,
            int64_t timeout = -1) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = make(builder);
    const auto request = rpc::wire::CreateRequest(builder, type_of(body), body.Union(), timeout);
    const auto list = builder.CreateVector(&request, 1);
    if (id == 0) id = ++sent_;
    builder.Finish(rpc::wire::CreateRequests(builder, id, list));
    send_bytes(rpc::bytes_of(builder), payload);
  }
  void send_bytes(std::span<const std::byte> head, std::span<const std::byte> payload = {}) {
    // A server may have closed the connection by now; its reason is checked later.
    const Status sent = channel_->send(head, payload, rpc::Clock::now() + std::chrono::seconds(5));
    static_cast<void>(sent);
  }
  void hello(const char* token = "", uint16_t oldest = rpc::kOldestVersion,
             uint16_t newest = rpc::kNewestVersion) {
    send([&](flatbuffers::FlatBufferBuilder& builder) {
      return rpc::wire::CreateHelloDirect(builder, token, oldest, newest, rpc::kCapabilityVm,
                                          "cpu");
    });
  }
  // Hello and welcome.
  void open() {
    hello();
    ASSERT_EQ(next(), rpc::wire::Answer::Welcome);
  }
  // The program as VM 1, from blob 1.
  void open_vm(Executable program = small_program()) {
    ExecutableFile file;
    file.executable = std::move(program);
    const auto bytes = write_executable(file);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    send([&](flatbuffers::FlatBufferBuilder& b) {
      return rpc::wire::CreateBeginBlob(b, 1, static_cast<int64_t>(bytes->size()));
    });
    send([](flatbuffers::FlatBufferBuilder& b) { return rpc::wire::CreateBlobPart(b, 1); }, *bytes);
    send([](flatbuffers::FlatBufferBuilder& b) { return rpc::wire::CreateOpenVm(b, 1, 1); });
    ASSERT_EQ(next(), rpc::wire::Answer::Done);
  }
  // The type of the next reply; NONE if the channel ended.
  rpc::wire::Answer next() {
    do {
      uint64_t payload = 0;
      if (!channel_->receive(head_, payload, rpc::Clock::now() + std::chrono::seconds(5)))
        return rpc::wire::Answer::NONE;
      payload_.resize(payload);
      if (!channel_->receive_payload(payload_, {})) return rpc::wire::Answer::NONE;
      reply_ = rpc::verified<rpc::wire::Reply>(head_);
      if (!reply_) return rpc::wire::Answer::NONE;
    } while (reply_->answer_type() == rpc::wire::Answer::Heartbeat);
    return reply_->answer_type();
  }
  const rpc::wire::Reply& reply() const { return *reply_; }
  Error failure() const {
    const auto* failure = reply_->answer_as_Failure();
    if (!failure) return {};
    rpc::CopyBudget copies(head_.size());
    auto error = rpc::get_error(*failure, copies);
    return error ? *error : error.error();
  }
  void synchronize() {
    send([](flatbuffers::FlatBufferBuilder& builder) {
      return rpc::wire::CreateSynchronize(builder, 0);
    });
  }
  // The session ends with a protocol error that both sides see.
  void expect_broken(const char* why) {
    ASSERT_EQ(next(), rpc::wire::Answer::Failure) << why;
    EXPECT_TRUE(reply_->answer_as_Failure()->fatal()) << why;
    EXPECT_EQ(failure().fault, PlatformFault::kProtocol) << why << ": " << failure().to_string();
    Status ended = server_.join();
    ASSERT_FALSE(ended) << why;
    EXPECT_EQ(ended.error().fault, PlatformFault::kProtocol) << why;
  }
  // The error surfaces, and the session continues.
  void expect_refused(const char* part) {
    synchronize();
    ASSERT_EQ(next(), rpc::wire::Answer::Failure) << part;
    EXPECT_FALSE(reply_->answer_as_Failure()->fatal()) << part;
    EXPECT_NE(failure().to_string().find(part), std::string::npos) << failure().to_string();
    synchronize();
    EXPECT_EQ(next(), rpc::wire::Answer::Done) << part;
  }
  rpc::Channel& channel() { return *channel_; }
  Status join() { return server_.join(); }
  void close() { channel_->close(); }
  uint64_t sent() const { return sent_; }

 private:
  template <class Message>
  static rpc::wire::Body type_of(flatbuffers::Offset<Message>) {
    return rpc::wire::BodyTraits<Message>::enum_value;
  }
  static rpc::ServerOptions with_device(rpc::ServerOptions options) {
    options.limits.handshake = std::chrono::seconds(2);
    options.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
      return native_device();
    };
    return options;
  }
  testing::MemoryServer server_;
  std::unique_ptr<rpc::Channel> channel_;
  uint64_t sent_ = 0;
  std::vector<std::byte> head_, payload_;
  const rpc::wire::Reply* reply_ = nullptr;
};

}  // namespace tapml::test
