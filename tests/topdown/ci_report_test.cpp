// JUnit XML and Markdown reports of command results.
#include "topdown/report/ci_report.h"

#include <gtest/gtest.h>

#include "topdown/report/report.h"

namespace tapml::topdown {
namespace {

KernelVerdict norm_verdict(const std::string& name, bool passed) {
  KernelVerdict one;
  one.kernel = name;
  one.origin = {"model.norm"};
  one.passed = passed;
  one.worst_output = "out";
  one.worst_sequence = 7;
  one.worst.target.max_abs = passed ? 0 : 0.5;
  one.worst.allowed = 0.25;
  one.seconds = 0.25;
  return one;
}

MigrationStep norm_step(const std::string& name, bool passed) {
  MigrationStep one;
  one.verdict = norm_verdict(name, passed);
  one.migrated = passed;
  return one;
}

Replayed replayed(const std::vector<KernelVerdict>& verdicts) {
  Replayed made;
  made.target = "opencl";
  made.verdicts = verdicts;
  return made;
}

TEST(CiReport, UntestedKernelsDoNotPass) {
  Replayed part = replayed({norm_verdict("a_1", true)});
  EXPECT_TRUE(ci_report("r", part).passed());
  part.untested = {{"b_2", {"model.layers.0"}}};
  part.incomplete = "interrupted";
  const CiReport report = ci_report("r", part);
  EXPECT_FALSE(report.passed());
  const std::string xml = junit_xml(report);
  // A reader that only reads cases sees a failure.
  EXPECT_NE(xml.find("<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<property name=\"verdict\" value=\"NOT PROVEN\"/>"), std::string::npos);
  EXPECT_NE(xml.find("name=\"b_2\" time=\"0.000\"><skipped message=\"untested\"/>"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("the suite is incomplete: interrupted\n1 kernel is untested: b_2 "
                     "(model.layers.0)\n</failure>"),
            std::string::npos)
      << xml;
  const std::string markdown = markdown_summary(report);
  EXPECT_NE(
      markdown.find("**NOT PROVEN 1 of 2 kernels, 0 calls, 1 untested, the suite incomplete**"),
      std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| b\\_2 |  | model.layers.0 |  |  | untested |"), std::string::npos)
      << markdown;
}

TEST(CiReport, JUnitOfAReplay) {
  KernelVerdict crash = norm_verdict("b_2", false);
  crash.failed = Failure::kCrash;
  crash.failure = "signal 11 at <0x0> & \"more\"\x01\xff";
  KernelVerdict granted = norm_verdict("c_3", true);
  granted.tolerance = Tolerance{"c_*", 2, 0, "exp2 of the driver"};
  granted.tolerated = true;
  const CiReport report =
      ci_report("replay", replayed({norm_verdict("a_1", false), crash, granted}));
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.verdict, "2 of 3 kernels are wrong on opencl.");
  EXPECT_EQ(
      junit_xml(report),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\" time=\"0.750\">\n"
      "  <testsuite name=\"replay\" tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\" "
      "time=\"0.750\">\n"
      "    <properties>\n      <property name=\"verdict\" value=\"FAIL\"/>\n      <property "
      "name=\"counts\" value=\"FAIL 1 of 3 kernels, 0 calls, 2 wrong, 1 within a widened "
      "bound\"/>\n    </properties>\n"
      "    <testcase classname=\"replay\" name=\"a_1\" time=\"0.250\">\n"
      "      <failure type=\"mismatch\" message=\"mismatch, layers model.norm\">out of call 7: "
      "error 5.00e-01, bound 2.50e-01, 0 ULP\n"
      "</failure>\n    </testcase>\n"
      "    <testcase classname=\"replay\" name=\"b_2\" time=\"0.250\">\n"
      "      <failure type=\"crash\" message=\"crash, layers model.norm\">signal 11 at "
      "&lt;0x0&gt; &amp; &quot;more&quot;??\n"
      "</failure>\n    </testcase>\n"
      "    <testcase classname=\"replay\" name=\"c_3\" time=\"0.250\"><system-out>bound times "
      "2 plus 0 (needed): exp2 of the driver</system-out></testcase>\n"
      "  </testsuite>\n</testsuites>\n");
}

TEST(CiReport, ASuiteForEachTarget) {
  Migrations migrations;
  migrations.targets.resize(2);
  migrations.targets[0].target = "opencl";
  migrations.targets[0].steps = {norm_step("a_1", true)};
  migrations.targets[1].target = "vulkan";
  migrations.targets[1].untried = {"a_1"};
  migrations.targets[1].error = platform_error(PlatformFault::kLost, "it is <gone>");
  const std::vector<CiReport> reports = ci_reports("migrate m: cpu", migrations);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_FALSE(reports[1].passed());
  EXPECT_EQ(
      junit_xml(reports),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.250\">\n"
      "  <testsuite name=\"migrate m: cpu to opencl\" tests=\"1\" failures=\"0\" errors=\"0\" "
      "skipped=\"0\" time=\"0.250\">\n"
      "    <properties>\n      <property name=\"verdict\" value=\"NOT PROVEN\"/>\n      <property "
      "name=\"counts\" value=\"NOT PROVEN 1 of 1 kernel, 0 calls\"/>\n    </properties>\n"
      "    <testcase classname=\"migrate m: cpu to opencl\" name=\"a_1\" time=\"0.250\"/>\n"
      "  </testsuite>\n"
      "  <testsuite name=\"migrate m: cpu to vulkan\" tests=\"2\" failures=\"1\" errors=\"0\" "
      "skipped=\"1\" time=\"0.000\">\n"
      "    <properties>\n      <property name=\"verdict\" value=\"NOT PROVEN\"/>\n      <property "
      "name=\"counts\" value=\"NOT PROVEN 0 of 1 kernel, 0 calls, 1 not tried, ended by an "
      "error\"/>\n    </properties>\n"
      "    <testcase classname=\"migrate m: cpu to vulkan\" name=\"target\" time=\"0.000\">\n"
      "      <failure type=\"lost\" message=\"lost\">it is &lt;gone&gt;\n</failure>\n"
      "    </testcase>\n"
      "    <testcase classname=\"migrate m: cpu to vulkan\" name=\"a_1\" time=\"0.000\"><skipped "
      "message=\"not tried\"/></testcase>\n"
      "  </testsuite>\n</testsuites>\n");
  const std::string markdown = markdown_summary(reports);
  EXPECT_LT(markdown.find("## migrate m: cpu to opencl"),
            markdown.find("## migrate m: cpu to vulkan"));
  EXPECT_NE(markdown.find("ended by an error**: Ended by an error, with 0 kernels tried"),
            std::string::npos)
      << markdown;
}

TEST(CiReport, AMigrationThatStopped) {
  Migration migration;
  migration.steps = {norm_step("a_1", true), norm_step("b_2", false)};
  migration.untried = {"c_3"};
  const CiReport report = ci_report("migrate", migration);
  EXPECT_FALSE(report.passed());
  ASSERT_EQ(report.cases.size(), 3u);
  EXPECT_EQ(report.cases[0].result, CiCase::Result::kPassed);
  EXPECT_EQ(report.cases[1].result, CiCase::Result::kFailed);
  EXPECT_EQ(report.cases[2].result, CiCase::Result::kSkipped);
  EXPECT_NE(junit_xml(report).find("name=\"c_3\" time=\"0.000\"><skipped message=\"not tried\"/>"),
            std::string::npos);
  EXPECT_EQ(
      markdown_summary(report),
      "## migrate\n\n**FAIL 1 of 3 kernels, 0 calls, 1 wrong, 1 not tried**: The migration is not "
      "complete: 1 kernel stays on the source, "
      "1 were not tried.\n\n"
      "### b\\_2: mismatch\n\nLayers: model.norm\n\n```\nout of call 7: error 5.00e-01, bound "
      "2.50e-01, 0 ULP\n```\n\n<details><summary>the others</summary>\n\n"
      "| | in | layers | error | bound | outcome |\n| --- | --- | --- | --- | --- | --- |\n"
      "| a\\_1 |  | model.norm | 0 | 2.50e-01 | migrated |\n"
      "| c\\_3 |  |  |  |  | not tried |\n\n</details>\n");
}

TEST(CiReport, TheWholeModelIsACase) {
  Migration migration;
  migration.steps = {norm_step("a_1", true)};
  migration.target_ran = true;
  EXPECT_TRUE(ci_report("m", migration).passed());
  EXPECT_EQ(ci_report("m", migration).cases.back().name, "whole model");
  migration.first_divergence = 3;
  const CiCase diverged = ci_report("m", migration).cases.back();
  EXPECT_EQ(diverged.result, CiCase::Result::kFailed);
  EXPECT_TRUE(diverged.details.ends_with("another text from token 3 on\n")) << diverged.details;
  migration.whole.passed = false;
  migration.whole.failure = "crash ``` here";
  EXPECT_NE(markdown_summary(ci_report("m", migration)).find("````\ncrash ``` here\n````\n"),
            std::string::npos);
}

TEST(CiReport, OfABisectionOverPasses) {
  PassBisection bisection;
  bisection.source = "cpu";
  bisection.target = "opencl";
  EXPECT_TRUE(ci_report("p", bisection).passed());
  EXPECT_NE(junit_xml(ci_report("p", bisection)).find("tests=\"1\" failures=\"0\""),
            std::string::npos);
  bisection.whole.passed = false;
  bisection.settings.push_back(
      {.settings = {"fuse_ops", "prepare"}, .check = {}, .kernels = {"a_1"}});
  bisection.pass.emplace().pass = "legalize";
  const CiReport report = ci_report("p", bisection);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.verdict, "the compiler makes the model wrong on opencl: 2 culprits.");
  const std::string xml = junit_xml(report);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"3\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"fuse_ops with prepare\" time=\"0.000\">\n      <failure "
                     "type=\"makes the model wrong\" message=\"makes the model wrong\">culprit"),
            std::string::npos)
      << xml;
  EXPECT_NE(markdown_summary(report).find("### legalize: makes the model wrong\n\n```"),
            std::string::npos);
}

