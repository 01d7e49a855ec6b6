#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

#include "client.h"
#include "rpc/transport/socket.h"
#include "rpc/transport/stream_channel.h"
#include "server_process.h"
#ifdef TAPML_HAS_OPENSSL
#include "support/certificates.h"
#endif
#include "support/expect_error.h"
#include "support/fault_proxy.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using testing::becomes_true;
using testing::Client;
using testing::expect_fault;
using testing::kSlack;
using testing::open_session;
using testing::ServerProcess;

class Served : public ::testing::TestWithParam<const char*> {
 protected:
  Served() {
    if (way() != "tls") return;
#ifdef TAPML_HAS_OPENSSL
    const testing::Authority authority("root");
    authority.write_root(folder_ / "root.pem");
    authority.issue(folder_ / "server.pem", folder_ / "key.pem");
    ::setenv("SSL_CERT_FILE", (folder_ / "root.pem").c_str(), 1);  // the system's roots
#endif
  }
  void TearDown() override { ::unsetenv("SSL_CERT_FILE"); }

  static std::string way() { return GetParam(); }
  ServerProcess serve(ListenOptions options = {}) const {
    if (way() == "unix") return {"unix:" + folder_ / "server", std::move(options)};
    if (way() == "tcp") return {"127.0.0.1:0", std::move(options)};
    options.tls_certificate = folder_ / "server.pem";
    options.tls_key = folder_ / "key.pem";
    return {"tls:127.0.0.1:0", std::move(options)};
  }
  testing::TempFolder folder_;
};

TEST_P(Served, SeveralSessionsEachInItsProcess) {
  ServerProcess server = serve();
  {
    Client a(server.endpoint()), b(server.endpoint()), c(server.endpoint());
    EXPECT_EQ(server.workers().size(), 3U);
    for (Client* client : {&a, &b, &c, &a}) EXPECT_TRUE(client->run("fine"));
  }
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(server.kill(SIGTERM), 0);
}

TEST_P(Served, AsManyConcurrentSessionsAsAllowed) {
  ServerProcess server = serve();
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 64; ++i) clients.push_back(std::make_unique<Client>(server.endpoint()));
    for (int round = 0; round < 5; ++round) {
      for (auto& client : clients) ASSERT_TRUE(client->run("fine"));
    }
    EXPECT_EQ(server.workers().size(), 64U);
    expect_fault(open_session(server.endpoint()), PlatformFault::kLimit, {"64"});
  }
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_P(Served, EventsOfBothProcessesAreInOrder) {
  using Kind = runtime::TraceEvent::Kind;
  ServerProcess server = serve();
  Client client(server.endpoint());
  ASSERT_TRUE(client.session);
  ASSERT_TRUE(client.session->start_trace());
  const int rounds = 20;
  for (int i = 0; i < rounds; ++i) ASSERT_TRUE(client.run("fine"));
  auto taken = client.session->take_trace();
  ASSERT_TRUE(taken) << taken.error().to_string();
  std::vector<runtime::TraceEvent> kernels, waits;
  for (const auto& event : *taken) {
    if (event.remote && event.kind == Kind::kKernel) kernels.push_back(event);
    if (!event.remote && event.kind == Kind::kWait) waits.push_back(event);
  }
  ASSERT_EQ(kernels.size(), static_cast<size_t>(rounds));
  ASSERT_EQ(waits.size(), static_cast<size_t>(rounds));
  // No round trip is faster than those used to compare the clocks, with some tolerance.
  const int64_t slack = std::ranges::min_element(waits, {}, [](const auto& event) {
                          return event.duration;
                        })->duration;
  for (size_t i = 0; i < kernels.size(); ++i) {
    // Possibly sent before the wait for it began, but after the previous one had ended.
    if (i > 0) {
      EXPECT_GE(kernels[i].start, waits[i - 1].start + waits[i - 1].duration - slack);
    }
    EXPECT_LE(kernels[i].start + kernels[i].duration, waits[i].start + waits[i].duration + slack);
    EXPECT_EQ(kernels[i].name, "fine");
  }
}

