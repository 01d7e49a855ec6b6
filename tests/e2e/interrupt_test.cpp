// Ctrl-C in every long command: it ends soon, reports the interruption, and leaves no partial
// files.
#include <gtest/gtest.h>

#include <csignal>

#include "support/background_server.h"
#include "support/fault_proxy.h"
#include "support/program.h"
#include "support/silent_listener.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

ProgramOptions after(const std::string& text, bool on_out = false) {
  ProgramOptions options;
  options.interrupt_after = text;
  options.interrupt_on_out = on_out;
  return options;
}

// For a folder in which files come and go.
int files_in(const std::string& folder) {
  std::error_code gone;
  int files = 0;
  for (std::filesystem::directory_iterator entry(folder, gone), end; !gone && entry != end;
       entry.increment(gone)) {
    ++files;
  }
  return files;
}

void expect_interrupted(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 130) << result.all();
  EXPECT_EQ(result.err.find("error"), std::string::npos) << result.err;
}

TEST(Interrupt, Run) {
  ProgramResult result = run_program(
      {"run", kDemoModel, "--prompt", "In the beginning", "--max-tokens", "200"}, after(" ", true));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("tokens/s"), std::string::npos) << result.err;
}

TEST(Interrupt, CompileWritesNoFile) {
  TempFolder folder;
  ProgramResult result = run_program(
      {"compile", kDemoModel, "--no-cache", "-o", folder / "model.tapml"}, after("read: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(testing::names_under(folder / ""), std::set<std::string>{});
}

TEST(Interrupt, CarveKeepsFinishedCalls) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramOptions options;
  // That many tensors amount to a few calls.
  options.interrupt_when = [&] { return files_in(suite + "/tensors") >= 100; };
  ProgramResult result = run_program(
      {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "200", "-o", suite}, options);
  expect_interrupted(result);
  // The suite is readable, and marked as incomplete.
  ProgramResult verified = run_program({"suite", "verify", suite});
  EXPECT_EQ(verified.exit_code, 1) << verified.all();
  EXPECT_TRUE(verified.out.starts_with("the suite is incomplete: interrupted\n")) << verified.all();
  EXPECT_TRUE(verified.last_line().starts_with("NOT PROVEN ")) << verified.all();
  // Replay reads it, and is interrupted as well.
  ProgramResult replay =
      run_program({"replay", suite, "--target", "cpu"}, after("compile for cpu: done"));
  expect_interrupted(replay);
  EXPECT_NE(replay.err.find("interrupted"), std::string::npos) << replay.err;
}

// A killed process reports nothing: the files it has written must already be marked incomplete.
TEST(Interrupt, ACarveThatIsKilledIsIncomplete) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramOptions options;
  options.signal = SIGKILL;
  options.interrupt_when = [&] { return files_in(suite + "/tensors") >= 100; };
  ProgramResult result = run_program({"carve", kDemoModel, "--prompt", "Emma was", "--prompt",
                                      "In the beginning", "--max-tokens", "200", "-o", suite},
                                     options);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.all();
  ProgramResult listed = run_program({"suite", "ls", suite});
  EXPECT_EQ(listed.exit_code, 0) << listed.all();
  EXPECT_TRUE(listed.out.starts_with("the suite is incomplete: the carve did not end\n"))
      << listed.all();
  EXPECT_EQ(run_program({"suite", "verify", suite}).exit_code, 1);
}

TEST(Interrupt, MigrateWhileItGenerates) {
  ProgramResult result = run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "opencl",
                                      "--prompt", "Emma was", "--max-tokens", "200"},
                                     after("compile for cpu: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("evaluate the reference of the whole model"), std::string::npos)
      << result.err;
}

TEST(Interrupt, MigrateWhileAKernelHangs) {
  ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "1", "--inject-fault",
                   "rms_norm_485247dc:endless-loop", "--kernel-timeout", "100000"},
                  after("compile for cpu:threads=1: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
}

