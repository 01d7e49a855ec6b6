// The pages of migrations, replays and localizations.
#include <gtest/gtest.h>

#include <limits>

#include "support/temp_folder.h"
#include "support/well_formed.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/report.h"
#include "topdown/report/report_files.h"
#include "topdown/report/run_facts_part.h"
#include "topdown/report/sort_script.h"
#include "topdown/results/result_json.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

using testing::markup_fault;

TEST(ReportPage, OfAMigrationIsWellFormedAndComplete) {
  const Migration migration = wrong_migration();
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(markup_fault(page), "");
  // One script, the page's own.
  const size_t script = page.find("<script");
  EXPECT_EQ(page.substr(script).rfind("<script>" + sort_script() + "</script>", 0), 0u);
  EXPECT_EQ(page.rfind("<script"), script);
  // Nothing is fetched.
  for (const char* fetch : {"http://", "https://", " src=", "<link", "url(", "@import"}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
  for (const char* part :
       {"The migration is not complete: 2 kernels stay on the source, 1 were not tried.",
        "prefers-color-scheme:dark", "@media print", "width=device-width", "crash_1", "own_2",
        "differs_3", "untried_4", "kernels/&lt;b&gt;.cl", "times 2.00e+00, plus 0",
        "2 of 4 elements are outside of their bounds, in columns 2 to 3", "for i &lt; 4",
        "tapml localize 'models/&lt;demo&gt;' --from 'cpu' --to 'opencl'", "compile for cpu",
        "Tokens and their margins", "an error within its bound may change it",
        "own_2: code (opencl)", "for k &lt; 8"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(count_in(page, "<h3 id=\"failure-"), 2) << "one part for each kernel that is wrong";
  // Every link has a target.
  for (size_t at = 0; (at = page.find("href=\"#", at)) != std::string::npos; ++at) {
    const std::string anchor = page.substr(at + 7, page.find('"', at + 7) - at - 7);
    EXPECT_NE(page.find("id=\"" + anchor + "\""), std::string::npos) << anchor;
  }
}

TEST(ReportPage, ReportsItsDateAndMachine) {
  const ReportTexts texts = nasty_texts();
  const std::string page = migration_html(wrong_migration(), texts);
  for (const char* part : {"<dd>1970-01-01T00:00:00Z by tapml 9.8.7</dd>",
                           "<dd>A &lt;fast&gt; one, 4 cores, 3.00 MiB, Minix &amp; co</dd>",
                           "<dd>models/&lt;demo&gt;</dd>", "<dd>0123abcd (weights, SHA-256)</dd>",
                           "<dt>target</dt><dd>opencl</dd>", "<pre>tapml migrate</pre>"}) {
    EXPECT_EQ(count_in(page, part), 1) << part;
  }
  const Json run = *migration_json(wrong_migration(), texts).find("run");
  EXPECT_EQ(run.find("date")->as_string(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(run.find("hash")->as_string(), "0123abcd");
  EXPECT_EQ(run.find("machine")->find("memory_bytes")->as_integer(), 3 << 20);
  EXPECT_EQ(run.find("command")->as_string(), "tapml migrate");
}

TEST(RunFacts, DescribeTheMachineAndASettableDate) {
  setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
  const RunFacts facts = run_facts("models/x", {{"w", HostTensor::zeros(DType::kF32, {2})}});
  unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_EQ(facts.date, "2023-11-14T22:13:20Z");
  EXPECT_NE(facts.machine.processor, "");
  EXPECT_GT(facts.machine.cores, 0);
  EXPECT_GT(facts.machine.memory_bytes, 1 << 20);
  EXPECT_EQ(facts.hash.size(), 32u);
  EXPECT_NE(facts.hash, run_facts("models/x", {{"w", HostTensor::zeros(DType::kF32, {3})}}).hash);
  EXPECT_NE(run_facts("models/x", std::map<std::string, HostTensor>()).date, facts.date);
}

// A page says who vouches for the import; a suite's has no import.
TEST(RunFacts, SayWhoVouchesForTheImport) {
  RunFacts facts{.date = "1970-01-01T00:00:00Z", .hashed = "weights"};
  EXPECT_EQ(count_in(run_facts_part(facts, {}, ""), "nothing but tapml vouches for it"), 1);
  facts.import = ImportCheck{.implementation = "transformers 5, torch 2", .tokens = 16};
  const std::string part = run_facts_part(facts, {}, "");
  EXPECT_EQ(count_in(part, "agrees with transformers 5, torch 2"), 1);
  EXPECT_EQ(count_in(part, "nothing but tapml"), 0);
  EXPECT_TRUE(run_json(facts, "").find("import")->find("passed")->as_bool());
  facts.hashed = "suite";
  EXPECT_EQ(count_in(run_facts_part(facts, {}, ""), "import"), 0);
}

// A decoder of 30 layers, the largest on a page.
Migration deep_migration() {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  migration.source_info.name = "Some Processor(R) 9000 CPU @ 2.40GHz";
  migration.target_info.name = "pthread-" + migration.source_info.name;
  migration.target_info.version = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-somewhere";
  constexpr const char* kKinds[] = {"rms_norm",        "dequantize_matmul", "rope_append_kv_cache",
                                    "paged_attention", "matmul_add",        "silu_multiply"};
  for (const char* function : {"prefill", "decode"}) {
    for (int64_t kind = 0; kind < 12; ++kind) {
      KernelVerdict one = verdict_in_two_layers(
          std::string(kKinds[kind % 6]) + "_0123456" + std::to_string(kind), 0, 0);
      one.groups.clear();
      one.origin.layers.clear();
      one.calls = 30;
      one.provider = "schedule gpu_lane_product";
      one.shapes = {"[1, 4, 576]", "[1, 4, 1536]"};
      const bool second = function == std::string("decode");
      if (second) one.kernel += "d";
      for (int64_t layer = 0; layer < 30; ++layer) {
        const std::string name = "model.layers." + std::to_string(layer) + ".mlp";
        one.origin.layers.insert(name);
        one.groups.push_back({function,
                              {name},
                              (second ? 10000 : 0) + layer * 12 + kind,
                              1,
                              1,
                              1e-3 * static_cast<double>(1 + (layer * 7 + kind * 3) % 90)});
      }
      migration.steps.push_back(step_for(one));
    }
  }
  migration.timeline = {{"steps", "compile for cpu", 0, 1.5}};
  migration.speed.ceilings = {.flops_per_s = 1e11, .bytes_per_s = 1e10};
  for (const MigrationStep& one : migration.steps) {
    migration.speed.kernels.push_back({.kernel = one.verdict.kernel,
                                       .sequence = 5,
                                       .seconds = 1e-3,
                                       .work = {.flops = 1e7, .bytes = 1e5}});
  }
  return migration;
}

TEST(ReportPage, OfThirtyLayersHasThemAll) {
  ReportTexts texts = nasty_texts();
  texts.run = run_facts("models/deep", std::map<std::string, HostTensor>());
  texts.prompt = "a prompt";
  const std::string page = migration_html(deep_migration(), texts);
  EXPECT_EQ(markup_fault(page), "");
  // Each layer is a band of both functions' plots, which fit into a window.
  for (int layer = 0; layer < 30; ++layer) {
    // The axes have zeros too.
    const int64_t bands = count_in(page, ">" + std::to_string(layer) + "</text>");
    EXPECT_EQ(layer == 0 ? bands > 2 : bands == 2, true) << layer << ": " << bands;
  }
  EXPECT_EQ(count_in(page, "class=\"inside\""), 2 * 30 * 12);
  EXPECT_EQ(count_in(page, ">layers 0 – 29<"), 1);
  // scripts/test_page opens it.
  if (const char* folder = std::getenv("TAPML_PAGE_OUT")) {
    testing::write_bytes(std::string(folder) + "/report.html", page);
  }
}

TEST(ReportPage, ShowsHowToReplayAKeptCall) {
  Migration migration = wrong_migration();
  migration.failed["crash_1"].suite.emplace();
  ReportTexts texts = nasty_texts();
  texts.failures = true;
  texts.options.faults = {"crash_:crash", "another_2:crash"};
  texts.options.quantize = "q4f32";
  texts.options.kernels = "own";
  const std::string page = migration_html(migration, texts);
  EXPECT_EQ(
      count_in(
          page,
          "tapml replay 'crash_1/suite' --target 'opencl' --inject-fault 'crash_:crash'</pre>"),
      1);
  // The failing call of the other one is not kept: its model is run again.
  EXPECT_EQ(count_in(page, "--to 'opencl' --prompt "), 1);
  EXPECT_EQ(count_in(page, "tapml localize 'models/&lt;demo&gt;' --quantize 'q4f32' --from 'cpu'"),
            1);
  EXPECT_EQ(count_in(page,
                     "--custom-kernels 'own' --inject-fault 'crash_:crash' --inject-fault "
                     "'another_2:crash'</pre>"),
            1);
}

TEST(ReportPage, OfACorrectMigration) {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  migration.steps = {step_for(verdict_in_two_layers("a_1", 0, 0.5))};
  migration.target_ran = true;
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_NE(page.find("Every kernel migrated"), std::string::npos);
  EXPECT_EQ(page.find("What is wrong"), std::string::npos);
  EXPECT_NE(page.find("identical token for token"), std::string::npos);
  EXPECT_NE(page.find("opencl alone"), std::string::npos);
}

TEST(ReportPage, ReportsAWrongSource) {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  KernelVerdict wrong = verdict_in_two_layers("a_1", 0, 0.5);
  wrong.source_wrong = true;
  wrong.source_error = {.output = "out", .sequence = 2, .error = 3, .bound = 1, .ratio = 3};
  migration.steps = {step_for(wrong)};
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(count_in(page,
                     "migrated<br/>the source is outside of its own bound: out of call 2, error "
                     "3.00e+00, bound 1.00e+00</td>"),
            1);
}

TEST(ReportPage, OfAReplay) {
  Replayed replayed;
  replayed.suite = "out/it's";
  replayed.target = "opencl";
  replayed.verdicts = {verdict_in_two_layers("a_1", 0, 0.5), verdict_in_two_layers("b_2", 3, 0.5)};
  replayed.untested = {{"c_3", {"model.lm_head"}}};
  replayed.not_selected = {"d_4"};
  EXPECT_FALSE(replayed.passed());
  EXPECT_EQ(replay_verdict(replayed), "1 of 2 kernels is wrong on opencl.");
  CommandOptions options;
  options.faults = {"b_2:crash"};
  const std::string page = replay_html(replayed, "tapml replay", options);
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_NE(
      page.find("tapml replay 'out/it'\\''s' --target 'opencl' --kernel 'b_2' --inject-fault"),
      std::string::npos);
  EXPECT_NE(page.find("not selected"), std::string::npos);
  EXPECT_NE(page.find("untested"), std::string::npos);
  EXPECT_NE(page.find("lm_head"), std::string::npos) << "its layers";
  EXPECT_NE(page.find("<strong>FAIL 1 of 3 kernels"), std::string::npos);
  // Unproven results are not shown as a pass.
  replayed.verdicts = {verdict_in_two_layers("a_1", 0, 0.5)};
  const std::string open = replay_html(replayed, "tapml replay", options);
  EXPECT_EQ(markup_fault(open), "");
  EXPECT_NE(open.find("<strong>NOT PROVEN 1 of 2 kernels"), std::string::npos);
  EXPECT_EQ(open.find("verdict ok"), std::string::npos);
}

TEST(ReportPage, OfALocalization) {
  Localization localization;
  localization.source = "cpu";
  localization.target = "opencl";
  localization.verdicts = {
      verdict_in_two_layers("a_1", 0, 0.5),
      verdict_in_two_layers("b_2", 0, std::numeric_limits<double>::infinity())};
  localization.untested = {{"c_3", {"model.norm"}}};
  Culprit replayed;
  replayed.kernel = "b_2";
  replayed.verdict = localization.verdicts[1];
  replayed.runs = replayed.failed_runs = 5;
  replayed.smallest.emplace();
  Culprit hidden;
  hidden.kernel = "a_1";
  hidden.evidence = Evidence::kHybrid;
  hidden.verdict = localization.verdicts[0];
  hidden.together_with = {"d_4"};
  hidden.hybrid.passed = false;
  hidden.hybrid.positions = 3;
  localization.culprits = {replayed, hidden};
  const std::string page = localization_html(localization, kNasty, kNasty, kNasty, {});
  EXPECT_EQ(markup_fault(page), "");
  for (const char* part :
       {"2 kernels are wrong on opencl.", "wrong in the model", "5 of 5 runs", "only together with",
        "cd 'b_2' &amp;&amp; tapml replay 'suite'", "untested"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace tapml::topdown
