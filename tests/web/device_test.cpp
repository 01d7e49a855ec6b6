// Tabs of a real browser as devices of a tracker.
#include <gtest/gtest.h>

#include <sstream>

#include "browser_tab.h"
#include "support/background_server.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::BrowserTab;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

// One server of the pages with its tracker, and one browser; a tab for each test.
class WebDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    write_bytes(*folder_ / "token", "s3cret\n");
    web_ = new BackgroundServer({"--listen", "127.0.0.1:0", "--token-file", *folder_ / "token"}, {},
                                "web serve");
    tab_ = new BrowserTab("about:blank");
  }
  static void TearDownTestSuite() {
    delete tab_;
    EXPECT_EQ(web_->end(), 0) << web_->log();
    delete web_;
    delete folder_;
  }
  void SetUp() override {
    if (!tab_->problem().empty()) GTEST_SKIP() << tab_->problem();
  }
  void TearDown() override {
    if (tab_->problem().empty()) tab_->ask("close");
  }

  static std::string address() { return web_->endpoint().substr(std::string("http://").size()); }
  static std::string page(const std::string& parameters) {
    return web_->endpoint() + "/device#" + parameters;
  }
  static std::string target(const std::string& key) {
    return "webgpu@tracker:" + address() + "/" + key;
  }
  // Opens a tab that is a device with this key.
  static void register_tab(const std::string& key) {
    tab_->ask("open " + page("token=s3cret&key=" + key));
    ASSERT_EQ(tab_->wait_for("#state", "Registered"), "") << web_->log();
  }
  // With the tracker's token.
  static ProgramResult run(std::vector<std::string> args, const ProgramOptions& options = {}) {
    args.insert(args.end(), {"--token-file", *folder_ / "token"});
    return run_program(args, options);
  }
  static ProgramResult generate(const std::string& target, int tokens,
                                const ProgramOptions& options = {}) {
    return run({"run", kDemoModel, "--target", target, "--prompt", "In the beginning",
                "--max-tokens", std::to_string(tokens), "--json"},
               options);
  }

  inline static TempFolder* folder_ = nullptr;
  inline static BackgroundServer* web_ = nullptr;
  inline static BrowserTab* tab_ = nullptr;
};

