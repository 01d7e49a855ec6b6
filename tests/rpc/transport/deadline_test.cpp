// Deadlines while the other side does not read what is sent.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <future>

#include "client.h"
#include "conformance/programs.h"
#include "pattern.h"
#include "rpc/session/native_device.h"
#include "rpc/session/server_session.h"
#include "rpc/transport/stream_channel.h"
#include "runtime/dispatch.h"
#include "server_process.h"
#include "support/fault_proxy.h"

namespace tapml::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::BufferId;
using runtime::kDefaultStream;
using std::chrono::milliseconds;
using testing::Client;
using testing::expect_fault;
using testing::kSlack;
using testing::pattern;
using testing::ServerProcess;

// Reads `frames` more frames, then nothing.
class PausedChannel final : public StreamChannel {
 public:
  using StreamChannel::StreamChannel;
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override {
    // A failing test must not hang.
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (frames <= 0 && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
    Status status = StreamChannel::receive(head, payload_bytes, deadline);
    if (status) --frames;
    return status;
  }
  std::atomic<int> frames = kAll;
  static constexpr int kAll = 1 << 30;
};

TEST(Deadlines, PassWhileARequestDoesNotGoOutAndTheSessionContinues) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const int small = 1;  // the smallest size that the system allows
  ::setsockopt(pair->first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  PausedChannel server(std::move(pair->second), FileDescriptor(), "the client");
  ServerOptions options;
  options.open_device = [](const std::string&) {
    return std::make_shared<testing::FaultyDevice>();
  };
  const std::jthread serves([&] { std::ignore = serve_session(server, options); });
  {
    auto session = RemoteSession::connect(make_stream_channel(std::move(pair->first), "b"), {});
    ASSERT_TRUE(session) << session.error().to_string();
    const auto buffer = BufferId((*session)->new_handle());
    const auto bytes = pattern(64 << 10);
    ASSERT_TRUE((*session)->allocate(buffer, 64 << 10));
    server.frames = 1;
    ASSERT_TRUE((*session)->synchronize(kDefaultStream));
    // Not sent before the wait: more than the connection buffers.
    ASSERT_TRUE((*session)->write(kDefaultStream, {buffer, 0}, std::span(bytes).first(15 << 10)));
    for (int i = 0; i < 3; ++i) {
      const auto start = Clock::now();
      Status waited = (*session)->synchronize(kDefaultStream, start + milliseconds(100));
      expect_fault(waited, PlatformFault::kTimeout, {"before the deadline"});
      EXPECT_GE(Clock::now() - start, milliseconds(100));
      EXPECT_LT(Clock::now() - start, milliseconds(100) + kSlack);
    }
    server.frames = PausedChannel::kAll;
    // The rest of the half-sent frame follows, and then everything later.
    ASSERT_TRUE(
        (*session)->write(kDefaultStream, {buffer, 15 << 10}, std::span(bytes).subspan(15 << 10)));
    std::vector<std::byte> back(bytes.size());
    Status read = (*session)->read(kDefaultStream, {buffer, 0}, back);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(back, bytes);
  }
}

// The local results of a dispatched call cannot be sent, and neither can the cancel, which must
// follow them.
TEST(Deadlines, PassWhileADispatchedCallIsNotSentAndTheVirtualMachineContinues) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const int small = 1;  // the smallest size that the system allows
  ::setsockopt(pair->first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  PausedChannel server(std::move(pair->second), FileDescriptor(), "the client");
  ServerOptions options;
  options.open_device = [](const std::string&) { return test::native_device(); };
  const std::jthread serves([&] { std::ignore = serve_session(server, options); });
  ConnectOptions times;
  times.request = milliseconds(500);
  auto session = RemoteSession::connect(make_stream_channel(std::move(pair->first), "b"), times);
  ASSERT_TRUE(session) << session.error().to_string();
  {
    const auto program = test::share(test::chain_program(test::native_blob()));
    auto vm = std::move(*(*session)->open_vm(program));
    const auto buffer = BufferId((*session)->new_handle());
    const auto bytes = pattern(256 << 10);
    ASSERT_TRUE((*session)->allocate(buffer, 256 << 10));
    class Writer final : public runtime::Dispatcher {
     public:
      explicit Writer(std::function<Status()> write) : write_(std::move(write)) {}
      Status call(const runtime::CallSite&, runtime::Arguments,
                  std::span<const int64_t>) noexcept override {
        return write_();
      }

     private:
      std::function<Status()> write_;
    } writer([&] {
      server.frames = 0;
      return (*session)->write(kDefaultStream, {buffer, 0}, bytes);
    });
    const std::vector<runtime::Value> args = {*runtime::upload(**session, test::f32({1, 2})),
                                              *runtime::upload(**session, test::f32({10, 20}))};
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(vm->set_dispatch({{1}}, &writer));
      const auto start = Clock::now();
      auto result = vm->call("main", args);
      expect_fault(result, PlatformFault::kTimeout, {});
      EXPECT_LT(Clock::now() - start, milliseconds(1000) + kSlack);
      server.frames = PausedChannel::kAll;
      ASSERT_TRUE(vm->set_dispatch({}, nullptr));
      auto read = vm->call_and_read("main", args, 0);
      ASSERT_TRUE(read) << read.error().to_string();
      EXPECT_EQ(test::floats(read->bytes), (std::vector<float>{63, 126}));
    }
  }
  session->reset();
}

