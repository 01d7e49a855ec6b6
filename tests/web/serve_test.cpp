// tapml web serve, without a browser.
#include <gtest/gtest.h>

#include "support/background_server.h"
#ifdef TAPML_HAS_OPENSSL
#include "support/certificates.h"
#endif
#include "support/http_client.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::expect_failure;
using testing::HttpClient;
using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

uint16_t port_of(const BackgroundServer& web) {
  return static_cast<uint16_t>(std::stoi(web.endpoint().substr(web.endpoint().rfind(':') + 1)));
}

TEST(WebServe, ServesPagesPackagesAndATracker) {
  TempFolder folder;
  const std::string package = folder / "demo";
  const ProgramResult compiled =
      run_program({"compile", kDemoModel, "--target", "webgpu", "--package", package});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  BackgroundServer web({"--listen", "127.0.0.1:0", "--package", package}, {}, "web serve");
  HttpClient client(port_of(web));
  EXPECT_EQ(client.get("/models/index.json").body, R"([{"name":"demo"}])");
  EXPECT_EQ(client.get("/models/demo/package.json").body,
            testing::read_bytes(package + "/package.json"));
  EXPECT_TRUE(client.get("/").head.contains("Location: /"));
  EXPECT_TRUE(client.get("/device").head.contains("Content-Type: text/html"));
  EXPECT_TRUE(client.get("/tapml_worker.wasm").body.starts_with(std::string("\0asm", 4)));
  EXPECT_EQ(client.get("/libtapml_stem.a").status, 404);
  // A native device and its client, at the same address.
  const std::string address = "127.0.0.1:" + std::to_string(port_of(web));
  BackgroundServer device({"--tracker", address, "--key", "lab"});
  const ProgramResult status = run_program({"rpc", "tracker-status", address});
  EXPECT_NE(status.out.find("lab: 1 devices"), std::string::npos) << status.all();
  const ProgramResult here = run_program({"rpc", "status", "tracker:" + address + "/lab"});
  EXPECT_EQ(here.exit_code, 0) << here.all() << web.log();
  EXPECT_EQ(web.end(), 0) << web.log();
}

#ifdef TAPML_HAS_OPENSSL
TEST(WebServe, TheTrackerIsEncryptedToo) {
  TempFolder folder;
  const testing::Authority authority("a lab");
  authority.write_root(folder / "root.pem");
  authority.issue(folder / "cert.pem", folder / "key.pem");
  BackgroundServer web({"--listen", "127.0.0.1:0", "--tls-cert", folder / "cert.pem", "--tls-key",
                        folder / "key.pem"},
                       {}, "web serve");
  EXPECT_TRUE(web.endpoint().starts_with("https://")) << web.endpoint();
  const std::string address = "tls:127.0.0.1:" + std::to_string(port_of(web));
  const std::vector<std::string> trust = {"--tls-ca", folder / "root.pem"};
  BackgroundServer device({"--tracker", address, "--key", "lab", trust[0], trust[1]});
  const std::vector<std::string> run = {"run",          kDemoModel, "--prompt", "In",
                                        "--max-tokens", "4",        "--json",   "--target"};
  std::vector<std::string> remote = run, local = run;
  remote.insert(remote.end(), {"cpu@tracker:" + address + "/lab", trust[0], trust[1]});
  local.emplace_back("cpu");
  const ProgramResult there = run_program(remote), here = run_program(local);
  ASSERT_EQ(there.exit_code, 0) << there.all() << web.log() << device.log();
  EXPECT_EQ(there.json().find("tokens")->dump(), here.json().find("tokens")->dump());
}
#endif

TEST(WebServe, WithoutATrackerItServesFilesOnly) {
  BackgroundServer web({"--listen", "127.0.0.1:0", "--no-tracker"}, {}, "web serve");
  HttpClient client(port_of(web));
  EXPECT_EQ(client.get("/status").status, 404);
  EXPECT_EQ(client.get("/device?key=lab", "Upgrade: tapml\r\n").status, 200);
}

TEST(WebServe, WrongUseIsAUsersError) {
  TempFolder folder;
  const auto expect = [](std::vector<std::string> more, const std::vector<std::string>& parts) {
    more.insert(more.begin(), {"web", "serve"});
    expect_failure(more, 2, parts);
  };
  expect({"--package", folder.path()}, {"not a package", "tapml compile MODEL"});
  expect({"--listen", "unix:/x"}, {"TCP"});
  expect({"--listen", "0.0.0.0:0"}, {"reached from other machines"});
  expect({"--listen", "127.0.0.1:0", "--key", "a/b"}, {"--key"});
  expect({"--listen", "127.0.0.1:0", "--tls-cert", "x"}, {"--tls-key"});
  expect({"--listen", "127.0.0.1:0", "--allow-origin", "lab.example"}, {"--allow-origin"});
  testing::ProgramOptions options;
  options.environment["TAPML_WASM"] = folder.path();
  expect_failure({"web", "serve"}, 4, {"make wasm"}, options);
}

}  // namespace
}  // namespace tapml