TEST_F(WebDevice, ServesLeaseAfterLease) {
  register_tab("lab");
  EXPECT_EQ(tab_->text("#target code"), target("lab"));
  EXPECT_EQ(tab_->ask("eval location.hash").as_string(), "#key=lab") << "without the token";
  EXPECT_TRUE(tab_->ask("eval crossOriginIsolated").as_bool());
  const ProgramResult there = generate(target("lab"), 8), here = generate("cpu", 8);
  ASSERT_EQ(there.exit_code, 0) << there.all() << web_->log();
  EXPECT_EQ(integers(there.json().find("tokens")), integers(here.json().find("tokens")));
  ASSERT_EQ(tab_->wait_for("#state", "Registered"), "");
  EXPECT_EQ(tab_->text("#leases tbody tr td:last-child"), "ended");
  // The kernels of the session, by name.
  EXPECT_EQ(tab_->text("#kernels-summary").find("The last error"), std::string::npos);
  const std::string rows = "eval [...document.querySelectorAll('#kernels tbody tr')]";
  EXPECT_GT(tab_->ask(rows + ".length").as_integer(), 20);
  const Json norm = tab_->ask(rows +
                              ".map((row) => [...row.cells].map((cell) => cell.textContent))"
                              ".find(([name]) => name === 'rms_norm_485247dc_0')");
  ASSERT_EQ(norm.items().size(), 4U) << norm.dump();
  // Two in each of 6 layers, for the prompt; later tokens have a kernel of one row.
  EXPECT_EQ(norm.items()[2].as_string(), "12");
  EXPECT_EQ(norm.items()[1].as_string(), "ran");
  const ProgramResult checked = run({"devices", "--target", target("lab"), "--check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.all();
}

TEST_F(WebDevice, AModelMigratesToIt) {
  register_tab("migrated");
  const ProgramResult result =
      run({"migrate", kDemoModel, "--from", "cpu", "--to", target("migrated"), "--prompt", "In",
           "--max-tokens", "4", "--validation-tokens", "1", "--hybrid-every", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.all() << web_->log();
  EXPECT_NE(result.out.find("identical token for token (4 tokens)"), std::string::npos);
  EXPECT_NE(result.last_line().find("PASS 28 of 28 kernels"), std::string::npos) << result.all();
}

TEST_F(WebDevice, AFaultInAShaderIsNamed) {
  register_tab("faulty");
  const std::string report = *folder_ / "report", suite = *folder_ / "suite";
  const ProgramResult carved =
      run_program({"carve", kDemoModel, "--prompt", "In", "--max-tokens", "0", "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  const ProgramResult pruned =
      run_program({"suite", "prune", suite, "--kernel", "rms_norm_485247dc"});
  ASSERT_EQ(pruned.exit_code, 0) << pruned.all();
  const ProgramResult result = run({"localize",
                                    kDemoModel,
                                    "--from",
                                    "cpu",
                                    "--to",
                                    target("faulty"),
                                    "--prompt",
                                    "In",
                                    "--max-tokens",
                                    "0",
                                    "--repeats",
                                    "1",
                                    "--shrink-seconds",
                                    "0",
                                    "--report",
                                    report,
                                    "--suite",
                                    suite,
                                    "--inject-fault",
                                    "rms_norm_485247dc:half-reduction"});
  EXPECT_EQ(result.exit_code, 1) << result.all() << web_->log();
  for (const char* part :
       {"culprit: kernel rms_norm_485247dc (mismatch", "model.layers.{0..5}.input_layernorm",
        "made by: src/models/blocks/norm.cpp:", "stored by: kernel.wgsl:"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.all();
  }
  // The named line of the shader stores to the wrong output.
  const std::string named = "stored by: kernel.wgsl:";
  const size_t at = result.out.find(named);
  ASSERT_NE(at, std::string::npos);
  std::istringstream code(testing::read_bytes(report + "/rms_norm_485247dc/kernel.wgsl"));
  std::string line;
  for (int left = std::stoi(result.out.substr(at + named.size())); left > 0; --left) {
    ASSERT_TRUE(std::getline(code, line));
  }
  EXPECT_NE(line.find(" out_0["), std::string::npos) << line;
}

TEST_F(WebDevice, AWrongTokenIsShown) {
  tab_->ask("open " + page("token=guess&key=lab"));
  EXPECT_EQ(tab_->wait_for("#state", "The tracker refuses this tab: The token is wrong."), "");
  EXPECT_FALSE(tab_->ask("eval document.querySelector('#connect').hidden").as_bool());
  tab_->ask("eval document.querySelector('[name=token]').value = 's3cret'");
  tab_->ask("eval document.querySelector('#connect').click()");
  EXPECT_EQ(tab_->wait_for("#state", "Registered"), "") << web_->log();
  // The token outlives a reload, and not the page's own end of the connection.
  tab_->ask("eval document.querySelector('#state').textContent = 'Leaves'");
  tab_->ask("eval location.reload()");
  EXPECT_EQ(tab_->wait_for("#state", "Registered"), "");
  tab_->ask("eval document.querySelector('#disconnect').click()");
  EXPECT_EQ(tab_->wait_for("#state", "Not connected"), "");
}

TEST_F(WebDevice, APageOfAnotherOriginIsRefused) {
  BackgroundServer other({"--listen", "127.0.0.1:0", "--no-tracker"}, {}, "web serve");
  tab_->ask("open " + other.endpoint() + "/device#key=lab&token=s3cret&tracker=ws://" + address());
  // Such a link waits for a click.
  ASSERT_EQ(tab_->wait_for("#state", "Not connected"), "");
  tab_->ask("eval document.querySelector('#connect').click()");
  EXPECT_EQ(tab_->wait_for("#state", "refuses pages of " + other.endpoint()), "");
  EXPECT_NE(web_->log().find("pages of " + other.endpoint() + " may not connect"),
            std::string::npos);
}

TEST_F(WebDevice, ATabNoticesATrackerThatIsSilentlyGone) {
  BackgroundServer other({"--listen", "127.0.0.1:0"}, {}, "web serve");
  tab_->ask("open " + other.endpoint() + "/device#key=lab&signs=1");
  ASSERT_EQ(tab_->wait_for("#state", "Registered"), "") << other.log();
  // As long as it gives signs, nothing happens.
  std::this_thread::sleep_for(std::chrono::milliseconds(5500));
  EXPECT_EQ(tab_->text("#state").find("Registered"), 0U) << tab_->text("#state");
  other.send(SIGSTOP);
  EXPECT_EQ(tab_->wait_for("#state", "The tracker has given no sign of life for 3 s."), "");
  other.send(SIGCONT);
  EXPECT_EQ(tab_->wait_for("#state", "Registered"), "") << other.log();
}

TEST_F(WebDevice, TwoTabsServeTwoClients) {
  register_tab("pair");
  register_tab("pair");
  ProgramResult results[2];
  std::thread first([&] { results[0] = generate(target("pair"), 4); });
  std::thread second([&] { results[1] = generate(target("pair"), 4); });
  first.join();
  second.join();
  for (const ProgramResult& result : results) {
    ASSERT_EQ(result.exit_code, 0) << result.all() << web_->log();
    EXPECT_EQ(integers(result.json().find("tokens")), integers(results[0].json().find("tokens")));
    EXPECT_EQ(result.err.find("waiting for a device"), std::string::npos) << result.err;
  }
}

TEST_F(WebDevice, AClosedTabIsLost) {
  register_tab("closed");
  std::thread closer([&] {
    EXPECT_EQ(tab_->wait_for("#state", "Leased"), "");
    tab_->ask("close");
    tab_->ask("open about:blank");
  });
  const ProgramResult result = generate(target("closed"), 100000);
  closer.join();
  EXPECT_EQ(result.exit_code, 4) << result.all();
  EXPECT_NE(result.all().find("was closed"), std::string::npos) << result.all();
}

TEST_F(WebDevice, AKilledGpuProcessIsLostAndTheNextSessionWorks) {
  register_tab("killed");
  std::thread killer([&] {
    EXPECT_EQ(tab_->wait_for("#state", "Leased"), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    tab_->ask("kill-gpu");
  });
  const ProgramResult result = generate(target("killed"), 100000);
  killer.join();
  EXPECT_EQ(result.exit_code, 4) << result.all();
  EXPECT_NE(result.all().find("the GPU device is lost"), std::string::npos) << result.all();
  const ProgramResult again = generate(target("killed"), 2);
  EXPECT_EQ(again.exit_code, 0) << again.all() << web_->log();
}

}  // namespace
}  // namespace tapml
