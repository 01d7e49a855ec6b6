// Encrypted endpoints: which peers are trusted, and the answer to peers without TLS. server_test
// also tests sessions over TLS.
#ifdef TAPML_HAS_OPENSSL
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "client.h"
#include "pattern.h"
#include "rpc/transport/listener.h"
#include "rpc/transport/stream_channel.h"
#include "rpc/transport/tls_relay.h"
#include "rpc/transport/tls_stream.h"
#include "server_process.h"
#include "support/certificates.h"
#include "support/fault_proxy.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using testing::Client;
using testing::expect_fault;
using testing::expect_parts;
using testing::kSlack;
using testing::open_session;
using testing::ServerProcess;

class Tls : public ::testing::Test {
 protected:
  Tls() { authority_.write_root(root_); }
  ListenOptions options(const testing::CertificateOptions& certificate = {}) const {
    ListenOptions options;
    options.tls_certificate = folder_ / "server.pem";
    options.tls_key = folder_ / "key.pem";
    authority_.issue(options.tls_certificate, options.tls_key, certificate);
    return options;
  }
  static void expect_refused(const Endpoint& endpoint, const TlsTrust& trust,
                             const std::vector<std::string>& parts) {
    const auto start = Clock::now();
    auto refused = open_session(endpoint, "", trust);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kUser) << refused.error().to_string();
    expect_parts(refused.error(), parts);
    EXPECT_LT(Clock::now() - start, kSlack);
  }

  testing::TempFolder folder_;
  testing::Authority authority_{"tapml test root"};
  std::string root_ = folder_ / "root.pem";
};

TEST_F(Tls, AServerIsBelievedByItsRootAndName) {
  ServerProcess server("tls:127.0.0.1:0", options());
  EXPECT_TRUE(server.endpoint().tls);
  EXPECT_TRUE(Client(server.endpoint(), "", {root_}).run("fine"));
  Endpoint by_name = server.endpoint();
  by_name.host = "localhost";
  EXPECT_TRUE(Client(by_name, "", {root_}).run("fine"));

  const testing::Authority other("another root");
  other.write_root(folder_ / "other.pem");
  expect_refused(server.endpoint(), {folder_ / "other.pem"}, {"not accepted", "--tls-ca"});
  expect_refused(server.endpoint(), {}, {"not accepted", "--tls-ca"});  // not a root of the system
  expect_refused(server.endpoint(), {folder_ / "nothing.pem"}, {"cannot be read", "nothing.pem"});
  // A refusal affects only that client.
  EXPECT_TRUE(Client(server.endpoint(), "", {root_}).run("fine"));
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(server.kill(SIGTERM), 0);
}

TEST_F(Tls, ANameThatIsNotInTheCertificateIsRefused) {
  ServerProcess server("tls:127.0.0.1:0", options({.names = "DNS:board.local,IP:10.0.0.7"}));
  expect_refused(server.endpoint(), {root_},
                 {"mismatch", "a certificate for \"127.0.0.1\"", "one for board.local, 10.0.0.7"});
  Endpoint by_name = server.endpoint();
  by_name.host = "localhost";
  expect_refused(by_name, {root_}, {"mismatch", "a certificate for \"localhost\""});
}

TEST_F(Tls, ACertificateIsGoodInItsTimeOnly) {
  {
    ServerProcess server("tls:127.0.0.1:0", options({.valid_from = -7200, .valid_until = -3600}));
    expect_refused(server.endpoint(), {root_}, {"expired", "valid until 2"});
  }
  ServerProcess server("tls:127.0.0.1:0", options({.valid_from = 3600, .valid_until = 7200}));
  expect_refused(server.endpoint(), {root_}, {"not yet valid", "valid from 2", "clock"});
}

TEST_F(Tls, WhoSpeaksWithoutTlsIsToldSo) {
  ServerProcess server("tls:127.0.0.1:0", options());
  Endpoint plain = server.endpoint();
  plain.tls = false;
  const auto start = Clock::now();
  expect_fault(open_session(plain), PlatformFault::kProtocol,
               {"encrypted connections only", "tls:host:port"});
  EXPECT_LT(Clock::now() - start, kSlack);
  EXPECT_TRUE(Client(server.endpoint(), "", {root_}).run("fine"));
  EXPECT_TRUE(server.becomes_idle());
}

TEST_F(Tls, AServerWithoutTlsIsNoticed) {
  ServerProcess server("127.0.0.1:0", {});
  Endpoint encrypted = server.endpoint();
  encrypted.tls = true;
  const auto start = Clock::now();
  auto refused = open_session(encrypted, "", {root_});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kPlatform);
  expect_parts(refused.error(), {"TLS"});
  EXPECT_LT(Clock::now() - start, kSlack);
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_TRUE(Client(server.endpoint()).run("fine"));
}

