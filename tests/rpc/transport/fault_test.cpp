// Faults of networks and clients: a typed error in time, the next session works, nothing is left.
// docs/runtime.md lists the faults and their tests.
#include <gtest/gtest.h>

#include "client.h"
#include "confined.h"
#include "server_process.h"
#include "support/fault_proxy.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::BufferId;
using runtime::kDefaultStream;
using std::chrono::milliseconds;
using testing::Client;
using testing::expect_fault;
using testing::Fault;
using testing::FaultProxy;
using testing::kSlack;
using testing::open_session;
using testing::ServerProcess;
using Cut = Fault::Cut;

class Faults : public ::testing::Test {
 protected:
  ServerProcess serve(ListenOptions options = {}) const {
    return {"unix:" + folder_ / "server", std::move(options)};
  }
  // Checked after every fault.
  void expect_nothing_left(ServerProcess& server) const {
    EXPECT_TRUE(server.becomes_idle());
    EXPECT_TRUE(Client(server.endpoint()).run("fine"));
    EXPECT_TRUE(server.becomes_idle());
    EXPECT_EQ(server.kill(SIGTERM), 0);
    EXPECT_TRUE(testing::names_under(folder_.path()).empty());
  }
  testing::TempFolder folder_;
};

// Opens a session, writes and reads; how far it gets depends on the fault.
Status exchange(const Endpoint& endpoint, size_t size) {
  TAPML_ASSIGN(auto session, open_session(endpoint));
  const auto buffer = BufferId(session->new_handle());
  const std::vector<std::byte> bytes(size, std::byte{7});
  std::vector<std::byte> back(size);
  TAPML_TRY(session->allocate(buffer, static_cast<int64_t>(size)));
  TAPML_TRY(session->write(kDefaultStream, {buffer, 0}, bytes));
  TAPML_TRY(session->read(kDefaultStream, {buffer, 0}, back));
  EXPECT_EQ(back, bytes);
  return {};
}