TEST(Deadlines, ASessionThatCannotSendItsReleasesEndsSoon) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const int small = 1;
  ::setsockopt(pair->first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  PausedChannel server(std::move(pair->second), FileDescriptor(), "the client");
  ServerOptions options;
  options.open_device = [](const std::string&) {
    return std::make_shared<testing::FaultyDevice>();
  };
  const std::jthread serves([&] { std::ignore = serve_session(server, options); });
  auto session = RemoteSession::connect(make_stream_channel(std::move(pair->first), "b"), {});
  ASSERT_TRUE(session) << session.error().to_string();
  const auto buffer = BufferId((*session)->new_handle());
  ASSERT_TRUE((*session)->allocate(buffer, 1 << 20));
  server.frames = 1;
  ASSERT_TRUE((*session)->synchronize(kDefaultStream));
  ASSERT_TRUE((*session)->write(kDefaultStream, {buffer, 0}, pattern(15 << 10)));
  const auto start = Clock::now();
  session->reset();
  EXPECT_LT(Clock::now() - start, kSlack);
  server.frames = PausedChannel::kAll;
}

TEST(Deadlines, PassWhileAnotherThreadsBytesAreNotTaken) {
  ServerProcess server("127.0.0.1:0", {});
  Client client(server.endpoint());
  ASSERT_TRUE(client.session);
  const auto buffer = BufferId(client.session->new_handle());
  constexpr int64_t kBytes = 128 << 20;  // more than any connection buffers
  ASSERT_TRUE(client.session->allocate(buffer, kBytes));
  auto run = std::async(std::launch::async, [&] { return client.run("hang"); });
  std::this_thread::sleep_for(milliseconds(200));
  // The server is alive, so the upload waits; the server reads nothing while the kernel runs.
  auto upload = std::async(std::launch::async, [&] {
    const std::vector<std::byte> bytes(kBytes);
    return client.session->write(kDefaultStream, {buffer, 0}, bytes);
  });
  std::this_thread::sleep_for(milliseconds(300));
  const auto start = Clock::now();
  Status waited = client.session->synchronize(kDefaultStream, start + milliseconds(200));
  EXPECT_LT(Clock::now() - start, milliseconds(200) + kSlack);
  expect_fault(waited, PlatformFault::kTimeout, {"before the deadline"});
  server.kill(SIGKILL);
  expect_fault(run.get(), PlatformFault::kLost, {});
  expect_fault(upload.get(), PlatformFault::kLost, {});
}