TEST(CiReport, AWrongSourceIsReported) {
  KernelVerdict wrong = norm_verdict("a_1", true);
  wrong.source_wrong = true;
  wrong.source_error = {.output = "out", .sequence = 3, .error = 2, .bound = 0.5, .ratio = 4};
  const std::string text =
      "the source is outside of its own bound: out of call 3, error 2.00e+00, bound 5.00e-01";
  MigrationStep step = norm_step("a_1", true);
  step.verdict = wrong;
  Migration migration;
  migration.steps = {step};
  Localization localization;
  localization.verdicts = {wrong};
  for (const CiReport& report : {ci_report("r", replayed({wrong})), ci_report("r", migration),
                                 ci_report("r", localization)}) {
    EXPECT_NE(junit_xml(report).find("<system-out>" + text + "</system-out>"), std::string::npos);
    EXPECT_NE(markdown_summary(report).find("; " + text + " |"), std::string::npos);
  }
  wrong.passed = false;
  EXPECT_NE(junit_xml(ci_report("r", replayed({wrong}))).find(text + "\n</failure>"),
            std::string::npos);
  wrong.source_error->mask_mismatches = 2;
  EXPECT_EQ(source_text(wrong),
            "the source is outside of its own bound: out of call 3, 2 elements that are NaN or "
            "infinite on one side only");
  EXPECT_EQ(source_text(norm_verdict("b_2", true)), "");
}

