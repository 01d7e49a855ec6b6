// `tapml localize` on the demo model.
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/well_formed.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::strings;
using testing::TempFolder;

std::vector<std::string> localize(std::vector<std::string> more) {
  std::vector<std::string> args = {"localize",      kDemoModel, "--from",   "cpu",          "--to",
                                   "cpu:threads=1", "--prompt", "Emma was", "--max-tokens", "1"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Localize, NamesFaultsOfSeveralKindsAtOnce) {
  TempFolder folder;
  const std::string report = folder / "report";
  ProgramResult result = run_program(
      localize({"--inject-fault", "rms_norm_485247dc:crash", "--inject-fault",
                "slice_:dropped-tail", "--shrink-seconds", "30", "--report", report, "--json"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json = result.json();
  EXPECT_TRUE(json.find("found")->as_bool());
  EXPECT_EQ(json.find("verdict")->as_string(), "FAIL");
  EXPECT_TRUE(ProgramResult::last_line_of(result.err).starts_with("FAIL 26 of 28 kernels, "))
      << result.err;
  const std::vector<std::string> culprits = strings(json.find("culprits"));
  ASSERT_EQ(culprits.size(), 2u) << result.all();
  EXPECT_EQ(culprits[0], "rms_norm_485247dc");
  EXPECT_TRUE(culprits[1].starts_with("slice_")) << culprits[1];
  EXPECT_TRUE(json.find("rest")->find("passed")->as_bool());
  // One on the source, two on the target: without the suspects, and with plain code in their place.
  // No bisection is needed.
  EXPECT_EQ(json.find("hybrid_runs")->as_integer(), 3);
  const std::string page = testing::read_bytes(report + "/report.html");
  for (const Json& finding : json.find("findings")->items()) {
    const std::string& name = finding.find("kernel")->as_string();
    SCOPED_TRACE(name);
    const bool crashes = name.starts_with("rms_norm");
    EXPECT_EQ(finding.find("outcome")->as_string(), crashes ? "crash" : "mismatch");
    EXPECT_EQ(finding.find("found_by")->as_string(), "replay");
    EXPECT_EQ(finding.find("runs")->as_integer(), 5);
    EXPECT_EQ(finding.find("failed_runs")->as_integer(), 5);
    EXPECT_FALSE(finding.find("layers")->items().empty());
    const Json* smallest = finding.find("smallest");
    ASSERT_NE(smallest, nullptr);
    EXPECT_EQ(smallest->find("dims")->find("n")->as_integer(), 1);
    EXPECT_GT(smallest->find("dims_before")->find("n")->as_integer(), 1);
    // One call, which replays without the model: the repaired kernel passes.
    ProgramResult mended =
        run_program({"replay", report + "/" + name + "/suite", "--target", "cpu", "--json"});
    ASSERT_EQ(mended.exit_code, 0) << mended.all();
    EXPECT_EQ(mended.json().find("kernels")->items()[0].find("calls")->as_integer(), 1);
    const std::string line =
        std::string("tapml replay 'suite' --target 'cpu:threads=1' --inject-fault ") +
        (crashes ? "'rms_norm_485247dc:crash'" : "'slice_:dropped-tail'");
    EXPECT_NE(page.find("cd '" + name + "' &amp;&amp; " + line + "</pre>"), std::string::npos);
    EXPECT_EQ(testing::run_line(report + "/" + name, line), 1);
  }
  for (const std::string& name : culprits) EXPECT_NE(page.find(name), std::string::npos);
  for (const char* fetch : {"http://", "https://", " src=", "<link"}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
  auto stored = parse_json(testing::read_bytes(report + "/report.json"), "report.json");
  ASSERT_TRUE(stored) << stored.error().to_string();
  EXPECT_EQ(strings(stored->find("culprits")), culprits);
}

TEST(Localize, FindsNothingInACorrectModel) {
  ProgramResult result = run_program(localize({"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_FALSE(json.find("found")->as_bool());
  EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
  EXPECT_TRUE(ProgramResult::last_line_of(result.err).starts_with("PASS 28 of 28 kernels, "))
      << "one decode step tests what decodes\n"
      << result.err;
  EXPECT_TRUE(json.find("culprits")->items().empty());
  EXPECT_TRUE(json.find("target_ran_alone")->as_bool());
  EXPECT_TRUE(json.find("whole_model")->find("passed")->as_bool());
}

TEST(Localize, OnOpenClShowsTheCode) {
  ProgramResult result =
      run_program({"localize", kDemoModel, "--from", "cpu", "--to", "opencl", "--prompt",
                   "Emma was", "--max-tokens", "0", "--inject-fault", "take_f58c4d00:dropped-tail",
                   "--shrink-seconds", "0", "--json"});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json = result.json();
  ASSERT_EQ(json.find("findings")->items().size(), 1u);
  const Json& finding = json.find("findings")->items()[0];
  EXPECT_NE(finding.find("code")->as_string().find("kernel void"), std::string::npos);
  EXPECT_NE(finding.find("loops")->as_string().find("prim def"), std::string::npos);
}

TEST(Localize, PassesHaveReportsToo) {
  TempFolder folder;
  ProgramResult result = run_program(localize(
      {"--bisect", "passes", "--inject-fault", "simplify_graph:wrong-operator", "--report",
       folder / "report", "--junit", folder / "junit.xml", "--markdown", folder / "s.md"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const std::string xml = testing::read_bytes(folder / "junit.xml");
  EXPECT_NE(xml.find("name=\"simplify_graph\""), std::string::npos) << xml;
  EXPECT_EQ(testing::markup_fault(xml.substr(xml.find('\n') + 1)), "");
  EXPECT_NE(testing::read_bytes(folder / "s.md").find("**FAIL logits of "), std::string::npos);
  const std::string page = testing::read_bytes(folder / "report/report.html");
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_NE(page.find("culprit: simplify_graph"), std::string::npos);
  EXPECT_NE(page.find("--bisect passes"), std::string::npos);
  for (const auto& [option, value] :
       {std::pair{"--tolerance", "loose.json"}, std::pair{"--repeats", "5"},
        std::pair{"--shrink-seconds", "1"}}) {
    testing::expect_failure(localize({"--bisect", "passes", option, value}), 2,
                            {option, "none with --bisect passes"});
  }
}

TEST(Localize, RefusesUnsuitableSuitesAndOptions) {
  testing::expect_failure(localize({"--inject-fault", "slice_:nonsense"}), 2, {"unknown kind"});
  testing::expect_failure(localize({"--suite", "/nowhere"}), 2, {"/nowhere"});
  testing::expect_failure(localize({"--inject-fault", "slice_:crash", "--in-process"}), 2,
                          {"ends the process", "--in-process"});
}

}  // namespace
}  // namespace tapml
