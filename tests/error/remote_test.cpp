// Unavailable remote endpoints, and contradictory options.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;
using testing::TempFolder;

TEST(RemoteErrors, EndpointsAreCheckedAndNoAnswerIsAPlatformError) {
  const auto run = [](const std::string& target) {
    return std::vector<std::string>{"run", kDemoModel, "--target", target, "--prompt", "x"};
  };
  expect_failure(run("cpu@nowhere"), 2, {"has no port", "unix:path"});
  expect_failure(run("cpu@host:99999"), 2, {"a number from 0 to 65535"});
  expect_failure(run("cpu@unix:/no/such/socket"), 4,
                 {"nothing listens", "/no/such/socket", "tapml rpc serve"});
  expect_failure(run("null@pipe:/no/such/program"), 4, {"cannot start"});
  expect_failure(run("null@pipe:true"), 4, {"the connection"});
  expect_failure({"rpc", "status", "unix:/no/such/socket"}, 4, {"nothing listens"});
}

TEST(RemoteErrors, ATokenGoesWhereItIsSafeOnly) {
  TempFolder folder;
  testing::write_bytes(folder / "token", "secret\n");
  testing::write_bytes(folder / "tokens", "tls:board.local:9000 one\n192.0.2.1:9000 two\n");
  const auto status = [&](const std::string& endpoint, const std::string& file,
                          std::vector<std::string> more = {}) {
    std::vector<std::string> line = {"rpc", "status", endpoint, "--token-file", folder / file};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  for (const char* file : {"token", "tokens"}) {
    expect_failure(
        status("192.0.2.1:9000", file), 2,
        {"without encryption", "tcp:192.0.2.1:9000", "tls:192.0.2.1:9000", "ssh -L", "--insecure"});
  }
  expect_failure({"run", kDemoModel, "--target", "cpu@192.0.2.1:9000", "--prompt", "x",
                  "--token-file", folder / "token"},
                 2, {"without encryption"});
  // It is sent, but no server answers.
  expect_failure(status("192.0.2.1:9000", "token", {"--insecure", "--request-seconds", "0.2"}), 4,
                 {"192.0.2.1:9000"});
  expect_failure(status("127.0.0.1:1", "token"), 4, {"nothing listens"});
  expect_failure(status("127.0.0.1:1", "tokens"), 2,
                 {"no token for this endpoint", "tcp:127.0.0.1:1",
                  "tls:board.local:9000, tcp:192.0.2.1:9000"});
  expect_failure({"rpc", "serve", "--listen", "localhost:0", "--token-file", folder / "tokens"}, 2,
                 {"a server has one token"});
}

TEST(RemoteErrors, ServingNeedsAnUnambiguousEndpoint) {
  TempFolder folder;
  expect_failure({"rpc", "serve"}, 2, {"--listen", "--stdio"});
  expect_failure({"rpc", "serve", "--stdio", "--listen", "unix:x"}, 2, {"--listen", "both"});
  expect_failure({"rpc", "serve", "--listen", "pipe:cat"}, 2, {"cannot be listened on"});
  expect_failure({"rpc", "serve", "--listen", "0.0.0.0:0"}, 2,
                 {"a token, and TLS or --insecure", "ssh -L"});
  testing::write_bytes(folder / "token", "");
  expect_failure(
      {"rpc", "serve", "--listen", "0.0.0.0:0", "--insecure", "--token-file", folder / "token"}, 2,
      {"not a file with a token"});
  testing::write_bytes(folder / "token", "one\ntwo\n");
  expect_failure({"rpc", "serve", "--listen", "localhost:0", "--token-file", folder / "token"}, 2,
                 {"several lines"});
  expect_failure({"rpc", "serve", "--listen", "localhost:0", "--memory", "lots"}, 2,
                 {"a size cannot be read"});
  expect_failure({"rpc", "serve", "--listen", "localhost:0", "--sessions", "0"}, 2, {"sessions"});
  expect_failure({"rpc", "serve", "--listen", "localhost:0", "--process-memory", "1MB"}, 2,
                 {"--process-memory", "at least 64.0 MiB", "1.00 MiB"});
  for (const std::string listen : {"tls:127.0.0.1:0", "tls:0.0.0.0:0"}) {
    expect_failure({"rpc", "serve", "--listen", listen}, 2, {"--tls-cert FILE", "neither"});
  }
  expect_failure({"rpc", "serve", "--listen", "127.0.0.1:0", "--tls-cert", "x"}, 2, {"its key"});
  expect_failure({"rpc", "serve", "--listen", "unix:x", "--tls-cert", "x", "--tls-key", "y"}, 2,
                 {"only TCP is encrypted"});
  expect_failure({"rpc", "serve", "--stdio", "--tls-cert", "x", "--tls-key", "y"}, 2,
                 {"are not encrypted"});
  expect_failure({"rpc", "serve", "--listen", "127.0.0.1:0", "--tls-cert", folder / "no.pem",
                  "--tls-key", folder / "no.pem"},
                 2, {"no.pem", "PEM"});
  testing::write_bytes(folder / "file", "mine");
  expect_failure({"rpc", "serve", "--listen", "unix:" + folder / "file"}, 2, {"not a socket"});
  EXPECT_EQ(testing::read_bytes(folder / "file"), "mine");
}

}  // namespace
}  // namespace tapml
