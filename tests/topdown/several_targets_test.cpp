// Migrations to several platforms at once.
#include "topdown/migrate/several_targets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/forwarding_session.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/asked_migration.h"
#include "topdown/losing_session.h"

namespace tapml::topdown {
namespace {

const Error kAbsent = platform_error(PlatformFault::kAbsent, "nobody answers", "cpu@unix:/none");

Migrations migrated_to(MigrateOptions options, const std::vector<MigrationTarget>& targets,
                       runtime::Session& from) {
  options.cache = &kernel_cache();
  return migrate(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                 {target::parse_target("cpu"), &from, {}}, targets, options);
}

Migrations migrated_to(const MigrateOptions& options, const std::vector<MigrationTarget>& targets) {
  auto from = testing::open_session("cpu");
  return migrated_to(options, targets, *from);
}

// Two targets, distinguished by their texts.
class SeveralTargets : public ::testing::Test {
 protected:
  MigrationTarget target(const std::string& text, runtime::Session* session) {
    return {.platform = {target::parse_target(text), session, {}}};
  }
  MigrationTarget first() { return target("cpu:threads=1", a_.get()); }
  MigrationTarget second() { return target("cpu:threads=2", b_.get()); }

  // The result of one of them alone.
  static Migration alone(const MigrateOptions& options, const MigrationTarget& target) {
    Migrations one = migrated_to(options, {target});
    EXPECT_EQ(one.targets.size(), 1u);
    return one.targets[0];
  }

