// Results that are written as JSON and read back.
#include "topdown/results/result_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/exceptions.h"

namespace tapml::topdown {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

KernelVerdict failing_verdict(const std::string& kernel) {
  KernelVerdict verdict;
  verdict.kernel = kernel;
  verdict.origin = {"model.layers.0.mlp", "model.layers.1.mlp"};
  verdict.origin.lines = {"src/models/blocks/linear.cpp:19"};
  verdict.calls = 3;
  verdict.shapes = {"[1, 8]", "[4, 8]"};
  verdict.worst.allowed = 1e-6;
  verdict.worst.target.max_abs = 0.25;
  verdict.worst.target.max_ratio = kUnbounded;
  verdict.worst.target.mask_mismatches = 2;
  verdict.worst.target.worst = 7;
  verdict.worst.target.compared = 24;
  verdict.worst.target.precision = {
      .elements = 24, .rms = 0.5, .histogram = std::vector<int64_t>(14, 2)};
  settle(verdict.worst);
  verdict.worst_output = "y";
  verdict.worst_sequence = 41;
  verdict.difference = DifferenceMap{.shape = {2, 3},
                                     .height = 2,
                                     .width = 3,
                                     .block_height = 1,
                                     .block_width = 3,
                                     .rows = 2,
                                     .columns = 1,
                                     .blocks = {kUnbounded, DifferenceMap::kNotCompared},
                                     .outside = 3,
                                     .first_row = 0,
                                     .last_row = 0,
                                     .first_column = 0,
                                     .last_column = 2};
  verdict.groups = {{.function = "prefill",
                     .origin = {"model.layers.0.mlp"},
                     .sequence = 4,
                     .calls = 3,
                     .compared = 2,
                     .ratio = 1.5}};
  verdict.outputs = {{"y", 24, 20, 3}};
  verdict.source_wrong = true;
  verdict.source_error = SourceError{"y", 41, 0.5, 0.25, 2, 1};
  verdict.passed = false;
  verdict.failed = Failure::kOutOfBounds;
  verdict.failure = "64 bytes after y";
  verdict.note = "crashed once";
  verdict.provider = "user:kernels/rms.cl";
  verdict.launches = {.launches = 20,
                      .wrong = 3,
                      .unequal = 2,
                      .seed = std::numeric_limits<uint64_t>::max(),
                      .flaky = true,
                      .cut = true};
  verdict.seconds = 0.125;
  verdict.tolerance = Tolerance{.kernel = kernel, .factor = 2, .absolute = 1e-3, .reason = "known"};
  verdict.tolerated = true;
  verdict.allowances = "precision=tf32";
  return verdict;
}

ModelCheck failing_check() {
  ModelCheck check;
  check.passed = false;
  check.max_abs = std::numeric_limits<double>::quiet_NaN();
  check.bound = 1e-4;
  check.top1_changes = 2;
  check.positions = 5;
  check.kl_max = kUnbounded;
  check.first_divergent = 3;
  check.reference_token = 17;
  check.own_token = 345;
  check.margin = 2.5;
  check.failure = "the process crashed";
  check.allowances = "accumulation=f16";
  return check;
}

SpeedTable speed_table() {
  SpeedTable speed;
  speed.ceilings = {.flops_per_s = 1e9, .bytes_per_s = 1e10};
  speed.kernels = {{.kernel = "a_1",
                    .sequence = 4,
                    .seconds = 1e-3,
                    .work = {.flops = 1e5, .bytes = 1e6, .exact = true},
                    .slow = true},
                   {.kernel = "b_2",
                    .sequence = 5,
                    .seconds = 2e-3,
                    .work = {.flops = 1, .bytes = 2, .exact = false}}};
  speed.failure = "lost";
  return speed;
}

// Nothing is lost: a result that is read writes the same document.
template <class T>
T expect_same(const Json& json, Result<T> (*read)(const JsonObjectReader&),
              Json (*write)(const T&)) {
  const Json parsed = unwrap(parse_json(json.dump(), "report.json"));
  T again = unwrap(read(JsonObjectReader(parsed, "report.json")));
  EXPECT_EQ(write(again).dump(1), json.dump(1));
  return again;
}

TEST(ResultJson, OfAMigration) {
  Migration migration;
  migration.source = "cpu";
  migration.target = "opencl";
  migration.source_info.platform = "cpu";
  migration.target_info.name = "a device";
  migration.source_nan = SourceNaN{"a_1", "y", 3, {"model.layers.0"}, {"x"}, 2};
  migration.error = platform_error(PlatformFault::kLost, "the way is gone", "here", "try again");
  MigrationStep step;
  step.unit = "mlp";
  step.verdict = failing_verdict("a_1");
  step.hybrid = failing_check();
  step.dispatched = 9;
  step.copies = {.to_target = 1, .from_target = 2, .bytes_to_target = 3, .bytes_from_target = 4};
  step.repeated = {.runs = 5, .wrong = 2, .candidates = {"a_1", "b_2"}};
  migration.steps = {step};
  migration.layers = {{.layer = "model.layers.0",
                       .kernels = {"a_1"},
                       .left = {"a_1"},
                       .hybrid = failing_check(),
                       .dispatched = 3,
                       .copies = step.copies,
                       .tried = false,
                       .repeated = step.repeated}};
  migration.untried = {"c_3"};
  migration.untested = {{"d_4", {"lm_head"}}};
  migration.resumed = 1;
  migration.source_tokens = {1, 2};
  migration.margins = {{.token = 1, .margin = 0.5, .bound = 1e-3},
                       {.token = 7, .margin = 0, .bound = 1}};
  migration.target_tokens = {1, 3};
  migration.target_ran = true;
  migration.whole = failing_check();
  migration.drawn = migration.tie = true;
  migration.first_divergence = 1;
  migration.speed = speed_table();
  migration.timeline = {{"replay", "a_1", 0.5, 0.25}};
  migration.seconds = 2;

  const Migration again = expect_same(migration_json(migration), read_migration, migration_json);
  ASSERT_EQ(again.steps.size(), 1u);
  EXPECT_EQ(again.steps[0].verdict.launches.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(again.steps[0].verdict.worst.outcome, Outcome::kFail);
  EXPECT_EQ(again.error->fault, PlatformFault::kLost);
  EXPECT_FALSE(again.speed.kernels[1].work.exact);
  EXPECT_EQ(again.verdict(), migration.verdict());
}

TEST(ResultJson, OfALocalization) {
  Culprit culprit;
  culprit.verdict = failing_verdict("a_1");
  culprit.kernel = "a_1";
  culprit.evidence = Evidence::kHybrid;
  culprit.together_with = {"b_2"};
  culprit.same_preparation = {"c_3"};
  culprit.hybrid = failing_check();
  culprit.runs = 5;
  culprit.failed_runs = 4;
  culprit.smallest.emplace();
  culprit.smallest->verdict = failing_verdict("a_1");
  culprit.smallest->dims_before = {{"n", 16}, {"m", 3}};
  culprit.smallest->dims_after = {{"n", 1}, {"m", 3}};
  culprit.smallest->complete = false;
  culprit.source = {.loops = "loops", .code = "code", .language = "c", .provider = "user:a.c"};
  Localization localization;
  localization.source = "cpu";
  localization.target = "opencl";
  localization.verdicts = {failing_verdict("a_1"), failing_verdict("b_2")};
  localization.culprits = {culprit};
  localization.untested = {{"d_4", {}}};
  localization.incomplete = "interrupted";
  localization.hybrid_runs = 6;
  localization.rest = localization.whole = failing_check();
  localization.target_ran = true;
  localization.flaky = {{.runs = 5, .wrong = 1, .candidates = {"b_2"}}};
  localization.timeline = {{"hybrid", "a_1", 1, 2}};
  localization.seconds = 3;

  const Localization again =
      expect_same(localization_json(localization), read_localization, localization_json);
  ASSERT_EQ(again.culprits.size(), 1u);
  EXPECT_EQ(again.culprits[0].evidence, Evidence::kHybrid);
  EXPECT_EQ(again.culprits[0].smallest->dims_before, culprit.smallest->dims_before);
  EXPECT_EQ(again.verdict(), localization.verdict());
}

TEST(ResultJson, OfABisectionOverPasses) {
  PassBisection bisection;
  bisection.source = "cpu";
  bisection.target = "opencl";
  bisection.whole = bisection.bare = failing_check();
  bisection.settings = {{.settings = {"fuse_ops"}, .docs = {}, .check = {}, .kernels = {"a_1"}}};
  bisection.pass = PassCulprit{.pass = "legalize", .loops = true, .check = failing_check()};
  bisection.runs = 3;
  bisection.evaluations = 2;
  const PassBisection again =
      expect_same(pass_bisection_json(bisection), read_pass_bisection, pass_bisection_json);
  EXPECT_EQ(again.pass->pass, "legalize");
  // A bisection without a finding has no run without all optional passes.
  EXPECT_EQ(pass_bisection_json(PassBisection()).find("bare"), nullptr);
  EXPECT_NE(pass_bisection_json(bisection).find("bare"), nullptr);
}

TEST(ResultJson, OfAReplay) {
  KernelVerdict group = failing_verdict("a_1 + b_2");
  group.group = ComparedGroup{2, "pytorch", {"a_1", "b_2"}, {"input of norm"}, {"output of norm"}};
  Replayed replayed;
  replayed.target = "cpu";
  replayed.verdicts = {failing_verdict("a_1"), group};
  replayed.untested = {{"d_4", {"lm_head"}}};
  replayed.incomplete = "interrupted";
  replayed.speed = speed_table();
  replayed.timeline = {{"replay", "a_1", 0, 1}};
  replayed.seconds = 1;
  const Replayed again = expect_same(replayed_json(replayed), read_replayed, replayed_json);
  ASSERT_EQ(again.verdicts.size(), 2u);
  EXPECT_FALSE(again.verdicts[0].group);
  EXPECT_EQ(again.verdicts[1].group->index, 2u);
  EXPECT_EQ(again.verdicts[1].group->outputs, group.group->outputs);
}

TEST(ResultJson, OfACarve) {
  CarveSummary summary;
  summary.suite = "out/suite";
  summary.kernels = 2;
  summary.calls = 9;
  summary.added = 3;
  summary.tensors = 20;
  summary.bytes = 4096;
  summary.weights = 5;
  summary.dropped = 1;
  summary.edge_added = 4;
  summary.edge_unsupported = {"softmax_485247dc, values of x: error 3.00e-02, allowed 1.00e-06"};
  const CarveSummary complete = expect_same(carve_json(summary), read_carve, carve_json);
  EXPECT_FALSE(complete.nan || complete.import);
  EXPECT_TRUE(carve_json(summary).find("complete")->as_bool());
  summary.nan = SourceNaN{.kernel = "a_1",
                          .output = "y",
                          .sequence = 3,
                          .origin = {"lm_head"},
                          .inputs = {"weight w"},
                          .calls = 2};
  summary.incomplete = "NaN in the source's run";
  summary.untested = {{"d_4", {"lm_head"}}};
  const CarveSummary again = expect_same(carve_json(summary), read_carve, carve_json);
  EXPECT_EQ(again.nan->calls, 2);
  EXPECT_EQ(again.untested.at(0).kernel, "d_4");
  EXPECT_EQ(again.edge_unsupported, summary.edge_unsupported);
  EXPECT_FALSE(carve_json(summary).find("complete")->as_bool());
}

TEST(ResultJson, OfAProfile) {
  Profiled profiled;
  profiled.target = "opencl";
  profiled.seconds = 0.75;
  profiled.ceilings = {.flops_per_s = 1e9, .bytes_per_s = 1e8};
  profiled.kernels.push_back({.name = "matmul_1",
                              .calls = 2,
                              .seconds = 0.5,
                              .work = {.flops = 1e8, .bytes = 1e7, .exact = true},
                              .origin = {"model.layers.0.mlp"},
                              .functions = {"decode", "prefill"}});
  profiled.kernels.push_back({.name = "attention_2",
                              .calls = 1,
                              .seconds = 0.25,
                              .work = {.flops = 1, .bytes = 1, .exact = false},
                              .origin = {},
                              .functions = {"decode"}});
  const Json json = profiled_json(profiled);
  const Profiled again = expect_same(json, read_profiled, profiled_json);
  EXPECT_EQ(again.kernels.at(0).functions, profiled.kernels[0].functions);
  EXPECT_DOUBLE_EQ(json.find("kernels")->items().at(0).find("share_of_ceiling")->as_double(), 0.2);
  EXPECT_TRUE(json.find("kernels")->items().at(1).find("share_of_ceiling")->is_null());
}

TEST(ResultJson, OfAnEvaluation) {
  Evaluated evaluated;
  evaluated.tasks = "tasks.jsonl";
  Evaluation one;
  one.target = "opencl";
  one.add({.id = "a", .kind = TaskKind::kPerplexity, .nll = 7, .tokens = 3});
  one.add({.id = "b", .kind = TaskKind::kExactMatch, .correct = true, .nll = 0.5, .tokens = 1});
  one.add({.id = "c",
           .kind = TaskKind::kMultipleChoice,
           .correct = false,
           .nll = kUnbounded,
           .tokens = 2,
           .choice = 1});
  one.failure = "task c: the answer's log probability is not finite";
  one.seconds = 2;
  evaluated.evaluations = {one};
  const Json alone = evaluated_json(evaluated);
  EXPECT_TRUE(alone.find("verdict")->is_null() && alone.find("reference")->is_null());
  Evaluated again = expect_same(alone, read_evaluated, evaluated_json);
  EXPECT_EQ(again.evaluations.at(0).scored(), 2);
  EXPECT_EQ(again.evaluations.at(0).kinds.at(TaskKind::kExactMatch).correct, 1);
  EXPECT_FALSE(again.evaluations.at(0).comparison);
  evaluated.reference = "cpu";
  evaluated.evaluations[0].failure.clear();
  evaluated.evaluations[0].comparison =
      EvalComparison{.flipped = {"b"}, .tasks_off = 1, .nll_off = 0.25, .passed = false};
  evaluated.cost = QuantizationCost{0.125, 6, 0.5, 1, 2};
  const Json compared = evaluated_json(evaluated);
  EXPECT_EQ(compared.find("verdict")->as_string(), "FAIL");
  again = expect_same(compared, read_evaluated, evaluated_json);
  EXPECT_EQ(again.evaluations.at(0).comparison->flipped, (std::vector<std::string>{"b"}));
  EXPECT_EQ(again.cost->kl_max, 1);
}

TEST(ResultJson, AFieldThatIsMissingIsRefused) {
  for (const char* left_out : {"launches", "call_groups", "calls"}) {
    Json json = Json::object();
    const Json all = verdict_json(failing_verdict("a_1"));
    for (const auto& [key, value] : all.members()) {
      if (key != left_out) json.set(key, value);
    }
    const auto verdict = read_verdict(JsonObjectReader(json, "state.json"));
    ASSERT_FALSE(verdict) << left_out;
    EXPECT_NE(verdict.error().message.find(left_out), std::string::npos) << verdict.error().message;
  }
}

TEST(ResultJson, RefusesInvalidDocuments) {
  const Json all = verdict_json(failing_verdict("a_1"));
  const auto read_with = [&](const std::string& key, Json value) {
    Json json = all;
    json.set(key, std::move(value));
    const auto verdict = read_verdict(JsonObjectReader(json, "state.json"));
    return verdict ? std::string("accepted") : verdict.error().message;
  };
  EXPECT_EQ(read_with("note", Json::string("other")), "accepted");
  EXPECT_EQ(read_with("calls", Json::string("3")), "state.json: \"calls\" is not an integer");
  EXPECT_NE(read_with("failed", Json::string("tired")), "accepted");
  Json groups = *all.find("call_groups");
  groups.push(Json::object());
  EXPECT_NE(read_with("call_groups", groups).find("call_groups[1]"), std::string::npos);
  Json map = *all.find("difference");
  map.set("blocks", Json::array({Json::string("inf"), Json::string("much")}));
  EXPECT_NE(read_with("difference", map).find("blocks[1]"), std::string::npos);
  map.set("blocks", Json::array({Json::number(1)}));
  EXPECT_NE(read_with("difference", map), "accepted");
}

TEST(ReadVerdict, EverythingIsReadAsItWasWritten) {
  MigrationStep step;
  step.unit = "u";
  step.verdict.kernel = "k_12345678";
  step.verdict.origin = {"model.layers.0", "lm_head"};
  step.verdict.calls = 3;
  step.verdict.shapes = {"[1]", "[2]"};
  step.verdict.worst.target = {
      0.1, std::numeric_limits<double>::infinity(), 1e-7, 5, 2, 3, 0.5, 1.0 / 3, 2, 77};
  step.verdict.worst.source.max_ratio = 2;
  step.verdict.worst.target_ok = false;
  step.verdict.worst.outcome = Outcome::kFail;
  step.verdict.worst.allowed = 1e-300;
  step.verdict.worst_output = "out";
  step.verdict.worst_sequence = 9;
  step.verdict.source_wrong = true;
  step.verdict.source_error = {
      .output = "out", .sequence = 1, .error = 2, .bound = 0.5, .ratio = 4};
  step.verdict.passed = false;
  step.verdict.failed = Failure::kTimeout;
  step.verdict.failure = "no end\n\"quoted\"";
  step.verdict.provider = "user:a.cl";
  step.hybrid = {false, 1, 2, 0.5, 0.75, 3, 4, "f", 5, 1e-9, 6, 7, 0.25, 8, 9, 10, 0.125};
  step.dispatched = 12;
  step.copies.bytes_from_target = 1;
  step.verdict.launches = {20, 3, 4, 5, true, true};
  step.repeated = {5, 2, {"a", "b"}};
  const Json json = unwrap(parse_json(step_json(step).dump(), "step"));
  const MigrationStep read = unwrap(read_step(JsonObjectReader(json, "step")));
  EXPECT_EQ(step_json(read).dump(), json.dump());
  EXPECT_EQ(read.verdict.worst.outcome, Outcome::kFail);
  EXPECT_EQ(read.verdict.worst.target.max_ratio, step.verdict.worst.target.max_ratio);
  EXPECT_EQ(read.verdict.worst.target.compared, 77);
  EXPECT_EQ(read.hybrid.margin, 0.125);
  EXPECT_EQ(read.hybrid.cosine_distance, 1e-9);
  EXPECT_EQ(read.verdict.origin, step.verdict.origin);
  EXPECT_TRUE(read.repeated.flaky());
}

}  // namespace
}  // namespace tapml::topdown
