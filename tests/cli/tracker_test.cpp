// A tracker, devices that dial out to it and clients that lease them, as programs.
#include <gtest/gtest.h>

#include <thread>

#include "support/background_server.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::expect_failure;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

// "tcp:127.0.0.1:9190" ▸ "127.0.0.1:9190".
std::string address_of(const BackgroundServer& tracker) { return tracker.endpoint().substr(4); }

ProgramResult generate(const std::string& target, const ProgramOptions& options = {},
                       const std::vector<std::string>& more = {}) {
  std::vector<std::string> args = {"run",          kDemoModel, "--target",
                                   target,         "--prompt", "In the beginning",
                                   "--max-tokens", "12",       "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return run_program(args, options);
}

bool has_line(const BackgroundServer& server, const std::string& text, int times = 1) {
  for (int i = 0; i < 1000; ++i) {
    const std::string log = server.log();
    int found = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++found;
    if (found >= times) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(TrackerPrograms, ALeasedDeviceGivesTheSameTokens) {
  TempFolder folder;
  write_bytes(folder / "token", "s3cret\n");
  const std::string token = folder / "token";
  BackgroundServer tracker({"--listen", "127.0.0.1:0", "--token-file", token}, {}, "rpc tracker");
  const std::string address = address_of(tracker);
  BackgroundServer device({"--tracker", address, "--key", "lab", "--token-file", token});
  const std::vector<std::string> shown = {"--token-file", token};
  const ProgramResult here = generate("cpu");
  const ProgramResult there = generate("cpu@tracker:" + address + "/lab", {}, shown);
  ASSERT_EQ(there.exit_code, 0) << there.all() << tracker.log() << device.log();
  EXPECT_EQ(here.json().find("tokens")->dump(), there.json().find("tokens")->dump());
  // The next client: the device has dialled again. The address may come from the environment.
  ProgramOptions environment;
  environment.environment = {{"TAPML_TRACKER", address}, {"TAPML_RPC_TOKEN", "s3cret"}};
  const ProgramResult again = generate("cpu@tracker/lab", environment);
  ASSERT_EQ(again.exit_code, 0) << again.all() << tracker.log() << device.log();
  EXPECT_EQ(here.json().find("tokens")->dump(), again.json().find("tokens")->dump());

  ASSERT_TRUE(has_line(device, "registered", 3)) << device.log();
  const ProgramResult status = run_program({"rpc", "tracker-status", "--json"}, environment);
  EXPECT_EQ(status.exit_code, 0) << status.all();
  const Json json = status.json();
  ASSERT_EQ(json.find("keys")->items().size(), 1U) << status.all();
  EXPECT_EQ(json.find("keys")->items()[0].find("key")->as_string(), "lab");
  const ProgramResult text = run_program({"rpc", "tracker-status", address}, environment);
  EXPECT_NE(text.out.find("lab: 1 devices, 0 waiting"), std::string::npos) << text.all();

  expect_failure({"run", kDemoModel, "--target", "cpu@tracker:" + address + "/lab", "--prompt", "x",
                  "--max-tokens", "1"},
                 2, {"token"});
  expect_failure({"rpc", "serve", "--tracker", address, "--key", "lab"}, 2, {"token"});
  EXPECT_EQ(device.end(), 0) << device.log();
  EXPECT_EQ(tracker.end(), 0) << tracker.log();
}

TEST(TrackerPrograms, ADeviceReturnsToARestartedTracker) {
  std::string address;
  auto tracker =
      std::make_unique<BackgroundServer>(std::vector<std::string>{"--listen", "127.0.0.1:0"},
                                         std::map<std::string, std::string>{}, "rpc tracker");
  address = address_of(*tracker);
  BackgroundServer device({"--tracker", address, "--key", "lab"});
  ASSERT_TRUE(has_line(device, "registered")) << device.log();
  EXPECT_EQ(tracker->end(SIGKILL), 128 + SIGKILL);
  ASSERT_TRUE(has_line(device, "no tracker")) << device.log();
  tracker = std::make_unique<BackgroundServer>(std::vector<std::string>{"--listen", address},
                                               std::map<std::string, std::string>{}, "rpc tracker");
  ASSERT_TRUE(has_line(device, "registered", 2)) << device.log();
  const ProgramResult status = run_program({"rpc", "status", "tracker:" + address + "/lab"});
  EXPECT_EQ(status.exit_code, 0) << status.all();
}

TEST(TrackerPrograms, ADeviceThatVanishesIsAPlatformError) {
  BackgroundServer tracker({"--listen", "127.0.0.1:0"}, {}, "rpc tracker");
  const std::string address = address_of(tracker);
  BackgroundServer device({"--tracker", address, "--key", "lab"});
  std::thread killer([&] {
    EXPECT_TRUE(has_line(device, "opened cpu")) << device.log();
    device.end(SIGKILL);
  });
  const ProgramResult run =
      run_program({"run", kDemoModel, "--target", "cpu@tracker:" + address + "/lab", "--prompt",
                   "In", "--max-tokens", "100000"});
  killer.join();
  EXPECT_EQ(run.exit_code, 4) << run.all();
  EXPECT_NE(run.err.find("platform error"), std::string::npos) << run.all();
}

TEST(TrackerPrograms, WrongUseIsAUsersError) {
  expect_failure({"rpc", "serve", "--tracker", "127.0.0.1:1"}, 2, {"--key"});
  expect_failure({"rpc", "serve", "--tracker", "unix:/x", "--key", "a"}, 2, {"HOST:PORT"});
  expect_failure({"rpc", "serve", "--tracker", "127.0.0.1:1", "--key", "a", "--stdio"}, 2,
                 {"--tracker"});
  expect_failure({"rpc", "tracker", "--listen", "unix:/x"}, 2, {"TCP"});
  expect_failure({"rpc", "tracker", "--listen", "0.0.0.0:0"}, 2, {"token"});
  expect_failure({"rpc", "tracker", "--listen", "127.0.0.1:0", "--tls-cert", "x"}, 2,
                 {"--tls-key"});
  expect_failure({"rpc", "tracker-status", "127.0.0.1:1"}, 4, {"tapml rpc tracker"});
  expect_failure({"run", kDemoModel, "--target", "cpu@tracker/lab", "--prompt", "x"}, 2,
                 {"TAPML_TRACKER"});
}

}  // namespace
}  // namespace tapml