TEST(CiReport, ALocalizationNamesItsCulprits) {
  Localization localization;
  localization.target = "opencl";
  localization.verdicts = {norm_verdict("a_1", true), norm_verdict("b_2", false)};
  Culprit culprit;
  culprit.kernel = "a_1";
  culprit.verdict = norm_verdict("a_1", true);
  culprit.evidence = Evidence::kHybrid;
  localization.culprits = {culprit};
  const CiReport report = ci_report("localize", localization);
  EXPECT_EQ(report.verdict, "1 kernel is wrong on opencl.");
  EXPECT_EQ(report.cases[0].outcome, "wrong in the model");
  EXPECT_EQ(report.cases[0].result, CiCase::Result::kFailed);
}

TEST(CiReport, ACulpritThatTheSuiteDoesNotKnowIsACase) {
  Localization localization;
  localization.target = "opencl";
  localization.verdicts = {norm_verdict("a_1", true)};
  localization.untested = {{"b_2", {}}, {"c_3", {"model.norm"}}};
  Culprit culprit;
  culprit.kernel = "b_2";
  culprit.verdict = norm_verdict("b_2", false);
  culprit.evidence = Evidence::kHybrid;
  culprit.runs = culprit.failed_runs = 5;
  localization.culprits = {culprit};
  const CiReport report = ci_report("localize", localization);
  EXPECT_FALSE(report.passed());
  const std::string xml = junit_xml(report);
  EXPECT_NE(xml.find("<testsuites tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("name=\"b_2\" time=\"0.250\">\n      <failure type=\"wrong in the model\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("name=\"c_3\" time=\"0.000\"><skipped message=\"untested\"/>"),
            std::string::npos)
      << xml;
  EXPECT_NE(markdown_summary(report).find("### b\\_2: wrong in the model"), std::string::npos);
}

}  // namespace
}  // namespace tapml::topdown