TEST_F(Faults, AWayThatIsCutAnywhereIsLost) {
  ServerProcess server = serve();
  for (const Cut cut : {Cut::kHalfClose, Cut::kClose, Cut::kReset}) {
    // In the handshake's prefix and head, then inside requests and answers.
    for (const int64_t after : {4, 40, 1000, 300'000}) {
      for (const bool up : {true, false}) {
        FaultProxy::Plan plan;
        (up ? plan.up : plan.down) = {.cut = cut, .after = after};
        const FaultProxy proxy(server.endpoint(), {plan});
        const auto start = Clock::now();
        expect_fault(exchange(proxy.endpoint(), 1 << 20), PlatformFault::kLost, {"connection"});
        EXPECT_LT(Clock::now() - start, kSlack) << static_cast<int>(cut) << " after " << after;
      }
    }
  }
  expect_nothing_left(server);
}

TEST_F(Faults, ARequestThatNeverEndsEndsWithTheIdleTime) {
  ListenOptions options;
  options.server.limits.idle = milliseconds(300);
  ServerProcess server = serve(options);
  // The session's first bytes pass, then half of an upload.
  const FaultProxy proxy(server.endpoint(), {{{.cut = Cut::kStall, .after = 100'000}, {}}});
  const auto start = Clock::now();
  Status status = exchange(proxy.endpoint(), 1 << 20);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_LT(Clock::now() - start, options.server.limits.idle + kSlack);
  expect_nothing_left(server);
}

// Sends one of its frames twice.
class RepeatingChannel final : public Channel {
 public:
  RepeatingChannel(std::unique_ptr<Channel> channel, int frame)
      : channel_(std::move(channel)), left_(frame) {}
  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override {
    TAPML_TRY(channel_->send(head, payload, deadline));
    return left_-- == 0 ? channel_->send(head, payload, {}) : Status();
  }
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override {
    return channel_->receive(head, payload_bytes, deadline);
  }
  Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override {
    return channel_->receive_payload(to, deadline);
  }
  void close() noexcept override { channel_->close(); }

 private:
  std::unique_ptr<Channel> channel_;
  int left_;
};

TEST_F(Faults, AReplayedFrameEndsTheSession) {
  ServerProcess server = serve();
  for (const int frame : {0, 1, 2}) {
    auto channel = connect(server.endpoint());
    ASSERT_TRUE(channel);
    ConnectOptions options;
    options.target = "null";
    const auto start = Clock::now();
    auto session = RemoteSession::connect(
        std::make_unique<RepeatingChannel>(std::move(*channel), frame), options);
    Status status;
    if (!session) {
      status = fail(session.error());
    } else {
      const auto buffer = BufferId((*session)->new_handle());
      status = (*session)->allocate(buffer, 4096);
      for (int i = 0; status && i < 4; ++i) status = (*session)->synchronize(kDefaultStream);
    }
    expect_fault(status, PlatformFault::kProtocol, {});
    EXPECT_LT(Clock::now() - start, kSlack);
  }
  expect_nothing_left(server);
}

TEST_F(Faults, MemoryThatTheProcessMayNotHaveIsOutOfMemory) {
  if (testing::kSanitized) GTEST_SKIP() << "memory cannot be limited under a sanitizer";
  ListenOptions options;
  options.process_bytes = int64_t{2} << 30;
  ServerProcess server = serve(options);
  {
    Client client(server.endpoint());
    ASSERT_TRUE(client.session);
    const auto start = Clock::now();
    const auto large = BufferId(client.session->new_handle());
    Status allocated = client.session->allocate(large, int64_t{3} << 30);
    if (allocated) allocated = client.session->synchronize(kDefaultStream);
    expect_fault(allocated, PlatformFault::kOutOfMemory, {});
    EXPECT_LT(Clock::now() - start, kSlack);
    // The session continues.
    EXPECT_TRUE(client.run("fine"));
  }
  expect_nothing_left(server);
}

TEST_F(Faults, AKernelThatAllocatesWithoutEndRunsOutOfMemory) {
  if (testing::kSanitized) GTEST_SKIP() << "memory cannot be limited under a sanitizer";
  ListenOptions options;
  options.process_bytes = int64_t{512} << 20;  // far above what this process has
  ServerProcess server = serve(options);
  for (const char* entry : {"allocate", "allocate_c"}) {
    Client client(server.endpoint());
    ASSERT_TRUE(client.session);
    expect_fault(client.run(entry), PlatformFault::kCrash,
                 {"the session's process crashed: it ran out of memory", "at most 512 MiB: SIG",
                  "--process-memory"});
  }
  // A crash with memory to spare is not reported as out of memory.
  Client client(server.endpoint());
  const Status crash = client.run("abort");
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().message.find("memory"), std::string::npos) << crash.error().to_string();
  expect_nothing_left(server);
}

TEST_F(Faults, AKernelCannotEndTheServerOrAnotherSession) {
  // Without confinement, the signals would reach every process here.
  if (!testing::can_confine()) FAIL() << "this system does not keep sessions apart";
  ServerProcess server = serve();
  {
    Client other(server.endpoint());
    Client client(server.endpoint());
    EXPECT_TRUE(client.run("kill_others"));
    EXPECT_TRUE(client.run("fine"));
    EXPECT_TRUE(other.run("fine"));
  }
  expect_nothing_left(server);
}

TEST_F(Faults, AKilledClientLeavesNothing) {
  ServerProcess server = serve();
  for (const bool uploading : {true, false}) {
    auto ready = make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
      auto session = open_session(server.endpoint());
      if (!session || ::write(ready->write.get(), "x", 1) != 1) ::_exit(1);
      const auto buffer = BufferId((*session)->new_handle());
      const std::vector<std::byte> bytes(16 << 20);
      std::ignore = (*session)->allocate(buffer, 16 << 20);
      // Until it is killed, in the middle of an upload or between calls.
      for (;;) {
        if (uploading)
          std::ignore = (*session)->write(kDefaultStream, {buffer, 0}, bytes);
        else
          ::pause();
      }
    }
    char ignored = 0;
    ASSERT_EQ(::read(ready->read.get(), &ignored, 1), 1);
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_EQ(server.workers().size(), 1U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(server.becomes_idle());
  }
  expect_nothing_left(server);
}

}  // namespace
}  // namespace tapml::rpc