TEST_F(Tls, AClientThatDoesNotEndItsHandshakeBlocksOnlyItself) {
  ListenOptions slow = options();
  slow.server.limits.handshake = milliseconds(400);
  ServerProcess server("tls:127.0.0.1:0", slow);
  const auto start = Clock::now();
  auto address = resolve(server.endpoint(), false);
  std::vector<FileDescriptor> sockets;
  // Nothing, and a first record from the client that never ends.
  for (const std::string& beginning : {std::string(), std::string("\x16\x03\x01\x02\x00\x01", 6)}) {
    auto socket = open_socket(address->front(), false, "test");
    ASSERT_EQ(::connect(socket->get(), address->front().get(), address->front().size), 0);
    ::send(socket->get(), beginning.data(), beginning.size(), MSG_NOSIGNAL);
    sockets.push_back(std::move(*socket));
  }
  EXPECT_TRUE(Client(server.endpoint(), "", {root_}).run("fine"));
  for (const FileDescriptor& socket : sockets) {
    char bytes[256];
    ASSERT_EQ(wait_ready(socket.get(), false, -1, start + slow.server.limits.handshake + kSlack),
              Ready::kYes);
    EXPECT_EQ(::recv(socket.get(), bytes, sizeof bytes, 0), 0);
  }
  sockets.clear();
  EXPECT_TRUE(server.becomes_idle());
}

TEST_F(Tls, AServerThatDoesNotEndItsHandshakeTimesOut) {
  auto listener = Listener::open(*parse_endpoint("127.0.0.1:0"), false);
  ASSERT_TRUE(listener);
  Endpoint endpoint = (*listener)->endpoint();
  endpoint.tls = true;
  const auto start = Clock::now();
  auto silent = connect(endpoint, start + milliseconds(200), {root_});
  expect_fault(silent, PlatformFault::kTimeout, {"handshake did not end in time"});
  EXPECT_LT(Clock::now() - start, milliseconds(200) + kSlack);
  // A client that disconnects midway.
  std::thread leaves([&] {
    const auto next = [&] {
      wait_ready((*listener)->get(), false, -1, Clock::now() + std::chrono::seconds(5));
      return (*listener)->accept();
    };
    next();
    const FileDescriptor second = next();
    char hello[4096];
    ::recv(second.get(), hello, sizeof hello, 0);
  });
  auto gone = connect(endpoint, start + std::chrono::seconds(5), {root_});
  expect_fault(gone, PlatformFault::kLost, {"TLS handshake"});
  leaves.join();
}

TEST_F(Tls, OldVersionsAreRefused) {
  ServerProcess server("tls:127.0.0.1:0", options());
  for (const auto& [version, accepted] :
       {std::pair(TLS1_1_VERSION, false), {TLS1_2_VERSION, true}, {TLS1_3_VERSION, true}}) {
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                               SSL_CTX_free);
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    auto address = resolve(server.endpoint(), false);
    auto socket = open_socket(address->front(), false, "test");
    ASSERT_EQ(::connect(socket->get(), address->front().get(), address->front().size), 0);
    const std::unique_ptr<SSL, void (*)(SSL*)> connection(SSL_new(context.get()), SSL_free);
    SSL_set_fd(connection.get(), socket->get());
    EXPECT_EQ(SSL_connect(connection.get()) == 1, accepted) << version;
  }
}

// Two ends over one connection: a client's stream, and a relay's plain side.
TEST_F(Tls, CarriesFramesBothWaysAtOnceThroughAFragmentingNetwork) {
  auto listener = Listener::open(*parse_endpoint("127.0.0.1:0"), false);
  ASSERT_TRUE(listener);
  const ListenOptions files = options();
  auto context = TlsContext::for_server(files.tls_certificate, files.tls_key);
  ASSERT_TRUE(context) << context.error().to_string();
  Endpoint target = (*listener)->endpoint();
  target.tls = true;
  const testing::Fault slow{.delay = milliseconds(1), .piece = 7001};
  testing::FaultProxy proxy(target, {{slow, slow}});
  TlsRelays relays(std::move(*context), milliseconds(5000), nullptr);
  Result<std::unique_ptr<Channel>> client;
  std::thread connects(
      [&] { client = connect(proxy.endpoint(), Clock::now() + std::chrono::seconds(5), {root_}); });
  // In this thread: a relay ends with the thread that started it.
  wait_ready((*listener)->get(), false, -1, Clock::now() + std::chrono::seconds(5));
  auto plain = relays.start((*listener)->accept(), 1, [&] { (*listener)->forget(); });
  ASSERT_TRUE(plain) << plain.error().to_string();
  auto server = make_stream_channel(std::move(*plain), "the client");
  connects.join();
  ASSERT_TRUE(client) << client.error().to_string();

  std::vector<std::byte> head(100), payload = testing::pattern(3 << 20);
  const auto send = [&](Channel& channel) {
    for (int i = 0; i < 3; ++i) {
      // Deadlines that pass inside frames: the same call continues.
      Status sent;
      do {
        sent = channel.send(head, payload, Clock::now() + milliseconds(3));
      } while (!sent && sent.error().fault == PlatformFault::kTimeout);
      EXPECT_TRUE(sent) << sent.error().to_string();
    }
  };
  const auto receive = [&](Channel& channel) {
    for (int i = 0; i < 3; ++i) {
      std::vector<std::byte> head_came, came(payload.size());
      uint64_t size = 0;
      const auto until = Clock::now() + std::chrono::seconds(30);
      ASSERT_TRUE(channel.receive(head_came, size, until));
      ASSERT_EQ(size, payload.size());
      ASSERT_TRUE(channel.receive_payload(came, until));
      EXPECT_EQ(came, payload);
    }
  };
  std::thread up([&] { send(**client); }), up_end([&] { receive(*server); });
  std::thread down([&] { send(*server); });
  receive(**client);
  for (std::thread* one : {&up, &up_end, &down}) one->join();
  // The last bytes arrive before the end of the stream.
  ASSERT_TRUE(server->send(head, {}));
  server.reset();
  std::vector<std::byte> last;
  uint64_t size = 0;
  EXPECT_TRUE((*client)->receive(last, size, Clock::now() + std::chrono::seconds(5)));
  expect_fault((*client)->receive(last, size, Clock::now() + std::chrono::seconds(5)),
               PlatformFault::kLost, {"closed by the other side"});
  client->reset();
  relays.end_all(milliseconds(2000));
}

