// The addresses on which a server listens, and those that it refuses.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "rpc/transport/server.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

using testing::expect_fault;
using testing::expect_parts;

TEST(Listen, TheSocketFileIsPrivateAndRemoved) {
  testing::TempFolder folder;
  const std::string path = folder / "server";
  {
    auto server = Server::listen(*parse_endpoint("unix:" + path), {});
    ASSERT_TRUE(server) << server.error().to_string();
    struct stat status = {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    auto second = Server::listen(*parse_endpoint("unix:" + path), {});
    expect_fault(second, PlatformFault::kAbsent, {"another server listens"});
    // A file that replaced it at the path stays.
    ::unlink(path.c_str());
    testing::write_bytes(path, "mine");
  }
  EXPECT_EQ(testing::read_bytes(path), "mine");
  auto taken = Server::listen(*parse_endpoint("unix:" + path), {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::kUser);
  expect_parts(taken.error(), {"not a socket"});
  EXPECT_EQ(testing::read_bytes(path), "mine");
}

TEST(Listen, BeyondLoopbackNeedsATokenAndInsecure) {
  for (const char* text : {"0.0.0.0:0", "[::]:0"}) {
    for (const bool insecure : {false, true}) {
      for (const char* token : {"", "secret"}) {
        ListenOptions options;
        options.insecure = insecure;
        options.server.token = token;
        auto server = Server::listen(*parse_endpoint(text), options);
        const bool allowed = insecure && options.server.token == "secret";
        EXPECT_EQ(server.has_value(), allowed) << text;
        if (server) continue;
        EXPECT_EQ(server.error().kind, ErrorKind::kUser);
        expect_parts(server.error(), {"token", "--insecure", "TLS", "loopback"});
      }
    }
  }
  for (const char* text : {"127.0.0.1:0", "127.0.0.2:0", "localhost:0"}) {
    auto server = Server::listen(*parse_endpoint(text), {});
    ASSERT_TRUE(server) << server.error().to_string();
    EXPECT_NE((*server)->endpoint().port, 0);
    auto taken = Server::listen((*server)->endpoint(), {});
    expect_fault(taken, PlatformFault::kAbsent, {"taken"});
  }
  auto pipe = Server::listen(*parse_endpoint("pipe:cat"), {});
  ASSERT_FALSE(pipe);
  expect_parts(pipe.error(), {"cannot be listened on", "--stdio"});
  auto nowhere = Server::listen(*parse_endpoint("unix:/no/such/folder/server"), {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kUser);
}

}  // namespace
}  // namespace tapml::rpc