// About 13 MB per second.
const testing::Fault kThrottle{milliseconds(5), 64 << 10};

// Interrupts `request` after 300 ms; it must end within a second of that.
Status interrupt(RemoteSession& session, const std::function<Status()>& request) {
  std::atomic<bool> flag = false;
  session.set_interrupt([&] { return flag.load(); });
  auto setter = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(milliseconds(300));
    flag = true;
  });
  const auto start = Clock::now();
  Status status = request();
  EXPECT_LT(Clock::now() - start, milliseconds(300) + kSlack);
  setter.get();
  session.set_interrupt({});
  return status;
}

TEST(Deadlines, AnUploadIsInterruptedAndTheSessionContinues) {
  ServerProcess server("127.0.0.1:0", {});
  testing::FaultProxy proxy(server.endpoint(), {{kThrottle, {}}});
  Client client(proxy.endpoint());
  ASSERT_TRUE(client.session);
  constexpr int64_t kBytes = 64 << 20;
  const auto buffer = BufferId(client.session->new_handle());
  ASSERT_TRUE(client.session->allocate(buffer, kBytes));
  const std::vector<std::byte> bytes(kBytes, std::byte{7});
  Status written = interrupt(
      *client.session, [&] { return client.session->write(kDefaultStream, {buffer, 0}, bytes); });
  expect_fault(written, PlatformFault::kCancelled, {});
  // The part in flight arrives complete.
  std::vector<std::byte> back(1 << 10);
  Status read =
      client.session->read(kDefaultStream, {buffer, 0}, back, Clock::now() + milliseconds(20'000));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(back, std::vector<std::byte>(back.size(), std::byte{7}));
  EXPECT_TRUE(client.run("fine"));
}

TEST(Deadlines, AReadIsInterruptedAndTheRestStaysRemote) {
  ServerProcess server("127.0.0.1:0", {});
  testing::FaultProxy proxy(server.endpoint(), {{{}, kThrottle}});
  Client client(proxy.endpoint());
  ASSERT_TRUE(client.session);
  constexpr int64_t kBytes = 128 << 20;
  const auto buffer = BufferId(client.session->new_handle());
  ASSERT_TRUE(client.session->allocate(buffer, kBytes));
  std::vector<std::byte> back(kBytes);
  Status read = interrupt(*client.session,
                          [&] { return client.session->read(kDefaultStream, {buffer, 0}, back); });
  expect_fault(read, PlatformFault::kCancelled, {});
  Status done = client.session->synchronize(kDefaultStream, Clock::now() + milliseconds(20'000));
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_LT(proxy.passed_down(), kBytes / 2);
}

TEST(Deadlines, PassOnAThrottledWayAndTheSessionGoesOn) {
  ServerProcess server("127.0.0.1:0", {});
  // 200 KB per second.
  testing::FaultProxy proxy(server.endpoint(), {{{milliseconds(5), 1000}, {}}});
  Client client(proxy.endpoint());
  ASSERT_TRUE(client.session);
  const auto bytes = pattern(150'000);
  const auto buffer = BufferId(client.session->new_handle());
  ASSERT_TRUE(client.session->allocate(buffer, 150'000));
  ASSERT_TRUE(client.session->write(kDefaultStream, {buffer, 0}, bytes));
  std::vector<std::byte> back(bytes.size());
  const auto start = Clock::now();
  Status read = client.session->read(kDefaultStream, {buffer, 0}, back, start + milliseconds(100));
  expect_fault(read, PlatformFault::kTimeout, {"deadline"});
  EXPECT_LT(Clock::now() - start, milliseconds(100) + kSlack);
  read = client.session->read(kDefaultStream, {buffer, 0}, back);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(back, bytes);
}

}  // namespace
}  // namespace tapml::rpc
