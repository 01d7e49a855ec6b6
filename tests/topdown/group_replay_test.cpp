// Kernels tested as a group, with a trusted source that knows only the group's inputs and outputs.
#include "topdown/replay/group_replay.h"

#include <gtest/gtest.h>

#include "topdown/report/ci_report.h"
#include "topdown/report/report.h"
#include "topdown/softmax_then_matmul.h"

namespace tapml::topdown {
namespace {

Result<KernelVerdict> replay(const Suite& suite, const Tolerances& tolerances = {},
                             const char* platform = "cpu") {
  auto session = testing::open_session(platform);
  KernelReference reference(suite);
  reference.set_tolerances(tolerances);
  auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
  Sandbox sandbox({target::parse_target(platform), session.get()});
  sandbox.load(executable);
  return replay_group(suite, reference, 0, sandbox);
}

TEST(GroupReplay, GetsOtherInputsAndForwardsThem) {
  const Suite suite = suite_of_a_group();
  const KernelVerdict verdict = unwrap(replay(suite));
  EXPECT_EQ(verdict.kernel, suite.kernels[0].name + " + " + suite.kernels[1].name);
  EXPECT_TRUE(verdict.passed);
  EXPECT_FALSE(verdict.source_wrong);
  EXPECT_EQ(verdict.total().elements, 12);
  EXPECT_GT(verdict.worst.allowed, 0);
  EXPECT_LT(verdict.worst.allowed, 1e-4);
  EXPECT_EQ(verdict.worst_output, suite.kernels[1].params[2]);
  ASSERT_TRUE(verdict.group);
  EXPECT_EQ(verdict.group->index, 0u);
  EXPECT_EQ(verdict.group->kernels.size(), 2u);
  EXPECT_EQ(group_values_text(verdict), "input of softmax -> output of linear of pytorch");
}

TEST(GroupReplay, ReportsItsLaunches) {
  const Suite suite = suite_of_a_group();
  auto session = testing::open_session("cpu");
  KernelReference reference(suite);
  std::vector<int64_t> launches;
  reference.set_watcher([&](const Work& work) {
    if (work.what == "launch") launches.push_back(work.done);
  });
  auto executable = pipeline::implement(reference.module(), target::parse_target("cpu"));
  Sandbox sandbox({target::parse_target("cpu"), session.get()});
  sandbox.load(executable);
  unwrap(replay_group(suite, reference, 0, sandbox, {.launches = 3}));
  EXPECT_EQ(launches, (std::vector<int64_t>{0, 1, 2}));
}

TEST(GroupReplay, AWrongSourceIsNotAFaultOfTheKernels) {
  const KernelVerdict verdict = unwrap(replay(suite_of_a_group(1.001)));
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.source_wrong);
  EXPECT_GT(verdict.worst.source.max_ratio, 1);
}

// The second kernel's loops, which the target runs, disagree with its graph.
Suite with_wrong_loops(Suite suite) {
  std::string& spec = suite.kernels[1].spec;
  const size_t at = spec.find("]*b[");
  EXPECT_NE(at, std::string::npos) << spec;
  spec.replace(at, 4, "]-b[");
  return suite;
}

TEST(GroupReplay, AWrongKernelShowsInTheGroupsOutput) {
  const KernelVerdict verdict = unwrap(replay(with_wrong_loops(suite_of_a_group())));
  EXPECT_FALSE(verdict.passed);
  EXPECT_FALSE(verdict.source_wrong);
  EXPECT_TRUE(verdict.difference);
  Replayed replayed;
  replayed.suite = "s";
  replayed.target = "cpu";
  replayed.verdicts = {verdict};
  EXPECT_FALSE(replayed.passed());
  EXPECT_EQ(replay_verdict(replayed), "1 of 1 group is wrong on cpu.");
  const std::string page = replay_html(replayed, "tapml replay s", {});
  EXPECT_NE(page.find("group 0: " + verdict.kernel), std::string::npos);
  EXPECT_NE(page.find(" --group 0"), std::string::npos);
  const CiReport report = ci_report("t", replayed);
  EXPECT_FALSE(report.passed());
  EXPECT_NE(junit_xml(report).find("name=\"group 0: "), std::string::npos);
  EXPECT_NE(markdown_summary(report).find("output of linear of pytorch"), std::string::npos);
}

TEST(GroupReplay, AToleranceOfTheLastKernelWidensTheBound) {
  const Suite suite = with_wrong_loops(suite_of_a_group());
  const Tolerances tolerances = Tolerances::parse(
      R"({"tolerances": [{"kernel": "matmul_*", "absolute": 1000, "reason": "a test"}]})",
      "t.json");
  const KernelVerdict verdict = unwrap(replay(suite, tolerances));
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.tolerated);
}

}  // namespace
}  // namespace tapml::topdown