TEST_F(Tls, TrafficIsEncrypted) {
  ListenOptions with_token = options();
  with_token.server.token = "a token that nobody else may read";
  ServerProcess server("tls:127.0.0.1:0", with_token);
  // A proxy in the middle records the whole conversation.
  auto listener = Listener::open(*parse_endpoint("127.0.0.1:0"), false);
  ASSERT_TRUE(listener);
  std::string heard;
  std::thread spy([&] {
    wait_ready((*listener)->get(), false, -1, Clock::now() + std::chrono::seconds(5));
    const FileDescriptor client = (*listener)->accept();
    auto address = resolve(server.endpoint(), false);
    auto target = open_socket(address->front(), false, "spy");
    ASSERT_EQ(::connect(target->get(), address->front().get(), address->front().size), 0);
    char bytes[4096];
    pollfd files[2] = {{client.get(), POLLIN, 0}, {target->get(), POLLIN, 0}};
    while (::poll(files, 2, 5000) > 0) {
      for (int from : {0, 1}) {
        if (files[from].revents == 0) continue;
        const ssize_t count = ::recv(files[from].fd, bytes, sizeof bytes, 0);
        if (count <= 0) return;
        heard.append(bytes, static_cast<size_t>(count));
        ::send(files[1 - from].fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
      }
    }
  });
  Endpoint endpoint = (*listener)->endpoint();
  endpoint.tls = true;
  EXPECT_TRUE(Client(endpoint, with_token.server.token, {root_}).run("fine"));
  spy.join();
  EXPECT_GT(heard.size(), 1000U);
  EXPECT_EQ(heard.find(with_token.server.token), std::string::npos);
  EXPECT_EQ(heard.find("null"), std::string::npos);
}

TEST_F(Tls, UnusableFilesAreUserErrors) {
  const ListenOptions good = options();
  testing::write_bytes(folder_ / "text.pem", "no certificate");
  ListenOptions other;
  other.tls_certificate = folder_ / "second.pem";
  other.tls_key = folder_ / "second-key.pem";
  authority_.issue(other.tls_certificate, other.tls_key);
  struct Case {
    std::string certificate, key;
    std::vector<std::string> parts;
  };
  for (const Case& files : {
           Case{folder_ / "none.pem", good.tls_key, {"certificate cannot be used", "none.pem"}},
           Case{folder_ / "text.pem", good.tls_key, {"certificate cannot be used", "text.pem"}},
           Case{good.tls_certificate, folder_ / "text.pem", {"key cannot be used", "text.pem"}},
           Case{good.tls_certificate, other.tls_key, {"key", "second-key.pem"}},
       }) {
    ListenOptions options;
    options.tls_certificate = files.certificate;
    options.tls_key = files.key;
    auto server = Server::listen(*parse_endpoint("tls:127.0.0.1:0"), options);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().kind, ErrorKind::kUser);
    expect_parts(server.error(), files.parts);
  }
}

TEST_F(Tls, BeyondLoopbackNeedsATokenToo) {
  for (const char* token : {"", "secret"}) {
    ListenOptions open = options();
    open.server.token = token;
    auto server = Server::listen(*parse_endpoint("tls:0.0.0.0:0"), open);
    EXPECT_EQ(server.has_value(), open.server.token == "secret");
    if (!server) expect_parts(server.error(), {"a token, and TLS or --insecure"});
  }
}

}  // namespace
}  // namespace tapml::rpc
#endif