TEST_P(Served, ACrashIsToldAndTakesItsSessionOnly) {
  ServerProcess server = serve();
  Client other(server.endpoint());
  EXPECT_TRUE(other.run("fine"));
  struct Crash {
    const char* entry;
    std::vector<std::string> parts;
  };
  for (const Crash& crash :
       {Crash{"crash",
              {"crashed", "SIGSEGV at address 0x40", "\n  at 0x", "\n  by 0x",
               "the last lines of the server's log:", "\n  opened null"}},
        Crash{"abort", {"crashed", "SIGABRT"}}, Crash{"exit", {"exit code 3"}}}) {
    Client client(server.endpoint());
    const auto start = Clock::now();
    expect_fault(client.run(crash.entry), PlatformFault::kCrash, crash.parts);
    EXPECT_LT(Clock::now() - start, kSlack) << crash.entry;
    // The session stays lost.
    ASSERT_FALSE(client.session->synchronize(runtime::kDefaultStream));
    EXPECT_TRUE(other.run("fine")) << crash.entry;
    EXPECT_TRUE(Client(server.endpoint()).run("fine")) << crash.entry;
  }
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 1; }));
}

TEST_P(Served, TheFirstSenderLearnsWhyTheSessionEnded) {
  ServerProcess server = serve();
  Client client(server.endpoint());
  ASSERT_TRUE(client.run("fine"));
  std::this_thread::sleep_for(milliseconds(50));  // its process has sent the reply
  ::kill(server.workers().front(), SIGKILL);
  EXPECT_TRUE(server.becomes_idle());
  const std::vector<std::byte> bytes(8 << 20);
  const auto buffer = runtime::BufferId(client.session->new_handle());
  Status sent = client.session->allocate(buffer, 8 << 20);
  for (int i = 0; sent && i < 10; ++i) {
    sent = client.session->write(runtime::kDefaultStream, {buffer, 0}, bytes);
  }
  if (sent) sent = client.session->synchronize(runtime::kDefaultStream);
  expect_fault(sent, PlatformFault::kLost, {"ended by SIGKILL"});
}

