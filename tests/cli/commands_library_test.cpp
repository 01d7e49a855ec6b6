// The commands as functions, without a command line.
#include <gtest/gtest.h>

#include "app/commands/localize.h"
#include "app/commands/migrate.h"
#include "app/commands/replay.h"
#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "topdown/small_model.h"

namespace tapml::app {
namespace {

// A suite on a session that is already open.
class Replays : public ::testing::Test {
 protected:
  ReplayCommand command() {
    ReplayCommand command;
    command.name = "a suite";
    command.suite = suite_;
    command.target = {target::parse_target("cpu"), session_.get(), {}, {}};
    command.cache.off = true;
    command.isolation.in_process = true;
    return command;
  }

  std::shared_ptr<const topdown::Suite> suite_ =
      std::make_shared<const topdown::Suite>(topdown::carved());
  std::unique_ptr<runtime::Session> session_ = testing::open_session("cpu");
};

TEST_F(Replays, RunsTheSelectedKernelsAndReportsThem) {
  CommandHooks hooks;
  bool checked = false;
  std::vector<std::string> phases, done;
  hooks.checked = [&] { checked = true; };
  hooks.phase = [&](const std::string& name, int64_t) { phases.push_back(name); };
  hooks.watch = [&](const topdown::KernelEvent& event) {
    if (event.stage == topdown::KernelStage::kDone) done.push_back(event.kernel);
  };
  SuiteReplay replay(command(), hooks);
  EXPECT_TRUE(checked);
  const WantedTests wanted = replay.wanted({.kernel = "rms_norm"});
  ASSERT_FALSE(wanted.kernels.empty());
  EXPECT_EQ(wanted.kernels.size() + wanted.not_selected.size(), suite_->kernels.size());
  replay.compile(wanted.compiled);
  const topdown::Replayed replayed = replay.run(wanted, true);
  EXPECT_EQ(phases, (std::vector<std::string>{"compile for cpu", "replay"}));
  ASSERT_EQ(replayed.verdicts.size(), wanted.kernels.size());
  ASSERT_EQ(done.size(), replayed.verdicts.size());
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i], replayed.verdicts[i].kernel);
    EXPECT_TRUE(replayed.verdicts[i].passed) << replayed.verdicts[i].failure;
  }
  EXPECT_EQ(replayed.suite, "a suite");
  EXPECT_EQ(replayed.target, "cpu");
  EXPECT_EQ(replayed.not_selected, wanted.not_selected);
  EXPECT_EQ(replayed.speed.kernels.size(), replayed.verdicts.size());
  EXPECT_EQ(replayed.sources.size(), replayed.verdicts.size());
  for (const auto& [kernel, source] : replayed.sources)
    EXPECT_FALSE(source.loops.empty()) << kernel;
  // Compilation, a span for each kernel, the speed, and the code.
  EXPECT_EQ(replayed.timeline.size(), replayed.verdicts.size() + 3);
}

TEST_F(Replays, FindAFault) {
  ReplayCommand broken = command();
  broken.fault = "rms_norm:dropped-tail";
  for (const topdown::SuiteKernel& kernel : suite_->kernels) {
    if (kernel.name.starts_with("rms_norm")) broken.fault = kernel.name + ":dropped-tail";
  }
  SuiteReplay replay(broken, {});
  const WantedTests wanted = replay.wanted({});
  replay.compile(wanted.compiled);
  const topdown::Replayed replayed = replay.run(wanted, false);
  EXPECT_EQ(replayed.verdict(), topdown::Verdict::kFail);
  for (const topdown::KernelVerdict& verdict : replayed.verdicts) {
    EXPECT_EQ(verdict.passed, !broken.fault.starts_with(verdict.kernel + ":")) << verdict.kernel;
  }
  EXPECT_EQ(replay.options_again().faults, std::vector<std::string>{broken.fault});
}

TEST_F(Replays, RefuseKernelsThatTheSuiteLacks) {
  SuiteReplay replay(command(), {});
  const auto message = [&](const TestChoice& choice) {
    const auto wanted = guard([&] { return replay.wanted(choice); });
    return wanted ? std::string("accepted") : wanted.error().message;
  };
  EXPECT_EQ(message({.kernel = "no_such_kernel"}), "the suite has no such kernel");
  EXPECT_EQ(message({.group = 0}), "the suite has no such group");
  ReplayCommand broken = command();
  for (const topdown::SuiteKernel& kernel : suite_->kernels) {
    if (!kernel.name.starts_with("rms_norm")) broken.fault = kernel.name + ":off-by-one";
  }
  SuiteReplay remote_target(broken, {});
  const auto wanted = guard([&] { return remote_target.wanted({.kernel = "rms_norm"}); });
  ASSERT_FALSE(wanted);
  EXPECT_EQ(wanted.error().message, "the fault is for a kernel that is not run");
}

TEST(Choices, ATextIsReadWithoutItsFile) {
  const ToleranceChoice none;
  EXPECT_TRUE(none.load().items().empty());
  EXPECT_EQ(none.file(), "");
  const ToleranceChoice text{
      "widened", R"({"tolerances": [{"kernel": "rms_norm", "factor": 2, "reason": "known"}]})"};
  const auto tolerances = guard([&] { return text.load(); });
  ASSERT_TRUE(tolerances) << tolerances.error().to_string();
  EXPECT_EQ(tolerances->items().size(), 1u);
  EXPECT_EQ(text.file(), "");  // a command could not be given this text
  const std::vector<std::string> unused = text.unused(*tolerances, {"softmax_01234567"});
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_TRUE(unused[0].starts_with("widened: ")) << unused[0];
  EXPECT_TRUE(text.unused(*tolerances, {"rms_norm_01234567"}).empty());
  EXPECT_EQ((ToleranceChoice{"missing.json", std::nullopt}.file()), "missing.json");
}

// Invalid options are reported before anything is opened or read.
TEST(Choices, OptionsAreCheckedFirst) {
  MigrateCommand command;
  command.model.name = "no such folder";
  command.source.target = target::parse_target("cpu");
  command.targets = {{target::parse_target("cpu:threads=1"), nullptr, {}, {}}};
  command.prompt = "Emma was";
  command.fault = "rms_norm:no-such-kind";
  bool checked = false;
  CommandHooks hooks;
  hooks.checked = [&] { checked = true; };
  const auto fault = guard([&] { return migrate(command, hooks); });
  ASSERT_FALSE(fault);
  EXPECT_NE(fault.error().where.find("no-such-kind"), std::string::npos)
      << fault.error().to_string();
  EXPECT_FALSE(checked);
  command.fault.clear();
  command.order = "backwards";
  EXPECT_FALSE(guard([&] { return migrate(command, hooks); }));
  EXPECT_FALSE(checked);
  LocalizeCommand localize_command;
  localize_command.prompt = "Emma was";
  localize_command.faults = {"rms_norm:no-such-kind"};
  EXPECT_FALSE(guard([&] { return localize(localize_command, hooks); }));
  EXPECT_FALSE(checked);
}

}  // namespace
}  // namespace tapml::app
