// The commands on devices of another process: the demo model over every kind of transport.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>

#include "app/isolation.h"
#include "demo_run.h"
#include "support/background_server.h"
#include "support/fault_proxy.h"
#ifdef TAPML_HAS_OPENSSL
#include "support/certificates.h"
#endif

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::generate;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// The endpoint of a running server, or a command that starts one.
class RemoteRun : public ::testing::TestWithParam<const char*> {
 protected:
  std::string endpoint() {
    const std::string way = GetParam();
    if (way == "pipe") return "pipe:" TAPML_PROGRAM " rpc serve --stdio --quiet";
    server_ = std::make_unique<BackgroundServer>(std::vector<std::string>{
        "--listen", way == "unix" ? "unix:" + folder_ / "server" : "tcp:127.0.0.1:0"});
    return server_->endpoint();
  }
  TempFolder folder_;
  std::unique_ptr<BackgroundServer> server_;
};

TEST_P(RemoteRun, GivesTheSameTokens) {
  const std::string endpoint = this->endpoint();
  for (const std::string platform : {"cpu", "opencl"}) {
    ProgramResult here = generate(platform), there = generate(platform + "@" + endpoint);
    ASSERT_EQ(here.exit_code, 0) << here.all();
    ASSERT_EQ(there.exit_code, 0) << there.all();
    EXPECT_EQ(integers(here.json().find("tokens")).size(), 24U);
    EXPECT_EQ(integers(here.json().find("tokens")), integers(there.json().find("tokens")));
  }
  if (!server_) return;
  EXPECT_EQ(server_->end(), 0) << server_->log();
  EXPECT_TRUE(testing::names_under(folder_.path()).empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, RemoteRun, ::testing::Values("unix", "tcp", "pipe"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Remote, EveryCommandTakesAnEndpoint) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  const std::string suite = folder / "suite";
  ProgramResult carved =
      run_program({"carve", kDemoModel, "--target", "cpu@" + server.endpoint(), "--prompt",
                   "In the beginning", "--max-tokens", "2", "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  for (const char* target : {"cpu", "opencl"}) {
    ProgramResult replayed =
        run_program({"replay", suite, "--target", target + ("@" + server.endpoint()), "--json"});
    ASSERT_EQ(replayed.exit_code, 0) << replayed.all();
    EXPECT_TRUE(replayed.json().find("passed")->as_bool());
  }
  ProgramResult profiled =
      run_program({"profile", kDemoModel, "--target", "opencl@" + server.endpoint(), "--max-tokens",
                   "2", "--json"});
  EXPECT_EQ(profiled.exit_code, 0) << profiled.all();
  ProgramResult here =
      run_program({"profile", kDemoModel, "--target", "opencl", "--max-tokens", "2", "--json"});
  ASSERT_EQ(here.exit_code, 0) << here.all();
  auto calls = [](const ProgramResult& result) {
    std::map<std::string, int64_t> calls;
    const Json json = result.json();
    for (const Json& kernel : json.find("kernels")->items()) {
      calls[kernel.find("kernel")->as_string()] = kernel.find("calls")->as_integer();
      EXPECT_GT(kernel.find("seconds")->as_double(), 0);
    }
    return calls;
  };
  EXPECT_EQ(calls(profiled), calls(here));
  // The device that runs the code does not change how it is compiled.
  ProgramResult compiled =
      run_program({"compile", kDemoModel, "--target", "opencl@unix:/nobody/there"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.all();
  EXPECT_EQ(server.end(), 0);
}

// The contents of a suite's files, without the endpoint that its index names.
std::map<std::string, std::string> suite_files(const std::string& folder,
                                               const std::string& endpoint) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string text = testing::read_bytes(entry.path());
    for (size_t at = 0; (at = text.find(endpoint, at)) != std::string::npos;) {
      text.erase(at, endpoint.size());
    }
    files[std::filesystem::relative(entry.path(), folder)] = std::move(text);
  }
  return files;
}

TEST(Remote, ARemotelyCarvedSuiteIsTheSame) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--calls", "2"},
                                                  {"--weights", "reference", "--budget", "300K"}}) {
    auto carve = [&](const std::string& target, const std::string& output) {
      std::vector<std::string> command = {
          "carve",    kDemoModel,   "--target",     target, "--prompt", "In the beginning",
          "--prompt", "Moses said", "--max-tokens", "3",    "-o",       output,
          "--json"};
      command.insert(command.end(), options.begin(), options.end());
      ProgramResult result = run_program(command);
      EXPECT_EQ(result.exit_code, 0) << result.all();
      return suite_files(output, "@" + server.endpoint());
    };
    const auto here = carve("cpu", folder / "here");
    const auto there = carve("cpu@" + server.endpoint(), folder / "there");
    EXPECT_GT(here.size(), 40U);
    ASSERT_EQ(here.size(), there.size());
    for (const auto& [name, bytes] : here) {
      const auto same = there.find(name);
      ASSERT_NE(same, there.end()) << name;
      EXPECT_EQ(bytes, same->second) << name;
    }
    std::filesystem::remove_all(folder / "here");
    std::filesystem::remove_all(folder / "there");
  }
  EXPECT_EQ(server.end(), 0);
}