TEST_P(Served, AKilledProcessIsTold) {
  ServerProcess server = serve();
  Client client(server.endpoint());
  auto run = std::async(std::launch::async, [&] { return client.run("hang"); });
  std::this_thread::sleep_for(milliseconds(200));
  ASSERT_EQ(server.workers().size(), 1U);
  const auto start = Clock::now();
  ::kill(server.workers().front(), SIGKILL);
  expect_fault(run.get(), PlatformFault::kLost, {"ended by SIGKILL"});
  EXPECT_LT(Clock::now() - start, kSlack);
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_P(Served, AKernelThatNeverEndsIsKilled) {
  ListenOptions options;
  options.call = milliseconds(300);
  const ServerProcess server = serve(options);
  Client client(server.endpoint());
  const auto start = Clock::now();
  expect_fault(client.run("hang"), PlatformFault::kTimeout, {"longer than 300 ms", "--call"});
  EXPECT_LT(Clock::now() - start, options.call + kSlack);
  EXPECT_TRUE(server.becomes_idle());
  // Time between requests does not count.
  Client patient(server.endpoint());
  EXPECT_TRUE(patient.run("fine"));
  std::this_thread::sleep_for(2 * options.call);
  EXPECT_TRUE(patient.run("fine"));
}

TEST_P(Served, AKernelThatNeverEndsDoesNotKeepASessionThatItsClientLeft) {
  const ServerProcess server = serve();
  {
    Client client(server.endpoint());
    const auto start = Clock::now();
    expect_fault(client.run("hang_later", start + milliseconds(200)), PlatformFault::kTimeout, {});
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST_P(Served, ADeviceThatNeverOpensIsKilled) {
  ListenOptions options;
  options.call = milliseconds(300);
  options.server.open_device = [](const std::string&) -> Result<std::shared_ptr<runtime::Device>> {
    while (true) ::pause();
  };
  const ServerProcess server = serve(options);
  const auto start = Clock::now();
  expect_fault(open_session(server.endpoint()), PlatformFault::kTimeout, {"longer than 300 ms"});
  EXPECT_LT(Clock::now() - start, options.call + kSlack);
}

TEST_P(Served, TheServersEndIsToldAndLeavesNothing) {
  ServerProcess server = serve();
  Client idle(server.endpoint()), busy(server.endpoint());
  auto run = std::async(std::launch::async, [&] { return busy.run("hang"); });
  std::this_thread::sleep_for(milliseconds(100));
  const std::vector<pid_t> workers = server.workers();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(server.kill(SIGTERM), 0);
  expect_fault(run.get(), PlatformFault::kLost, {"the server was ended"});
  expect_fault(idle.run("fine"), PlatformFault::kLost, {});
  for (const pid_t worker : workers) {
    EXPECT_TRUE(becomes_true([&] { return !testing::process_runs(worker); }));
  }
  EXPECT_FALSE(testing::names_under(folder_.path()).contains("server"));
}

TEST_P(Served, AKilledServerIsLostAndItsProcessesEnd) {
  {
    ServerProcess server = serve();
    Client client(server.endpoint());
    EXPECT_TRUE(client.run("fine"));
    const std::vector<pid_t> workers = server.workers();
    server.kill(SIGKILL);
    const auto start = Clock::now();
    expect_fault(client.run("fine"), PlatformFault::kLost, {});
    EXPECT_LT(Clock::now() - start, kSlack);
    for (const pid_t worker : workers) {
      EXPECT_TRUE(becomes_true([&] { return !testing::process_runs(worker); }));
    }
  }
  // Its socket file still exists and does not interfere.
  const ServerProcess next = serve();
  EXPECT_TRUE(Client(next.endpoint()).run("fine"));
}

TEST_P(Served, SessionsBeyondTheLimitAreRefused) {
  ListenOptions options;
  options.sessions = 2;
  const ServerProcess server = serve(options);
  Client a(server.endpoint());
  {
    Client b(server.endpoint());
    EXPECT_TRUE(a.run("fine"));
    EXPECT_TRUE(b.run("fine"));
    const auto start = Clock::now();
    expect_fault(open_session(server.endpoint()), PlatformFault::kLimit, {"limit of 2 sessions"});
    EXPECT_LT(Clock::now() - start, kSlack);
  }
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 1; }));
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
  EXPECT_TRUE(a.run("fine"));
}

