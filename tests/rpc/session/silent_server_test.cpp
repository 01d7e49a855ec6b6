// Servers that send nothing, or only heartbeats: each request ends within its time limit.
#include <gtest/gtest.h>

#include <functional>

#include "conformance/programs.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"
#include "small_program.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

namespace wire = rpc::wire;
using namespace std::chrono_literals;
using runtime::BufferId;
using runtime::kDefaultStream;
using testing::fault_of;

constexpr auto kRequest = 300ms;
constexpr auto kSlackOfRequest = 1000ms;

struct Manners {
  bool lives = true;  // sends heartbeats
  bool takes = true;  // reads what is sent
};

class SilentServer {
 public:
  SilentServer(const Manners& manners, uint64_t capabilities) : manners_(manners) {
    std::tie(channel_, client_) = testing::memory_channels(size_t{16} << 10);
    flatbuffers::FlatBufferBuilder builder;
    send(builder, 1, 1,
         wire::CreateWelcome(builder, rpc::kNewestVersion, capabilities,
                             rpc::put_device(builder, {}), 1 << 20, 1 << 20));
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~SilentServer() { channel_->close(); }

  std::unique_ptr<rpc::RemoteSession> connect() {
    rpc::ConnectOptions options;
    options.request = kRequest;
    auto session = rpc::RemoteSession::connect(std::move(client_), options);
    EXPECT_TRUE(session) << session.error().to_string();
    return std::move(*session);
  }

 private:
  template <class Answer>
  void send(flatbuffers::FlatBufferBuilder& builder, uint64_t sequence, uint64_t request,
            flatbuffers::Offset<Answer> answer) {
    const auto head = rpc::finish_reply(builder, sequence, request, answer);
    std::ignore = channel_->send(head, {}, rpc::Clock::now() + 10s);
  }

  void serve(const std::stop_token& stop) {
    // Answers the hello in any case, since there is no session without it.
    bool first = true;
    while (!stop.stop_requested()) {
      if (manners_.takes || first) {
        std::vector<std::byte> head;
        uint64_t payload = 0;
        const Status received = channel_->receive(head, payload, rpc::Clock::now() + 20ms);
        first = first && !received;
        std::vector<std::byte> bytes(received ? payload : 0);
        if (received) std::ignore = channel_->receive_payload(bytes, rpc::Clock::now() + 1s);
      } else {
        std::this_thread::sleep_for(20ms);
      }
      if (!manners_.lives || first) continue;
      flatbuffers::FlatBufferBuilder builder;
      send(builder, 0, 0, wire::CreateHeartbeat(builder));
    }
  }

  const Manners manners_;
  std::unique_ptr<rpc::Channel> channel_, client_;
  std::jthread thread_;
};

struct Asked {
  const char* name;
  std::function<Status(rpc::RemoteSession&)> request;
};

Status launch_until_it_fails(rpc::RemoteSession& session) {
  const BufferId buffer{session.new_handle()};
  TAPML_TRY(session.allocate(buffer, 64));
  for (int i = 0; i < 100'000; ++i) {
    TAPML_TRY(session.fill_zero(kDefaultStream, {buffer, 0}, 64));
  }
  return {};
}

Status write_much(rpc::RemoteSession& session, bool content) {
  constexpr int64_t kBytes = 8 << 20;
  const BufferId buffer{session.new_handle()};
  TAPML_TRY(session.allocate(buffer, kBytes));
  const std::vector<std::byte> bytes(kBytes, std::byte{7});
  if (!content) return session.write(kDefaultStream, {buffer, 0}, bytes);
  const runtime::ContentWrite write{{buffer, 0}, bytes};
  return session.write_contents(kDefaultStream, {&write, 1});
}

// Requests that wait for an answer.
std::vector<Asked> questions() {
  return {
      {"synchronize", [](rpc::RemoteSession& s) { return s.synchronize(kDefaultStream); }},
      {"read",
       [](rpc::RemoteSession& s) -> Status {
         const BufferId buffer{s.new_handle()};
         TAPML_TRY(s.allocate(buffer, 64));
         std::vector<std::byte> bytes(64);
         return s.read(kDefaultStream, {buffer, 0}, bytes);
       }},
      {"allocate",
       [](rpc::RemoteSession& s) {
         return s.allocate(BufferId{s.new_handle()}, rpc::RemoteSession::kLargeAllocation);
       }},
      {"load_module",
       [](rpc::RemoteSession& s) {
         return s.load_module(runtime::ModuleId{s.new_handle()}, native_blob());
       }},
      {"open_vm",
       [](rpc::RemoteSession& s) -> Status {
         TAPML_ASSIGN([[maybe_unused]] const auto vm,
                      s.open_vm(std::make_shared<const Executable>(small_program())));
         return {};
       }},
      {"write_contents", [](rpc::RemoteSession& s) { return write_much(s, true); }},
      {"start_trace", [](rpc::RemoteSession& s) { return s.start_trace(); }},
      {"snapshot",
       [](rpc::RemoteSession& s) -> Status {
         TAPML_ASSIGN([[maybe_unused]] const auto snapshot, s.snapshot());
         return {};
       }},
  };
}

void expect_given_up(const Asked& asked, const Manners& manners) {
  SCOPED_TRACE(asked.name);
  SilentServer server(manners,
                      rpc::kCapabilityVm | rpc::kCapabilityContent | rpc::kCapabilityTrace);
  auto session = server.connect();
  ASSERT_TRUE(session);
  const auto start = rpc::Clock::now();
  const Status status = asked.request(*session);
  EXPECT_EQ(fault_of(status), PlatformFault::kTimeout)
      << (status ? "it went well" : status.error().to_string());
  EXPECT_GE(rpc::Clock::now() - start, kRequest);
  // Including everything that it releases.
  session.reset();
  EXPECT_LT(rpc::Clock::now() - start, kRequest + kSlackOfRequest);
}

TEST(SilentServer, IsGivenUpInEveryQuestion) {
  for (const bool lives : {true, false}) {
    for (const Asked& asked : questions()) expect_given_up(asked, {.lives = lives});
  }
}

// A server may send heartbeats and read nothing.
TEST(SilentServer, IsGivenUpWhereItTakesNothing) {
  for (const bool lives : {true, false}) {
    const Manners manners{.lives = lives, .takes = false};
    for (const Asked& asked : questions()) expect_given_up(asked, manners);
    expect_given_up({"write", [](rpc::RemoteSession& s) { return write_much(s, false); }}, manners);
    expect_given_up({"fill_zero", launch_until_it_fails}, manners);
  }
}

// Releasing thousands of buffers does not block.
TEST(SilentServer, HoldsUpNobodyWhoLetsGo) {
  SilentServer server({.takes = false}, 0);
  auto session = server.connect();
  ASSERT_TRUE(session);
  std::vector<BufferId> buffers;
  Status allocated;
  while (allocated && buffers.size() < 20'000) {
    buffers.push_back(BufferId{session->new_handle()});
    allocated = session->allocate(buffers.back(), 64);
  }
  EXPECT_EQ(fault_of(allocated), PlatformFault::kTimeout);
  const auto start = rpc::Clock::now();
  for (const BufferId buffer : buffers) session->release(buffer);
  session.reset();
  EXPECT_LT(rpc::Clock::now() - start, kSlackOfRequest);
}

}  // namespace
}  // namespace tapml::test
