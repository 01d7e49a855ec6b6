// Where a token may be sent: by the address of the connection, and by the owner of a Unix socket.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "rpc/transport/socket.h"
#include "server_process.h"
#include "support/silent_listener.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::expect_parts;
using testing::fault_of;

Result<std::unique_ptr<Channel>> connect_with_secret(const std::string& endpoint,
                                                     bool secret = true) {
  TlsTrust trust;
  trust.secret = secret;
  return connect(*parse_endpoint(endpoint), Clock::now() + 200ms, trust);
}

TEST(Secret, IsNotSentBeyondLoopbackInPlainTcp) {
  // A number that the resolver reads as 192.0.2.1, and IPv4 in IPv6: the address decides.
  for (const char* endpoint :
       {"192.0.2.1:9000", "3221225985:9000", "[2001:db8::1]:9000", "[::ffff:192.0.2.1]:9000"}) {
    const auto start = Clock::now();
    auto refused = connect_with_secret(endpoint);
    ASSERT_FALSE(refused) << endpoint;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUser) << refused.error().to_string();
    expect_parts(refused.error(), {"without encryption", parse_endpoint(endpoint)->text(),
                                   "tls:", "ssh -L", "--insecure", "the address "});
    EXPECT_LT(Clock::now() - start, 200ms) << "no connection is made";
    // Without a secret, or with --insecure, it connects and gets no answer.
    auto called = connect_with_secret(endpoint, false);
    if (!called) {
      EXPECT_EQ(called.error().kind, ErrorKind::kPlatform) << called.error().to_string();
    }
  }
  // Encryption suffices.
  auto encrypted = connect_with_secret("tls:192.0.2.1:9000");
  ASSERT_FALSE(encrypted);
  EXPECT_EQ(encrypted.error().kind, ErrorKind::kPlatform) << encrypted.error().to_string();
}

TEST(Secret, IsSentToLoopbackInEverySpelling) {
  const testing::SilentListener listener;
  const std::string port = ":" + std::to_string(listener.endpoint().port);
  // One connection waits in the queue, and a further one would get no answer.
  for (const char* host :
       {"localhost", "127.0.0.1", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]"}) {
    auto connected = connect_with_secret(host + port);
    if (!connected) {
      EXPECT_EQ(connected.error().kind, ErrorKind::kPlatform) << connected.error().to_string();
    }
  }
}

TEST(Secret, LoopbackIsTheWholeRange) {
  const auto loopback = [](const char* host) {
    const auto addresses = resolve(*parse_endpoint(host + std::string(":1")), false);
    EXPECT_TRUE(addresses) << host;
    return addresses && addresses->front().is_loopback();
  };
  for (const char* host : {"127.0.0.1", "127.255.255.254", "[::1]", "[::ffff:127.1.2.3]"}) {
    EXPECT_TRUE(loopback(host)) << host;
  }
  for (const char* host : {"128.0.0.1", "126.255.255.255", "0.0.0.0", "[::]", "[::2]",
                           "[::ffff:10.0.0.1]", "[fe80::1]"}) {
    EXPECT_FALSE(loopback(host)) << host;
  }
}

TEST(SocketOwner, IsThisUserOrRoot) {
  EXPECT_TRUE(check_owner(1000, 1000, "unix:x"));
  EXPECT_TRUE(check_owner(0, 1000, "unix:x"));
  for (const uid_t owner : {uid_t{1001}, uid_t{65534}}) {
    for (const uid_t user : {uid_t{1000}, uid_t{0}}) {
      auto refused = check_owner(owner, user, "unix:x");
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
      expect_parts(refused.error(), {"another user", "unix:x", std::to_string(owner),
                                     std::to_string(user), "root", "XDG_RUNTIME_DIR"});
    }
  }
}

TEST(SocketOwner, IsAskedBeforeAnythingIsSent) {
  testing::TempFolder folder;
  testing::ServerProcess own("unix:" + folder / "own", {});
  EXPECT_TRUE(testing::Client(own.endpoint()).run("fine"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ASSERT_EQ(::chmod((folder / "").c_str(), 0777), 0);
  // Another user's program at the path of this user's server.
  auto ready = make_pipe();
  const Endpoint endpoint = *parse_endpoint("unix:" + folder / "other");
  const pid_t other = ::fork();
  if (other == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    const auto address = resolve(endpoint, true);
    auto socket = open_socket(address->front(), false, "test");
    if (::bind(socket->get(), address->front().get(), address->front().size) != 0 ||
        ::chmod(endpoint.path.c_str(), 0777) != 0 || ::listen(socket->get(), 1) != 0 ||
        ::write(ready->write.get(), "x", 1) != 1) {
      ::_exit(2);
    }
    const FileDescriptor client(::accept(socket->get(), nullptr, nullptr));
    char byte = 0;
    ::_exit(::recv(client.get(), &byte, 1, 0) == 0 ? 0 : 3);  // only the end of the stream
  }
  char byte = 0;
  ready->write.reset();
  ASSERT_EQ(::read(ready->read.get(), &byte, 1), 1);
  auto refused = testing::open_session(endpoint, "token");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUser) << refused.error().to_string();
  expect_parts(refused.error(), {"another user", endpoint.text(), "65534"});
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ChildPrograms, DoNotInheritTheToken) {
  testing::TempFolder folder;
  testing::write_bytes(folder / "script", "env > " + folder / "out");
  ::setenv("TAPML_RPC_TOKEN", "secret", 1);
  ::setenv("TAPML_TEST_OTHER", "kept", 1);
  auto channel = connect(*parse_endpoint("pipe:sh " + folder / "script"));
  ::unsetenv("TAPML_RPC_TOKEN");
  ::unsetenv("TAPML_TEST_OTHER");
  ASSERT_TRUE(channel) << channel.error().to_string();
  channel->reset();  // waits for its exit
  const std::string variables = testing::read_bytes(folder / "out");
  EXPECT_NE(variables.find("TAPML_TEST_OTHER=kept"), std::string::npos) << variables;
  EXPECT_EQ(variables.find("TAPML_RPC_TOKEN"), std::string::npos) << variables;
}

}  // namespace
}  // namespace tapml::rpc