// All are connected when the first one sends hello: the server has refused none.
TEST_P(Served, OfConcurrentHellosTheAllowedNumberIsWelcomed) {
  constexpr int kMost = 2, kClients = 12;
  ListenOptions options;
  options.sessions = kMost;
  const ServerProcess server = serve(options);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Channel>> channels;
    for (int i = 0; i < kClients; ++i) {
      auto channel = connect(server.endpoint(), Clock::now() + std::chrono::seconds(10));
      ASSERT_TRUE(channel) << channel.error().to_string();
      channels.push_back(std::move(*channel));
    }
    std::vector<std::future<Result<std::unique_ptr<RemoteSession>>>> hellos;
    for (auto& channel : channels) {
      hellos.push_back(std::async(std::launch::async, [&channel] {
        ConnectOptions hello;
        hello.target = "null";
        return RemoteSession::connect(std::move(channel), hello);
      }));
    }
    std::vector<std::unique_ptr<RemoteSession>> welcomed;
    for (auto& hello : hellos) {
      auto opened = hello.get();
      if (opened) {
        welcomed.push_back(std::move(*opened));
      } else {
        expect_fault(opened, PlatformFault::kLimit, {"limit of 2 sessions"});
      }
    }
    EXPECT_EQ(welcomed.size(), static_cast<size_t>(kMost));
    // No client that was welcomed is disconnected later.
    for (int look = 0; look < 10; ++look) {
      for (auto& session : welcomed) {
        const Status well = session->synchronize(runtime::kDefaultStream);
        EXPECT_TRUE(well) << well.error().to_string();
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
    welcomed.clear();
    EXPECT_TRUE(becomes_true([&] { return server.workers().empty(); }));
  }
}

TEST_P(Served, TakesTheRightTokenOnly) {
  ListenOptions options;
  options.server.token = "open sesame";
  options.server.describe = [] { return std::string("{\"version\": \"7\"}"); };
  const ServerProcess server = serve(options);
  for (const char* token : {"", "open", "open sesamE", "open sesame "}) {
    auto refused = open_session(server.endpoint(), token);
    ASSERT_FALSE(refused) << token;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUser) << refused.error().to_string();
    EXPECT_EQ(refused.error().fault, PlatformFault::kUnauthorized);
    ConnectOptions wrong;
    wrong.token = token;
    auto channel = connect(server.endpoint());
    ASSERT_TRUE(channel);
    EXPECT_FALSE(query_status(**channel, wrong));
  }
  EXPECT_TRUE(open_session(server.endpoint(), options.server.token));
  ConnectOptions right;
  right.token = options.server.token;
  auto channel = connect(server.endpoint());
  ASSERT_TRUE(channel);
  auto status = query_status(**channel, right);
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(*status, "{\"version\": \"7\"}");
  channel->reset();
  EXPECT_TRUE(server.becomes_idle());
}

TEST_P(Served, AStatusThatNeverComesIsKilled) {
  ListenOptions options;
  options.call = milliseconds(300);
  options.server.describe = []() -> std::string {
    while (true) ::pause();
  };
  const ServerProcess server = serve(options);
  auto channel = connect(server.endpoint());
  ASSERT_TRUE(channel);
  const auto start = Clock::now();
  expect_fault(query_status(**channel, {}), PlatformFault::kTimeout, {"longer than 300 ms"});
  EXPECT_LT(Clock::now() - start, options.call + kSlack);
}

TEST_P(Served, EachRequestOfAFrameHasItsOwnTime) {
  ListenOptions options;
  options.call = milliseconds(500);
  const ServerProcess server = serve(options);
  Client client(server.endpoint());
  // Ten launches of 100 ms are sent together with the wait for them.
  Status ran = client.run("slow", {}, 10);
  EXPECT_TRUE(ran) << ran.error().to_string();
}

// A raw socket.
FileDescriptor raw_connection(const Endpoint& endpoint, const std::string& from = "") {
  auto address = resolve(endpoint, false);
  auto socket = open_socket(address->front(), false, "test");
  if (!from.empty()) {
    const auto own = resolve(*parse_endpoint(from + ":0"), false);
    EXPECT_EQ(::bind(socket->get(), own->front().get(), own->front().size), 0);
  }
  EXPECT_EQ(::connect(socket->get(), address->front().get(), address->front().size), 0);
  return std::move(*socket);
}

// Whether the other side ends the connection before the deadline; earlier bytes are skipped.
bool ends_before(const FileDescriptor& socket, Clock::time_point deadline) {
  char bytes[1024];
  while (wait_ready(socket.get(), false, -1, deadline) == Ready::kYes) {
    if (::recv(socket.get(), bytes, sizeof bytes, 0) <= 0) return true;
  }
  return false;
}