TEST(Remote, ABrokenConnectionIsNotAKernelCrash) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  const std::string suite = folder / "suite";
  ProgramResult carved = run_program({"carve", kDemoModel, "--target", "cpu", "--prompt",
                                      "In the beginning", "--max-tokens", "2", "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  // Most of the bytes that come back are kernel outputs.
  testing::Fault down;
  down.cut = testing::Fault::Cut::kReset;
  down.after = 20'000;
  const auto endpoint = rpc::parse_endpoint(server.endpoint());
  ASSERT_TRUE(endpoint) << endpoint.error().to_string();
  auto replay = [&](std::vector<testing::FaultProxy::Plan> plans) {
    const testing::FaultProxy proxy(*endpoint, std::move(plans));
    return run_program({"replay", suite, "--target", "cpu@" + proxy.endpoint().text(), "--json"});
  };
  ProgramResult lost = replay({{{}, down}});
  EXPECT_EQ(lost.exit_code, 4) << lost.all();
  EXPECT_EQ(lost.json().find("error")->find("kind")->as_string(), "platform: lost") << lost.all();
  // A single failure is tolerated.
  ProgramResult once = replay({{{}, down}, {{}, {}}});
  EXPECT_EQ(once.exit_code, 0) << once.all();
  EXPECT_TRUE(once.json().find("passed")->as_bool());
}

TEST(Remote, APlatformUnderTestOutlivesTheIdleTime) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server", "--idle-seconds", "1"});
  target::Target target = target::parse_target("null@" + server.endpoint());
  auto opened = app::open_under_test(target, {}, {}, {});
  // As long as carving may take.
  std::this_thread::sleep_for(std::chrono::milliseconds(1600));
  EXPECT_NE(server.log().find("idle for 1000 ms"), std::string::npos) << server.log();
  topdown::Sandbox sandbox(opened.platform);
  Status works = sandbox.session().synchronize(runtime::kDefaultStream);
  EXPECT_TRUE(works) << works.error().to_string();
}

TEST(Remote, AModelMigratesToARemoteDevice) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "opencl@" + server.endpoint(),
                   "--prompt", "In the beginning", "--max-tokens", "8", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Json json = result.json();
  EXPECT_TRUE(json.find("passed")->as_bool());
  EXPECT_TRUE(json.find("target_ran_alone")->as_bool());
  EXPECT_TRUE(json.find("culprits")->items().empty());
  for (const Json& step : json.find("kernels")->items()) {
    EXPECT_EQ(step.find("outcome")->as_string(), "migrated");
  }
}

// The source's VM is remote, and offloads migrated kernels to the local device.
TEST(Remote, AModelMigratesFromARemoteDevice) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  auto migrate = [](const std::string& source) {
    ProgramResult result =
        run_program({"migrate", kDemoModel, "--from", source, "--to", "cpu:threads=1", "--prompt",
                     "In the beginning", "--max-tokens", "6", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json();
  };
  const Json here = migrate("cpu"), there = migrate("cpu@" + server.endpoint());
  EXPECT_TRUE(there.find("passed")->as_bool());
  EXPECT_EQ(integers(there.find("source_tokens")), integers(here.find("source_tokens")));
  const auto &a = here.find("kernels")->items(), &b = there.find("kernels")->items();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(b[i].find("outcome")->as_string(), "migrated");
    EXPECT_EQ(b[i].find("kernel")->as_string(), a[i].find("kernel")->as_string());
    EXPECT_EQ(b[i].find("dispatched")->as_integer(), a[i].find("dispatched")->as_integer()) << i;
    const Json &x = *a[i].find("copies"), &y = *b[i].find("copies");
    EXPECT_EQ(y.find("bytes_from_target")->as_integer(), x.find("bytes_from_target")->as_integer());
    // Only small constants of the remote VM go with every run; nothing else is sent again.
    const int64_t more =
        y.find("bytes_to_target")->as_integer() - x.find("bytes_to_target")->as_integer();
    EXPECT_GE(more, 0) << a[i].find("kernel")->as_string();
    EXPECT_LE(more, 4096) << a[i].find("kernel")->as_string();
  }
}