TEST(Interrupt, WhileAnEndpointDoesNotAnswer) {
  testing::SilentListener listener;
  listener.fill();
  const auto start = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point sent;
  ProgramOptions options;
  options.interrupt_when = [&] {
    sent = std::chrono::steady_clock::now();
    return sent - start > std::chrono::seconds(1);
  };
  ProgramResult result =
      run_program({"run", kDemoModel, "--target", "cpu@" + listener.endpoint().text(), "--prompt",
                   "In the beginning"},
                  options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - sent;
  expect_interrupted(result);
  EXPECT_LT(took.count(), 1);
}

// A server whose connection takes this many bytes from a client and then stalls.
class StalledEndpoint : public ::testing::TestWithParam<int> {
 protected:
  std::string target() {
    testing::Fault up;
    up.cut = testing::Fault::Cut::kStall;
    up.after = GetParam();
    const auto endpoint = rpc::parse_endpoint(server_.endpoint());
    EXPECT_TRUE(endpoint) << endpoint.error().to_string();
    proxy_ = std::make_unique<testing::FaultProxy>(
        *endpoint, std::vector<testing::FaultProxy::Plan>{{up, {}}});
    return "cpu@" + proxy_->endpoint().text();
  }
  TempFolder folder_;
  // Cached weights would not be sent.
  testing::BackgroundServer server_{{"--listen", "unix:" + folder_ / "server", "--keep", "0"}};
  std::unique_ptr<testing::FaultProxy> proxy_;
};

TEST_P(StalledEndpoint, RunIsInterrupted) {
  const std::string target = this->target();
  const std::vector<std::string> command = {"run",      kDemoModel,         "--target",     target,
                                            "--prompt", "In the beginning", "--max-tokens", "4"};
  std::chrono::steady_clock::time_point sent;
  ProgramOptions options;
  options.interrupt_when = [&] {
    sent = std::chrono::steady_clock::now();
    return proxy_->passed_up() >= GetParam();
  };
  ProgramResult result = run_program(command, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - sent;
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_LT(took.count(), 1);
}

TEST_P(StalledEndpoint, RequestsHaveTheirTime) {
  const std::string target = this->target();
  ProgramResult result =
      run_program({"run", kDemoModel, "--target", target, "--prompt", "In the beginning",
                   "--max-tokens", "4", "--request-seconds", "1", "--json"});
  ASSERT_EQ(result.exit_code, 4) << result.all();
  EXPECT_EQ(result.json().find("error")->find("kind")->as_string(), "platform: timeout")
      << result.all();
}

// Inside the executable, and inside the weights.
INSTANTIATE_TEST_SUITE_P(After, StalledEndpoint, ::testing::Values(20'000, 1'000'000));

// A peer that accepts the connection and never sends anything, not even a handshake.
TEST(SilentPeer, IsGivenUpWithinTheTimeOfARequest) {
  std::vector<std::string> schemes = {"tcp:"};
#ifdef TAPML_HAS_OPENSSL
  schemes.push_back("tls:");
#endif
  for (const std::string& scheme : schemes) {
    const std::vector<std::vector<std::string>> commands = {
        {"rpc", "status", ""},
        {"devices", "--target", "cpu@"},
        {"run", kDemoModel, "--prompt", "In the beginning", "--target", "cpu@"}};
    for (std::vector<std::string> command : commands) {
      SCOPED_TRACE(command[0] + " " + scheme);
      const testing::SilentListener listener;  // accepts one connection
      command.back() += listener.endpoint(scheme).text();
      command.insert(command.end(), {"--request-seconds", "0.5", "--json"});
      const auto start = std::chrono::steady_clock::now();
      const ProgramResult result = run_program(command);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      ASSERT_EQ(result.exit_code, 4) << result.all();
      EXPECT_EQ(result.json().find("error")->find("kind")->as_string(), "platform: timeout")
          << result.all();
      EXPECT_GE(took.count(), 0.5);
      EXPECT_LT(took.count(), 2.5);
    }
  }
}

// The progress is unknown, but a line every ten seconds shows that the program is alive.
TEST(SilentPeer, IsWaitedForWithALineEveryTenSeconds) {
  const testing::SilentListener listener;
  const ProgramResult result =
      run_program({"run", kDemoModel, "--prompt", "In the beginning", "--target",
                   "cpu@" + listener.endpoint().text(), "--request-seconds", "11"});
  EXPECT_EQ(result.exit_code, 4) << result.all();
  EXPECT_EQ(result.err.find("load: 10."), 0u) << result.err;
  EXPECT_EQ(result.err.find("load: ", 1), std::string::npos) << "one line: " << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(Interrupt, LocalizeLeavesNoReport) {
  TempFolder folder;
  ProgramResult result =
      run_program({"localize", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "1", "--report", folder / "report"},
                  after("compile for cpu:threads=1: done"));
  expect_interrupted(result);
  EXPECT_EQ(testing::names_under(folder / "report"), std::set<std::string>{});
}

}  // namespace
}  // namespace tapml