TEST_P(Served, ASlowClientHoldsOnlyItself) {
  ListenOptions options;
  options.server.limits.handshake = milliseconds(400);
  const ServerProcess server = serve(options);
  const auto start = Clock::now();
  std::vector<FileDescriptor> slow;
  for (int i = 0; i < 5; ++i) slow.push_back(raw_connection(server.endpoint()));
  // The beginning of a frame, byte by byte, while others are served.
  const unsigned char beginning[] = {40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0};
  for (const unsigned char byte : beginning) {
    for (const FileDescriptor& socket : slow) ::send(socket.get(), &byte, 1, MSG_NOSIGNAL);
    if (byte == 40) {
      EXPECT_TRUE(Client(server.endpoint()).run("fine"));
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  for (const FileDescriptor& socket : slow) {
    EXPECT_TRUE(ends_before(socket, start + options.server.limits.handshake + kSlack));
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST_P(Served, ConnectionsThatSayNothingKeepNobodyOut) {
  ListenOptions options;
  options.sessions = 2;
  ServerProcess server = serve(options);
  std::vector<FileDescriptor> silent;
  auto connect_silently = [&](int count) {
    for (int i = 0; i < count; ++i) silent.push_back(raw_connection(server.endpoint()));
  };
  connect_silently(2);
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 2; }));
  Client a(server.endpoint());
  EXPECT_TRUE(a.run("fine"));
  // For any number of connections: the oldest are closed first.
  connect_silently(80);
  Client b(server.endpoint());
  EXPECT_TRUE(b.run("fine"));
  EXPECT_TRUE(ends_before(silent.front(), Clock::now() + std::chrono::seconds(5)));
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() <= 2 + 64; }));
  expect_fault(open_session(server.endpoint()), PlatformFault::kLimit, {"limit of 2 sessions"});
  EXPECT_TRUE(a.run("fine"));
}

// More than the server has processes for, including TLS relays whose handshake never begins.
TEST_P(Served, AFloodOfSilentConnectionsLetsOthersIn) {
  ListenOptions options;
  options.sessions = 2;
  options.server.limits.handshake = std::chrono::seconds(40);
  // A process per connection is slow under sanitizers: a smaller flood meets smaller limits there.
  int flood = 300;
  if (testing::kSanitized) {
    flood = 60;
    options.unfinished = 32;
    options.unfinished_of_peer = 16;
  }
  ServerProcess server = serve(options);
  Client a(server.endpoint());
  ASSERT_TRUE(a.run("fine"));
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < flood; ++i) silent.push_back(raw_connection(server.endpoint()));
  const auto start = Clock::now();
  Client b(server.endpoint());
  EXPECT_TRUE(b.run("fine"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));  // a handshake has 40
  EXPECT_TRUE(ends_before(silent.front(), Clock::now() + std::chrono::seconds(5)));
  EXPECT_TRUE(a.run("fine"));
  silent.clear();
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 2; }));
}