  std::unique_ptr<runtime::Session> a_ = testing::open_session("cpu");
  std::unique_ptr<runtime::Session> b_ = testing::open_session("cpu");
  MigrateOptions options_ = short_run();
};

TEST_F(SeveralTargets, EachGivesTheSameAsAlone) {
  const Migration right = alone(options_, first());
  const std::string victim = kernels_of(right).at(3);
  MigrationTarget wrong = second();
  wrong.fault = victim + ":wrong-constant";
  for (bool stop : {false, true}) {
    options_.stop_at_first = stop;
    const Migrations both = migrated_to(options_, {first(), wrong});
    ASSERT_EQ(both.targets.size(), 2u);
    EXPECT_TRUE(both.targets[0].passed());
    EXPECT_FALSE(both.targets[1].passed());
    EXPECT_FALSE(both.passed());
    EXPECT_EQ(both.error(), nullptr);
    EXPECT_EQ(both.targets[1].untried.empty(), !stop)
        << "each ends at its own first kernel that stays";
    EXPECT_EQ(result_of(both.targets[0]), result_of(right));
    if (!stop) continue;
    EXPECT_EQ(result_of(both.targets[1]), result_of(alone(options_, wrong)));
  }
}

TEST_F(SeveralTargets, TheSourceRunsOnceAndTargetsTakeTurns) {
  std::vector<std::string> steps;
  std::vector<std::pair<std::string, std::string>> tested;
  options_.progress = [&](const std::string& step, int64_t, int64_t total) {
    if (total == 0) steps.push_back(step);
  };
  options_.watch = [&](const KernelEvent& event) {
    if (event.stage == KernelStage::kTesting) tested.emplace_back(event.kernel, event.target);
  };
  const Migrations both = migrated_to(options_, {first(), second()});
  EXPECT_TRUE(both.passed());
  EXPECT_EQ(steps,
            (std::vector<std::string>{"compile for cpu", "run on cpu", "carve",
                                      "evaluate the reference of the whole model",
                                      "compile for cpu:threads=1", "compile for cpu:threads=2",
                                      "run on cpu:threads=1", "run on cpu:threads=2"}));
  const std::vector<std::string> kernels = kernels_of(both.targets[0]);
  ASSERT_EQ(tested.size(), 2 * kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(tested[2 * i], std::pair(kernels[i], std::string("cpu:threads=1")));
    EXPECT_EQ(tested[2 * i + 1], std::pair(kernels[i], std::string("cpu:threads=2")));
  }
  // The source's time counts for both targets, a target's time only for itself.
  const double sum = both.targets[0].seconds + both.targets[1].seconds;
  double source = 0;
  for (const TimelineSpan& span : both.targets[0].timeline) {
    if (span.name == "evaluate the reference of the whole model" || span.name == "carve")
      source += span.seconds;
  }
  EXPECT_GT(source, 0);
  EXPECT_LE(both.targets[0].seconds, both.seconds);
  EXPECT_GT(sum, both.seconds * 0.9);
}

TEST_F(SeveralTargets, ALostTargetDoesNotAffectTheOthers) {
  const Migration whole = alone(options_, first());
  testing::TempFolder folder;
  MigrationTarget right = first();
  right.state = folder / "right";
  for (bool first_is_lost : {false, true}) {
    LosingSession losing(400);
    MigrationTarget lost = target("cpu:threads=2", &losing);
    lost.state = folder / ("lost" + std::to_string(first_is_lost));
    std::vector<MigrationTarget> targets = {right, lost};
    if (first_is_lost) std::swap(targets[0], targets[1]);
    const Migrations both = migrated_to(options_, targets);
    const Migration& good = both.targets[first_is_lost ? 1 : 0];
    const Migration& bad = both.targets[first_is_lost ? 0 : 1];
    EXPECT_TRUE(good.passed());
    EXPECT_EQ(result_of(good), result_of(whole));
    ASSERT_TRUE(bad.error);
    EXPECT_EQ(both.error(), &*bad.error);
    EXPECT_EQ(bad.error->fault, PlatformFault::kLost);
    EXPECT_FALSE(bad.passed());
    EXPECT_FALSE(bad.target_ran);
    EXPECT_TRUE(bad.culprits().empty()) << "no kernel is blamed";
    EXPECT_FALSE(bad.steps.empty());
    EXPECT_FALSE(bad.untried.empty());
    EXPECT_EQ(bad.untried.size(), bad.untried_calls.size());
    std::vector<std::string> kernels = kernels_of(bad);
    kernels.insert(kernels.end(), bad.untried.begin(), bad.untried.end());
    EXPECT_EQ(kernels, kernels_of(whole));
    // Its progress is kept, and a new attempt resumes there, alone.
    lost.platform.session = b_.get();
    const Migration resumed = alone(options_, lost);
    EXPECT_EQ(resumed.resumed, std::ssize(bad.steps));
    EXPECT_TRUE(resumed.passed());
  }
  EXPECT_EQ(alone(options_, right).resumed, std::ssize(whole.steps));
}

TEST_F(SeveralTargets, ResultsAreKeptIfAllAreLost) {
  LosingSession one(60), two(400);
  const Migrations both =
      migrated_to(options_, {target("cpu:threads=1", &one), target("cpu:threads=2", &two)});
  for (const Migration& migration : both.targets) {
    ASSERT_TRUE(migration.error);
    EXPECT_FALSE(migration.steps.empty());
    EXPECT_FALSE(migration.untried.empty());
  }
  EXPECT_LT(both.targets[0].steps.size(), both.targets[1].steps.size());
}

TEST_F(SeveralTargets, OneThatCannotBeOpenedIsLeftOut) {
  MigrationTarget absent = target("cpu@unix:/none", nullptr);
  absent.absent = kAbsent;
  const Migrations both = migrated_to(options_, {absent, first()});
  EXPECT_TRUE(both.targets[1].passed());
  EXPECT_FALSE(both.passed());
  ASSERT_TRUE(both.error());
  EXPECT_EQ(both.error()->fault, PlatformFault::kAbsent);
  EXPECT_TRUE(both.targets[0].steps.empty());
  EXPECT_EQ(both.targets[0].untried, kernels_of(both.targets[1]));
  EXPECT_EQ(both.targets[0].source_tokens, both.targets[1].source_tokens);
  // If none is left, there is nothing to do.
  for (const std::vector<MigrationTarget>& targets :
       {std::vector{absent}, std::vector{absent, absent}}) {
    testing::expect_platform_error([&] { migrated_to(options_, targets); }, PlatformFault::kAbsent,
                                   {"nobody answers"});
  }
}

TEST_F(SeveralTargets, UserErrorsEndAllBeforeKernelsAreTried) {
  MigrationTarget wrong = second();
  wrong.fault = "nothing:wrong-constant";
  int64_t tried = 0;
  options_.watch = [&](const KernelEvent& event) { tried += event.stage == KernelStage::kTesting; };
  testing::expect_user_error([&] { migrated_to(options_, {first(), wrong}); },
                             {"no such kernel", "nothing"});
  EXPECT_EQ(tried, 0);
}

TEST_F(SeveralTargets, AnInterruptionEndsAll) {
  bool seen = false;
  options_.watch = [&](const KernelEvent& event) { seen |= event.stage == KernelStage::kHybrid; };
  options_.cancelled = [&] { return seen; };
  testing::expect_platform_error([&] { migrated_to(options_, {first(), second()}); },
                                 PlatformFault::kCancelled, {"interrupted"});
}

// Lost once it is set so.
class FailingSession : public runtime::ForwardingSession {
 public:
  FailingSession() : ForwardingSession(testing::open_session("cpu")) {}
  bool gone = false;

  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override {
    if (gone) return lost();
    return ForwardingSession::launch(stream, request);
  }
  Status synchronize(runtime::StreamId stream, runtime::Deadline deadline) noexcept override {
    if (gone) return lost();
    return ForwardingSession::synchronize(stream, deadline);
  }

