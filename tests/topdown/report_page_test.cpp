// The pages of migrations, replays and localizations.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "support/temp_folder.h"
#include "support/well_formed.h"
#include "topdown/report/error_plot.h"
#include "topdown/report/heat_map.h"
#include "topdown/report/html.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/model_map.h"
#include "topdown/report/report.h"
#include "topdown/report/report_files.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/side_by_side.h"
#include "topdown/report/timeline_chart.h"

namespace tapml::topdown {
namespace {

using testing::markup_fault;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Text that breaks a page if it is not escaped.
const std::string kNasty = "</pre><script>alert(\"1\")</script> & 'x' \x01\xff";

int64_t count(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// A kernel of two layers, called once in each.
KernelVerdict verdict(const std::string& name, double first_ratio, double second_ratio) {
  KernelVerdict one;
  one.kernel = name;
  one.origin = {"model.layers.0.mlp", "model.layers.1.mlp"};
  one.calls = 2;
  one.shapes = {"[1, 4]"};
  one.groups = {{"prefill", {"model.layers.0.mlp"}, 2, 1, 1, first_ratio},
                {"prefill", {"model.layers.1.mlp"}, 5, 1, 1, second_ratio}};
  one.passed = first_ratio <= 1 && second_ratio <= 1;
  one.worst_output = "out";
  one.worst_sequence = 5;
  one.worst.target.compared = one.compared = one.elements = 4;
  one.worst.target.max_abs = 0.5;
  one.worst.target.max_ratio = std::max(first_ratio, second_ratio);
  one.worst.allowed = 0.25;
  return one;
}

MigrationStep step(const KernelVerdict& verdict) {
  MigrationStep one;
  one.unit = verdict.kernel;
  one.verdict = verdict;
  one.migrated = verdict.passed;
  one.hybrid.positions = verdict.passed ? 3 : 0;
  return one;
}

Migration wrong_migration() {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  KernelVerdict crash = verdict("crash_1", 0, 0);
  crash.passed = false;
  crash.failed = Failure::kCrash;
  crash.failure = kNasty;
  for (CallGroup& group : crash.groups) group.compared = 0;
  KernelVerdict own = verdict("own_2", 0.5, 0.25);
  own.provider = "user:kernels/<b>.cl";
  own.tolerance = Tolerance{"own_*", 2, 0, "the driver's exp2 " + kNasty};
  own.tolerated = true;
  KernelVerdict differs = verdict("differs_3", 0.5, 40);
  differs.difference = DifferenceMap{.shape = {1, 4},
                                     .height = 1,
                                     .width = 4,
                                     .block_height = 1,
                                     .block_width = 1,
                                     .rows = 1,
                                     .columns = 4,
                                     .blocks = {0, 0.5, 40, kInfinity},
                                     .outside = 2,
                                     .first_row = 0,
                                     .last_row = 0,
                                     .first_column = 2,
                                     .last_column = 3};
  migration.steps = {step(crash), step(own), step(differs)};
  migration.failed["differs_3"].source = {.loops = "for i < 4", .code = kNasty, .language = "c"};
  migration.untried = {"untried_4"};
  migration.untried_calls = {{{"decode", {"model.norm"}, 9, 1, 0, 0}}};
  migration.speed.ceilings = {.flops_per_s = 1e9, .bytes_per_s = 1e9};
  migration.speed.kernels = {{.kernel = "own_2",
                              .sequence = 5,
                              .seconds = 1e-3,
                              .work = {.flops = 1, .bytes = 1e5},
                              .slow = true}};
  migration.timeline = {{"steps", "compile for cpu", 0, 1.5}, {"replay", kNasty, 1.5, 0.25}};
  return migration;
}

ReportTexts nasty_texts() {
  ReportTexts texts;
  texts.model = "models/<demo>";
  texts.prompt = kNasty;
  texts.source_text = texts.target_text = kNasty;
  texts.command = "tapml migrate";
  texts.run = {.date = iso_date(0),
               .version = "9.8.7",
               .machine = {"A <fast> one", 4, 3 << 20, "Minix & co"},
               .model = "models/<demo>",
               .hash = "0123abcd",
               .hashed = "weights"};
  return texts;
}

TEST(Html, EscapesEverySpecialCharacter) {
  EXPECT_EQ(escaped("a<b>&\"c\" é\n\t"), "a&lt;b&gt;&amp;&quot;c&quot; é\n\t");
  EXPECT_EQ(escaped("\x01\xff\xef\xbf\xbe\xc3"), "????");
  EXPECT_EQ(element("a", {{"href", "\"<"}, {"class", ""}}, "x"), "<a href=\"&quot;&lt;\">x</a>");
}

TEST(MarkupFault, FindsFaults) {
  EXPECT_EQ(markup_fault("<!doctype html><a b=\"&lt;\"><br/>x</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=c></a>", "<a>&x</a>", "<a b=\"1\" b=\"2\"></a>",
                          "<a></a><a></a>", "<a b=\"<\"></a>", "x", "<a>b > c</a>", "<a"}) {
    EXPECT_NE(markup_fault(bad), "") << bad;
  }
}

TEST(ReportPage, OfAMigrationIsWellFormedAndComplete) {
  const Migration migration = wrong_migration();
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  // Nothing is fetched.
  for (const char* fetch : {"http://", "https://", " src=", "<link", "url(", "@import"}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
  for (const char* part :
       {"The migration is not complete: 2 kernels stay on the source, 1 were not tried.",
        "prefers-color-scheme:dark", "@media print", "width=device-width", "crash_1", "own_2",
        "differs_3", "untried_4", "kernels/&lt;b&gt;.cl", "times 2.00e+00, plus 0",
        "2 of 4 elements are outside of their bounds, in columns 2 to 3", "for i &lt; 4",
        "tapml localize 'models/&lt;demo&gt;' --from 'cpu' --to 'opencl'", "compile for cpu"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(count(page, "<h3 id=\"failure-"), 2) << "one part for each kernel that is wrong";
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
    EXPECT_EQ(count(page, part), 1) << part;
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
      KernelVerdict one =
          verdict(std::string(kKinds[kind % 6]) + "_0123456" + std::to_string(kind), 0, 0);
      one.groups.clear();
      one.origin.clear();
      one.calls = 30;
      one.provider = "schedule gpu_lane_product";
      one.shapes = {"[1, 4, 576]", "[1, 4, 1536]"};
      const bool second = function == std::string("decode");
      if (second) one.kernel += "d";
      for (int64_t layer = 0; layer < 30; ++layer) {
        const std::string name = "model.layers." + std::to_string(layer) + ".mlp";
        one.origin.insert(name);
        one.groups.push_back({function,
                              {name},
                              (second ? 10000 : 0) + layer * 12 + kind,
                              1,
                              1,
                              1e-3 * static_cast<double>(1 + (layer * 7 + kind * 3) % 90)});
      }
      migration.steps.push_back(step(one));
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
    const int64_t bands = count(page, ">" + std::to_string(layer) + "</text>");
    EXPECT_EQ(layer == 0 ? bands > 2 : bands == 2, true) << layer << ": " << bands;
  }
  EXPECT_EQ(count(page, "class=\"inside\""), 2 * 30 * 12);
  EXPECT_EQ(count(page, ">layers 0 – 29<"), 1);
  // scripts/test_page opens it.
  if (const char* folder = std::getenv("TAPML_PAGE_OUT")) {
    testing::write_bytes(std::string(folder) + "/report.html", page);
  }
}

// Every file that links of a page lead to, without fragments.
std::set<std::string> linked_files(const std::string& page) {
  std::set<std::string> files;
  for (size_t at = 0; (at = page.find("href=\"", at)) != std::string::npos; ++at) {
    const std::string link = page.substr(at + 6, page.find('"', at + 6) - at - 6);
    if (!link.starts_with("#")) files.insert(link.substr(0, link.find('#')));
  }
  return files;
}

// One target that passes, one that is wrong, one that was lost.
Migrations three_targets() {
  Migrations migrations;
  migrations.targets.resize(3, wrong_migration());
  Migration& right = migrations.targets[0];
  right.target = "vulkan";
  right.steps = {step(verdict("own_2", 0.5, 0.5)), step(verdict("differs_3", 0.5, 0.5))};
  right.untried.clear();
  right.untried_calls.clear();
  right.failed.clear();
  right.target_ran = true;
  Migration& lost = migrations.targets[2];
  lost.target = "cpu@unix:/x/<y>";
  lost.steps = {step(verdict("own_2", 0.5, 0.5))};
  lost.untried = {"differs_3"};
  lost.failed.clear();
  lost.error = platform_error(PlatformFault::kLost, "the way is gone " + kNasty);
  migrations.seconds = 2.5;
  return migrations;
}

MigrationsTexts nasty_migrations_texts() {
  return {{nasty_texts(), nasty_texts(), nasty_texts()},
          {"vulkan", "opencl", "cpu-unix-x-y-"},
          "tapml migrate --to vulkan"};
}

TEST(MigrationsPage, LinksToThePagesOfTheTargets) {
  const Migrations migrations = three_targets();
  const MigrationsTexts texts = nasty_migrations_texts();
  const std::string page = migrations_html(migrations, texts);
  EXPECT_EQ(markup_fault(page), "");
  for (const char* fetch : {"<script", "http://", "https://", " src=", "<link", "url("}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
  for (const char* part :
       {"1 of 3 targets run the whole model; 1 was ended by an error.", "cpu@unix:/x/&lt;y&gt;",
        "4 kernels, 2 not the same on all targets", "Took 2.50 s", "the way is gone",
        "Ended by an error, with 1 kernels tried", "1 of 2", "same text",
        "prefers-color-scheme:dark", "opencl/report.html#failure-1\">crash",
        "vulkan/report.html#kernel-2\">migrated",
        "cpu-unix-x-y-/report.html#kernel-2\">not tried"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(linked_files(page), (std::set<std::string>{"vulkan/report.html", "opencl/report.html",
                                                       "cpu-unix-x-y-/report.html"}));
  // Each of those pages has the anchors of the linked kernels, and a link back.
  for (size_t t = 0; t < 3; ++t) {
    ReportTexts own = texts.targets[t];
    own.above = "../report.html";
    const std::string other = migration_html(migrations.targets[t], own);
    EXPECT_EQ(markup_fault(other), "");
    EXPECT_EQ(linked_files(other), std::set<std::string>{"../report.html"});
    for (size_t at = 0;
         (at = page.find(texts.folders[t] + "/report.html#", at)) != std::string::npos; ++at) {
      const size_t begin = page.find('#', at) + 1;
      const std::string anchor = page.substr(begin, page.find('"', begin) - begin);
      EXPECT_NE(other.find("id=\"" + anchor + "\""), std::string::npos) << anchor;
    }
  }
  EXPECT_EQ(linked_files(migration_html(migrations.targets[0], texts.targets[0])),
            std::set<std::string>{});
}

TEST(VerdictTable, NamesTheCallersOfAKernelAndFits80Columns) {
  KernelVerdict both = verdict("dequantize_matmul_add_0123abcd", 0.5, 0.5);
  both.groups.push_back({"decode", {"model.layers.0.mlp"}, 9, 1, 1, 0.5});
  const KernelVerdict one = verdict("rms_norm_01234567", 0.5, 0.5);
  const TableLayout table = verdict_table({one.kernel, both.kernel}, 80, false);
  const std::string rows = verdict_header(table) + "\n" + verdict_row(table, both, "mismatch") +
                           "\n" + verdict_row(table, one, "pass");
  EXPECT_EQ(rows,
            "kernel             in       calls     error     bound  verdict     time\n"
            "    shapes; layers\n"
            "dequantize_matmul_add_0123abcd\n"
            "                   both         2  5.00e-01  2.50e-01  mismatch  0.00 s\n"
            "    [1, 4]; layers.{0,1}.mlp\n"
            "rms_norm_01234567  prefill      2  5.00e-01  2.50e-01  pass      0.00 s\n"
            "    [1, 4]; layers.{0,1}.mlp");
  EXPECT_EQ(used_in(std::set<std::string>{"decode", "draw"}), "decode+draw");
  EXPECT_EQ(used_in(std::set<std::string>()), "");
}

TEST(SideBySide, OneRowForEachKernelAndTheWholeModel) {
  const Migrations migrations = three_targets();
  const std::vector<std::string> wide = {
      "kernel       in       vulkan     opencl     cpu@unix:/x/<y>  layers",
      "own_2        prefill  migrated   migrated   migrated         layers.{0,1}.mlp",
      "differs_3    prefill  migrated   mismatch   not tried        layers.{0,1}.mlp",
      "crash_1      prefill             crash                       layers.{0,1}.mlp",
      "untried_4                        not tried",
      "whole model           same text  not run    lost"};
  EXPECT_EQ(side_by_side(migrations, 120, false), wide);
  const std::vector<std::string> narrow = side_by_side(migrations, 70, false);
  EXPECT_EQ(narrow[0], "kernel       in       vulkan     opencl     cpu@unix:/x/<y>");
  EXPECT_EQ(narrow[1], "    layers");
  EXPECT_EQ(narrow[3], "    layers.{0,1}.mlp");
  const Json json = migrations_json(migrations, nasty_migrations_texts());
  EXPECT_EQ(json.find("targets")->items().size(), 3u);
  EXPECT_EQ(json.find("targets")->items()[0].find("error"), nullptr);
  EXPECT_EQ(json.find("targets")->items()[2].find("error")->find("kind")->as_string(),
            "platform: lost");
  const Json& row = json.find("kernels")->items()[1];
  EXPECT_EQ(row.find("kernel")->as_string(), "differs_3");
  EXPECT_EQ(row.find("outcomes")->find("opencl")->as_string(), "mismatch");
  EXPECT_EQ(json.find("passed")->as_bool(), false);
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
      count(page,
            "tapml replay 'crash_1/suite' --target 'opencl' --inject-fault 'crash_:crash'</pre>"),
      1);
  // The failing call of the other one is not kept: its model is run again.
  EXPECT_EQ(count(page, "--to 'opencl' --prompt "), 1);
  EXPECT_EQ(count(page, "tapml localize 'models/&lt;demo&gt;' --quantize 'q4f32' --from 'cpu'"), 1);
  EXPECT_EQ(count(page,
                  "--custom-kernels 'own' --inject-fault 'crash_:crash' --inject-fault "
                  "'another_2:crash'</pre>"),
            1);
}

TEST(ReportPage, OfACorrectMigration) {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  migration.steps = {step(verdict("a_1", 0, 0.5))};
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
  KernelVerdict wrong = verdict("a_1", 0, 0.5);
  wrong.source_wrong = true;
  wrong.source_error = {.output = "out", .sequence = 2, .error = 3, .bound = 1, .ratio = 3};
  migration.steps = {step(wrong)};
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(count(page,
                  "migrated<br/>the source is outside of its own bound: out of call 2, error "
                  "3.00e+00, bound 1.00e+00</td>"),
            1);
}

TEST(ReportPage, OfAReplay) {
  Replayed replayed;
  replayed.suite = "out/it's";
  replayed.target = "opencl";
  replayed.verdicts = {verdict("a_1", 0, 0.5), verdict("b_2", 3, 0.5)};
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
  replayed.verdicts = {verdict("a_1", 0, 0.5)};
  const std::string open = replay_html(replayed, "tapml replay", options);
  EXPECT_EQ(markup_fault(open), "");
  EXPECT_NE(open.find("<strong>NOT PROVEN 1 of 2 kernels"), std::string::npos);
  EXPECT_EQ(open.find("verdict ok"), std::string::npos);
}

TEST(ReportPage, OfALocalization) {
  Localization localization;
  localization.source = "cpu";
  localization.target = "opencl";
  localization.verdicts = {verdict("a_1", 0, 0.5), verdict("b_2", 0, kInfinity)};
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

TEST(CommandLine, QuotesEveryWordAndRepeatsTheOptions) {
  CommandOptions options;
  options.quantize = "q4f32";
  options.max_tokens = 2;
  options.patterns = "it's.txt";
  options.kernels = "own kernels";
  options.tolerance = "loose.json";
  options.libraries = {"a.so", "b.so"};
  options.token_file = "token";
  options.tls_ca = "ca.pem";
  options.insecure = true;
  options.kernel_seconds = 0.5;
  options.faults = {"a_1:crash", "b_:hang"};
  EXPECT_EQ(
      model_command("localize", "models/demo", "cpu", "opencl@pipe:ssh board", "Emma", options),
      "tapml localize 'models/demo' --quantize 'q4f32' --from 'cpu' --to "
      "'opencl@pipe:ssh board' --prompt 'Emma' --max-tokens 2 --patterns 'it'\\''s.txt' "
      "--library 'a.so' --library 'b.so' --custom-kernels 'own kernels' --tolerance 'loose.json' "
      "--token-file 'token' --tls-ca 'ca.pem' --insecure --kernel-timeout 0.5 "
      "--inject-fault 'a_1:crash' --inject-fault 'b_:hang'");
  // Nothing ends a call in this process.
  options.in_process = true;
  EXPECT_NE(model_command("localize", "m", "cpu", "cpu", "Emma", options)
                .find("'ca.pem' --insecure --in-process --inject-fault"),
            std::string::npos);
  KernelVerdict own = verdict("b_2", 0, 40);
  own.provider = "user:kernels/b.cl";
  CommandOptions rest;
  rest.kernels = "own kernels";
  rest.model = "models/demo";
  rest.faults = options.faults;
  EXPECT_EQ(replay_command("b_2/suite", "cpu", "", options_of_reproducer(rest, own, "b_2/kernels")),
            "tapml replay 'b_2/suite' --target 'cpu' --custom-kernels 'b_2/kernels' --inject-fault "
            "'b_:hang'");
  EXPECT_EQ(replay_command("suite", "cpu", "c_3", options_of_kernel(rest, "c_3")),
            "tapml replay 'suite' --target 'cpu' --kernel 'c_3' --model 'models/demo' "
            "--custom-kernels 'own kernels'");
  rest.launches.launches = 100;
  rest.launches.seed = 3;
  EXPECT_EQ(replay_command("suite", "cpu", "c_3", options_of_kernel(rest, "c_3")),
            "tapml replay 'suite' --target 'cpu' --kernel 'c_3' --model 'models/demo' "
            "--launches 100 --launch-seed 3 --custom-kernels 'own kernels'");
  // A fault is kept if its pattern matches the kernel.
  rest.faults = {"*_3:crash", "d*:hang"};
  EXPECT_EQ(options_of_kernel(rest, "c_3").faults, std::vector<std::string>{"*_3:crash"});
}

TEST(ModelMap, SortsPathsIntoLayers) {
  EXPECT_EQ(layer_position("model.layers.12.self_attn.q_proj"),
            (LayerPosition{"model.layers", 12}));
  EXPECT_EQ(layer_position("model.layers.12.self_attn").name(), "layers 12");
  EXPECT_EQ(layer_position("model.norm"), (LayerPosition{"model.norm", -1}));
  EXPECT_EQ(layer_position("model.norm").name(), "norm");
  EXPECT_EQ(layer_position("3").name(), "3");
  EXPECT_EQ(layer_position("").name(), "");
  EXPECT_EQ(layer_positions({"m.layers.0", "m.layers.0.mlp", "m.layers.1"}),
            (std::vector<LayerPosition>{{"m.layers", 0}, {"m.layers", 1}}));
  EXPECT_EQ(layer_positions({}), (std::vector<LayerPosition>{{"elsewhere", -1}}));
}

PageKernel page_kernel(const KernelVerdict& verdict, KernelState state) {
  PageKernel kernel;
  kernel.name = verdict.kernel;
  kernel.state = state;
  kernel.verdict = &verdict;
  kernel.groups = verdict.groups;
  return kernel;
}

TEST(ModelMap, MarksTheLayersInWhichAKernelDiffers) {
  const KernelVerdict good = verdict("a_1", 0, 0), bad = verdict("b_2", 0.5, 40);
  const std::string map = model_map(
      {page_kernel(good, KernelState::kPassed), page_kernel(bad, KernelState::kMismatch)});
  EXPECT_EQ(markup_fault("<div>" + map + "</div>"), "");
  const size_t first = map.find("layers 0</th>"), second = map.find("layers 1</th>");
  ASSERT_LT(first, second);
  ASSERT_NE(second, std::string::npos);
  // Unmarked in layer 0, marked in layer 1: outlined there, filled here. The sign is beside the
  // number.
  EXPECT_EQ(count(map.substr(first, second - first), "chip mismatch spared\""), 1);
  EXPECT_EQ(count(map.substr(second), "chip mismatch\""), 1);
  EXPECT_EQ(count(map.substr(second), ">≠2</a>"), 1);
  EXPECT_EQ(count(map.substr(second), ">1</a>"), 1);
}

TEST(ModelMap, ManyLayersThatAreAlikeShareARow) {
  KernelVerdict everywhere = verdict("a_1", 0, 0), once = verdict("b_2", 40, 0);
  everywhere.groups.clear();
  for (int64_t layer = 0; layer < 80; ++layer) {
    everywhere.groups.push_back(
        {"prefill", {"model.layers." + std::to_string(layer)}, layer, 1, 1, 0});
  }
  once.groups = {{"prefill", {"model.layers.40"}, 40, 1, 1, 40}};
  const std::string map = model_map(
      {page_kernel(everywhere, KernelState::kPassed), page_kernel(once, KernelState::kMismatch)});
  for (const char* row : {">layers 0 – 39<", ">layers 40<", ">layers 41 – 79<"}) {
    EXPECT_EQ(count(map, row), 1) << row;
  }
  EXPECT_EQ(count(map, "<tr>"), 4) << "with the head";
}

TEST(ErrorPlot, DrawsEveryComparedGroup) {
  const KernelVerdict good = verdict("a_1", 0, 1e-3), bad = verdict("b_2", 1, kInfinity);
  const std::vector<PageKernel> kernels = {page_kernel(good, KernelState::kPassed),
                                           page_kernel(bad, KernelState::kMismatch)};
  const std::string plot = error_plot(kernels);
  EXPECT_EQ(markup_fault(plot), "");
  EXPECT_EQ(count(plot, "class=\"inside\""), 3) << "a ratio of 1 is within the bound";
  EXPECT_EQ(count(plot, "class=\"outside\""), 1);
  EXPECT_EQ(count(plot, "href=\"#kernel-2\""), 2);
  EXPECT_EQ(count(plot, ">bound 1<"), 1);
  EXPECT_EQ(count(plot, ">NaN, inf<"), 1);
  EXPECT_EQ(count(plot, ">1e-3<"), 1);
  EXPECT_EQ(error_plot({}), "<p>No call was compared.</p>");
}

TEST(HeatMap, ShowsWhereTheDifferencesAre) {
  DifferenceMap map = *wrong_migration().steps[2].verdict.difference;
  EXPECT_EQ(difference_text(map), "2 of 4 elements are outside of their bounds, in columns 2 to 3");
  const std::string drawn = heat_map(map);
  EXPECT_EQ(markup_fault("<div>" + drawn + "</div>"), "");
  // The shades of the picture and of the legend.
  EXPECT_EQ(count(drawn, "<path class=\"h1\""), 1);
  EXPECT_EQ(count(drawn, "<path class=\"h3\""), 1);
  EXPECT_EQ(count(drawn, "<path class=\"h5\""), 1);
  EXPECT_EQ(count(drawn, "<path class=\"h7\""), 1);
  EXPECT_EQ(count(drawn, "<path class=\"h0\""), 0);
  map.outside = 1;
  map.last_column = 2;
  EXPECT_EQ(difference_text(map), "1 of 4 elements is outside of their bounds, in column 2");
  map.first_column = 0;
  map.last_column = 3;
  map.outside = 4;
  EXPECT_EQ(difference_text(map), "4 of 4 elements are outside of their bounds");
  EXPECT_EQ(heat_map({}), "");
}

TEST(TimelineChart, HasALaneForEachKind) {
  const std::string chart = timeline_chart(
      {{"steps", "compile", 0, 2}, {"replay", "a_1", 2, 0.5}, {"replay", "b_2", 2.5, 0.5}});
  EXPECT_EQ(markup_fault("<div>" + chart + "</div>"), "");
  EXPECT_EQ(count(chart, "class=\"span\""), 3);
  EXPECT_EQ(count(chart, "a_1: 0.50 s"), 1);
  EXPECT_EQ(count(chart, "text-anchor=\"end\">replay<"), 1);
  EXPECT_EQ(timeline_chart({}), "<p>No step was timed.</p>");
}

}  // namespace
}  // namespace tapml::topdown