TEST_P(Served, SilentConnectionsOfOnePeerDoNotPushOutOthers) {
  if (way() == "unix") GTEST_SKIP() << "all of a Unix socket are one peer";
  ListenOptions options;
  options.unfinished = 8;
  options.unfinished_of_peer = 4;
  ServerProcess server = serve(options);
  const FileDescriptor patient = raw_connection(server.endpoint(), "127.0.0.2");
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 1; }));
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(raw_connection(server.endpoint()));
  EXPECT_TRUE(ends_before(silent[0], Clock::now() + std::chrono::seconds(5)));
  EXPECT_TRUE(becomes_true([&] { return server.workers().size() == 1 + 4; }));
  EXPECT_FALSE(ends_before(patient, Clock::now() + milliseconds(200)));
  EXPECT_FALSE(ends_before(silent.back(), Clock::now() + milliseconds(100)));
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_P(Served, WhatIsNoFrameEndsItsConnection) {
  ServerProcess server = serve();
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n"), std::string(100'000, '\xff'),
        std::string("\x04\0\0\0\0\0\0\0\0\0\0\0abcd", 16), std::string(64, '\0')}) {
    FileDescriptor socket = raw_connection(server.endpoint());
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(ends_before(socket, Clock::now() + kSlack)) << text.substr(0, 20);
  }
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_P(Served, AClientThatVanishesWhileItUploadsLeavesNothing) {
  using Cut = testing::Fault::Cut;
  ServerProcess server = serve();
  for (const Cut cut : {Cut::kClose, Cut::kReset, Cut::kHalfClose}) {
    testing::FaultProxy proxy(server.endpoint(), {{{.cut = cut, .after = 3 << 20}, {}}});
    auto session = open_session(proxy.endpoint());
    ASSERT_TRUE(session) << session.error().to_string();
    const auto buffer = runtime::BufferId((*session)->new_handle());
    const std::vector<std::byte> bytes(16 << 20);
    ASSERT_TRUE((*session)->allocate(buffer, 16 << 20));
    Status sent = (*session)->write(runtime::kDefaultStream, {buffer, 0}, bytes);
    if (sent) sent = (*session)->synchronize(runtime::kDefaultStream);
    expect_fault(sent, PlatformFault::kLost, {});
    EXPECT_TRUE(server.becomes_idle()) << static_cast<int>(cut);
  }
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_P(Served, AStalledWayIsNoticed) {
  ServerProcess server = serve();
  testing::FaultProxy proxy(server.endpoint(),
                            {{{}, {.cut = testing::Fault::Cut::kStall, .after = 20'000}}});
  auto channel = connect(proxy.endpoint());
  ASSERT_TRUE(channel);
  ConnectOptions options;
  options.target = "null";
  options.silence = milliseconds(500);
  auto session = RemoteSession::connect(std::move(*channel), options);
  ASSERT_TRUE(session) << session.error().to_string();
  const auto buffer = runtime::BufferId((*session)->new_handle());
  ASSERT_TRUE((*session)->allocate(buffer, 1 << 20));
  std::vector<std::byte> bytes(1 << 20);
  const auto start = Clock::now();
  Status read = (*session)->read(runtime::kDefaultStream, {buffer, 0}, bytes);
  expect_fault(read, PlatformFault::kLost, {});
  EXPECT_LT(Clock::now() - start, options.silence + kSlack);
}

TEST_P(Served, SlowAndCrossedConnectionsGiveTheSameBytes) {
  ServerProcess server = serve();
  // The first connection is slower than the second, and stalls in the middle of its bytes until the
  // second is done: what is sent first arrives last.
  testing::Fault held{milliseconds(2), 211};
  held.hold = true;
  held.after = 12'000;
  testing::FaultProxy proxy(server.endpoint(), {{held, {milliseconds(1), 1009}},
                                                {{milliseconds(0), 977}, {milliseconds(0), 13}}});
  auto slow = open_session(proxy.endpoint());
  auto fast = open_session(proxy.endpoint());
  ASSERT_TRUE(slow && fast);
  auto exchange = [](RemoteSession& session, int seed) -> Status {
    const auto buffer = runtime::BufferId(session.new_handle());
    std::vector<std::byte> bytes(30'000), back(30'000);
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * 7 + i / 256 + static_cast<size_t>(seed));
    }
    TAPML_TRY(session.allocate(buffer, 30'000));
    TAPML_TRY(session.write(runtime::kDefaultStream, {buffer, 0}, bytes));
    TAPML_TRY(session.read(runtime::kDefaultStream, {buffer, 0}, back));
    return bytes == back ? Status() : fail(internal_error("other bytes"));
  };
  auto first = std::async(std::launch::async, [&] { return exchange(**slow, 1); });
  EXPECT_TRUE(becomes_true([&] { return proxy.holds(); }));
  Status second = exchange(**fast, 2);
  EXPECT_TRUE(second) << second.error().to_string();
  EXPECT_TRUE(proxy.holds()) << "the first one's bytes are still on their way";
  EXPECT_NE(first.wait_for(milliseconds(0)), std::future_status::ready);
  proxy.release();
  Status last = first.get();
  EXPECT_TRUE(last) << last.error().to_string();
}

#ifdef TAPML_HAS_OPENSSL
constexpr const char* kWays[] = {"unix", "tcp", "tls"};
#else
constexpr const char* kWays[] = {"unix", "tcp"};
#endif
INSTANTIATE_TEST_SUITE_P(Server, Served, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml::rpc