 private:
  static Status lost() { return fail(platform_error(PlatformFault::kLost, "the source is gone")); }
};

TEST_F(SeveralTargets, ALostSourceIsNotATargetsFault) {
  FailingSession source;
  options_.watch = [&](const KernelEvent& event) {
    source.gone |= event.stage == KernelStage::kHybrid;
  };
  testing::expect_platform_error([&] { migrated_to(options_, {first(), second()}, source); },
                                 PlatformFault::kLost, {"the source is gone"});
}

TEST_F(SeveralTargets, NaNOfTheSourceIsReportedForAll) {
  options_.cache = &kernel_cache();
  const std::map<std::string, HostTensor> weights = weights_with_nan();
  auto from = testing::open_session("cpu");
  const Migrations both =
      migrate(small_model().golden.model.module, weights, kPrompt,
              {target::parse_target("cpu"), from.get(), {}}, {first(), second()}, options_);
  for (const Migration& migration : both.targets) {
    EXPECT_TRUE(migration.source_nan);
    EXPECT_TRUE(migration.steps.empty());
    EXPECT_FALSE(migration.passed());
  }
}

TEST(TargetFolders, AreDistinctFileNames) {
  EXPECT_EQ(target_folders({"opencl", "vulkan@unix:/tmp/x", "cpu:threads=2,libs=a"}),
            (std::vector<std::string>{"opencl", "vulkan-unix-tmp-x", "cpu-threads=2-libs=a"}));
  EXPECT_EQ(target_folders({"cpu@a:1", "cpu@a/1", "cpu@a-1"}),
            (std::vector<std::string>{"cpu-a-1", "cpu-a-1-2", "cpu-a-1-3"}));
  testing::expect_user_error([] { target_folders({"cpu", "opencl", "cpu"}); },
                             {"twice", "--to", "cpu"});
}

TEST(FaultOf, AppliesToAllOrToTheNamedTarget) {
  const std::vector<std::string> targets = {"opencl", "vulkan@unix:/tmp/x"};
  const std::string kernel = "rms_norm_:off-by-one";
  for (const std::string& target : targets) {
    EXPECT_EQ(target_fault("", target, targets), "");
    EXPECT_EQ(target_fault(kernel, target, targets), kernel);
    EXPECT_EQ(target_fault("opencl/" + kernel, target, targets), target == "opencl" ? kernel : "");
    EXPECT_EQ(target_fault("vulkan@unix:/tmp/x/" + kernel, target, targets),
              target == "opencl" ? "" : kernel);
    testing::expect_user_error([&] { target_fault("cpu/" + kernel, target, targets); },
                               {"\"cpu\"", "TARGET/KERNEL:KIND", "opencl, vulkan@unix:/tmp/x"});
    testing::expect_user_error([&] { target_fault("opencl/a:gremlin", target, targets); },
                               {"gremlin"});
    testing::expect_user_error([&] { target_fault("opencl/", target, targets); }, {"KERNEL:KIND"});
  }
}

}  // namespace
}  // namespace tapml::topdown