TEST(Remote, AFaultIsLocalizedFromARemoteDevice) {
  TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"});
  ProgramResult result =
      run_program({"localize", kDemoModel, "--from", "cpu@" + server.endpoint(), "--to",
                   "cpu:threads=1", "--prompt", "In the beginning", "--inject-fault",
                   "rms_norm_485247dc:wrong-constant", "--json"});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json = result.json();
  const auto& culprits = json.find("culprits")->items();
  ASSERT_EQ(culprits.size(), 1U) << result.all();
  EXPECT_EQ(culprits[0].as_string(), "rms_norm_485247dc");
}

TEST(Remote, StatusShowsVersionDevicesAndLimits) {
  TempFolder folder;
  testing::write_bytes(folder / "token", "secret\n");
  BackgroundServer server({"--listen", "unix:" + folder / "server", "--token-file",
                           folder / "token", "--sessions", "3", "--memory", "1MiB"});
  ProgramResult shown =
      run_program({"rpc", "status", server.endpoint(), "--token-file", folder / "token"});
  EXPECT_EQ(shown.exit_code, 0) << shown.all();
  for (const char* part :
       {"tapml 0.1.0 at unix:", "3 sessions", "1.00 MiB", "cpu: ", "null: computes nothing"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.all();
  }
  ProgramOptions environment;
  environment.environment["TAPML_RPC_TOKEN"] = "secret";
  ProgramResult json = run_program({"rpc", "status", server.endpoint(), "--json"}, environment);
  EXPECT_EQ(json.exit_code, 0) << json.all();
  EXPECT_EQ(json.json().find("sessions")->as_integer(), 3);
  EXPECT_GE(json.json().find("platforms")->items().size(), 3U);

  // The model's weights exceed the server's limit per session.
  environment.environment["TAPML_RPC_TOKEN"] = "secret";
  testing::expect_failure(
      {"run", kDemoModel, "--target", "cpu@" + server.endpoint(), "--prompt", "x"}, 4, {"memory"},
      environment);
  testing::expect_failure({"rpc", "status", server.endpoint()}, 2, {"token"});
  testing::expect_failure(
      {"run", kDemoModel, "--target", "cpu@" + server.endpoint(), "--prompt", "x"}, 2, {"token"});
  EXPECT_EQ(server.end(SIGINT), 0) << server.log();
}

#ifdef TAPML_HAS_OPENSSL
TEST(Remote, AnEncryptedServerIsUsedLikeAnyOther) {
  TempFolder folder;
  const testing::Authority authority("root");
  authority.write_root(folder / "root.pem");
  authority.issue(folder / "server.pem", folder / "key.pem");
  testing::write_bytes(folder / "token", "secret\n");
  // On all addresses, with a token; "tcp:" works as well if there is a certificate.
  BackgroundServer server({"--listen", "tcp:0.0.0.0:0", "--tls-cert", folder / "server.pem",
                           "--tls-key", folder / "key.pem", "--token-file", folder / "token"});
  ASSERT_TRUE(server.endpoint().starts_with("tls:0.0.0.0:")) << server.endpoint();
  const std::string endpoint =
      "tls:localhost" + server.endpoint().substr(server.endpoint().rfind(':'));
  const std::vector<std::string> run = {
      "run",   kDemoModel,     "--target", "cpu@" + endpoint, "--prompt",
      "Moses", "--max-tokens", "4",        "--token-file",    folder / "token"};
  std::vector<std::string> trusting = run;
  trusting.insert(trusting.end(), {"--json", "--tls-ca", folder / "root.pem"});
  ProgramResult here = run_program(
      {"run", kDemoModel, "--target", "cpu", "--prompt", "Moses", "--max-tokens", "4", "--json"});
  ProgramResult there = run_program(trusting);
  ASSERT_EQ(there.exit_code, 0) << there.all();
  EXPECT_EQ(there.json().find("text")->as_string(), here.json().find("text")->as_string());

  ProgramOptions environment;
  environment.environment["TAPML_RPC_CA"] = folder / "root.pem";
  environment.environment["TAPML_RPC_TOKEN"] = "secret";
  ProgramResult status = run_program({"rpc", "status", endpoint}, environment);
  EXPECT_EQ(status.exit_code, 0) << status.all();
  testing::expect_failure(run, 2, {"certificate is not accepted", "--tls-ca"});
  testing::expect_failure({"rpc", "status", "tcp:" + endpoint.substr(4)}, 4,
                          {"encrypted connections only", "tls:host:port"});
  EXPECT_EQ(server.end(SIGINT), 0) << server.log();
}
#endif

}  // namespace
}  // namespace tapml
