// Migrations of a small random model: order and granularity, ending at the first kernel that stays,
// going on where an interrupted one was.
#include "topdown/migrate/migrate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"
#include "topdown/losing_session.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/report/read_verdict.h"
#include "topdown/report/report.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

Migration migrated(MigrateOptions options, std::unique_ptr<runtime::Session> to,
                   const std::vector<int32_t>& prompt = kPrompt) {
  options.cache = &kernel_cache();
  auto from = testing::open_session("cpu");
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const Platform target{target::parse_target("cpu"), to.get(), {}};
  return migrate(small_model().golden.model.module, small_model().golden.model.weights, prompt,
                 source, target, options);
}

Migration migrated(const MigrateOptions& options) {
  return migrated(options, testing::open_session("cpu"));
}

MigrateOptions short_run() {
  MigrateOptions options;
  options.max_tokens = 3;
  options.validation_tokens = 2;
  return options;
}

// What an ordinary migration is.
const Migration& plain() {
  static const Migration migration = migrated(short_run());
  return migration;
}

std::vector<std::string> kernels_of(const Migration& migration) {
  std::vector<std::string> names;
  for (const MigrationStep& step : migration.steps) names.push_back(step.verdict.kernel);
  return names;
}

// What is the same in every run of one migration: all but times and copies.
std::string result_of(const Migration& migration) {
  std::string text;
  for (MigrationStep step : migration.steps) {
    step.verdict.seconds = 0;
    step.copies = {};  // what the run before has left on the other side is not copied
    text += step_json(step).dump() + "\n";
  }
  Migration rest = migration;
  rest.steps.clear();
  rest.seconds = 0;
  rest.timeline.clear();
  rest.resumed = 0;
  return text + migration_json(rest).dump();
}

class MigrationOrders : public ::testing::Test {
 protected:
  Suite suite_ = carved();
  Judge judge_{suite_};

  std::vector<std::string> planned(const PlanOptions& options) {
    std::vector<std::string> names;
    for (const MigrationUnit& unit :
         plan_migration(suite_, judge_, *small_model().executable, options)) {
      for (int32_t kernel : unit.kernels) {
        names.push_back(suite_.kernels[static_cast<size_t>(kernel)].name);
      }
    }
    return names;
  }
  std::vector<MigrationUnit> units(const PlanOptions& options) {
    return plan_migration(suite_, judge_, *small_model().executable, options);
  }
};

TEST_F(MigrationOrders, ExecutionIsTheSuitesOwn) {
  std::vector<std::string> expected;
  for (const SuiteKernel& kernel : suite_.kernels) expected.push_back(kernel.name);
  EXPECT_EQ(planned({}), expected);
}

TEST_F(MigrationOrders, CostFallsAndRiskFalls) {
  PlanOptions options;
  options.order = MigrationOrder::kCost;
  const std::vector<std::string> by_cost = planned(options);
  options.order = MigrationOrder::kRisk;
  const std::vector<std::string> by_risk = planned(options);
  for (size_t i = 0; i + 1 < by_cost.size(); ++i) {
    EXPECT_GE(kernel_cost(suite_, judge_, suite_.find_kernel(by_cost[i])),
              kernel_cost(suite_, judge_, suite_.find_kernel(by_cost[i + 1])));
    EXPECT_GE(kernel_risk(suite_, judge_, suite_.find_kernel(by_risk[i]), ""),
              kernel_risk(suite_, judge_, suite_.find_kernel(by_risk[i + 1]), ""));
  }
  EXPECT_TRUE(std::ranges::is_permutation(by_cost, planned({})));
  EXPECT_TRUE(std::ranges::is_permutation(by_risk, planned({})));
  // What reads pages as far as data says, before what only writes them.
  EXPECT_TRUE(by_risk[0].starts_with("paged_attention")) << by_risk[0];
  EXPECT_FALSE(by_cost[0].starts_with("rms_norm")) << by_cost[0];
}

TEST_F(MigrationOrders, CostIsFlopsAndBytesOfAllCalls) {
  // rms_norm of [1, 5, h] and [1, h] ...: the bytes that it reads and writes at least; of a table
  // or a pool only the rows in question, of pages what data says.
  for (int32_t kernel = 0; kernel < std::ssize(suite_.kernels); ++kernel) {
    double bytes = 0;
    for (const SuiteCall& call : suite_.calls) {
      if (call.kernel != kernel) continue;
      for (const auto* hashes : {&call.before, &call.after}) {
        for (const std::string& hash : *hashes) {
          if (!hash.empty()) bytes += static_cast<double>(suite_.tensors.at(hash).byte_size());
        }
      }
    }
    const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
    if (name.starts_with("paged_attention")) continue;
    if (name.starts_with("take") || name.starts_with("kv_append") || name.starts_with("slice")) {
      EXPECT_LT(kernel_cost(suite_, judge_, kernel), bytes) << name;
    } else {
      EXPECT_GE(kernel_cost(suite_, judge_, kernel), bytes) << name;
    }
  }
}

TEST_F(MigrationOrders, AUserKernelIsTheRiskiest) {
  int64_t most = 0;
  for (int32_t kernel = 0; kernel < std::ssize(suite_.kernels); ++kernel) {
    most = std::max(most, kernel_risk(suite_, judge_, kernel, "schedule:elementwise"));
  }
  const int32_t norm = 0;
  EXPECT_GT(kernel_risk(suite_, judge_, norm, "user:norm.cl"),
            kernel_risk(suite_, judge_, norm, "library:openblas"));
  EXPECT_GT(kernel_risk(suite_, judge_, norm, "library:openblas"),
            kernel_risk(suite_, judge_, norm, "schedule:reduction"));
  EXPECT_GT(most, 1);
}

TEST_F(MigrationOrders, GroupsTakeTheirKernelsFirst) {
  PlanOptions options;
  options.by_layer = true;
  options.groups = {parse_kernel_group("norms=rms_norm_*,nothing*"), parse_kernel_group("rope*")};
  const std::vector<MigrationUnit> all = units(options);
  size_t kernels = 0;
  std::set<std::string> names;
  for (const MigrationUnit& unit : all) {
    EXPECT_TRUE(names.insert(unit.name).second) << unit.name << " twice";
    kernels += unit.kernels.size();
    for (int32_t kernel : unit.kernels) {
      const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
      EXPECT_EQ(name.starts_with("rms_norm_"), unit.name == "norms") << name;
      EXPECT_EQ(name.starts_with("rope"), unit.name == "rope*") << name;
    }
  }
  EXPECT_EQ(kernels, suite_.kernels.size());
  EXPECT_TRUE(names.contains("model.layers.*.self_attn")) << all[0].name;
  EXPECT_TRUE(names.contains("model.layers.*.mlp"));
  options.groups.push_back(parse_kernel_group("conv=conv*"));
  testing::expect_user_error([&] { units(options); }, {"--granularity conv", "rms_norm_"});
}

TEST(KernelGroups, BadTextIsRefused) {
  for (const char* text : {"", "=a", "a=", "a=b,,c", "a,"}) {
    testing::expect_user_error([&] { parse_kernel_group(text); }, {"--granularity", "GLOB"});
  }
}

TEST(Migrate, EveryOrderAndGranularityMovesEverything) {
  if (testing::kSanitized) GTEST_SKIP() << "other tests migrate, too; this one does it often";
  ASSERT_TRUE(plain().passed());
  std::vector<std::string> sorted = kernels_of(plain());
  std::ranges::sort(sorted);
  for (MigrationOrder order : {MigrationOrder::kCost, MigrationOrder::kRisk}) {
    MigrateOptions options = short_run();
    options.plan.order = order;
    options.plan.by_layer = order == MigrationOrder::kCost;
    const Migration other = migrated(options);
    EXPECT_TRUE(other.passed());
    std::vector<std::string> names = kernels_of(other);
    EXPECT_NE(names, kernels_of(plain()));
    std::ranges::sort(names);
    EXPECT_EQ(names, sorted);
  }
}

TEST(Migrate, OnlyWhatIsWrongInAGroupStays) {
  MigrateOptions options = short_run();
  options.plan.groups = {parse_kernel_group("all=*")};
  const std::string victim = kernels_of(plain()).at(3);
  options.plant = victim + ":wrong-constant";
  const Migration wrong = migrated(options);
  for (const MigrationStep& step : wrong.steps) {
    EXPECT_EQ(step.migrated, step.verdict.kernel != victim) << step.verdict.kernel;
    EXPECT_EQ(step.unit, "all");
  }
  EXPECT_TRUE(wrong.untried.empty());
}

TEST(Migrate, StopsAtTheFirstThatStays) {
  MigrateOptions options = short_run();
  const std::vector<std::string> all = kernels_of(plain());
  options.plant = all.at(3) + ":wrong-constant";
  options.stop_at_first = true;
  const Migration stopped = migrated(options);
  EXPECT_FALSE(stopped.passed());
  EXPECT_FALSE(stopped.target_ran);
  EXPECT_EQ(kernels_of(stopped), std::vector(all.begin(), all.begin() + 4));
  EXPECT_EQ(stopped.untried, std::vector(all.begin() + 4, all.end()));
  ASSERT_EQ(stopped.culprits().size(), 1u);
  EXPECT_EQ(stopped.culprits()[0]->verdict.kernel, all[3]);
}

TEST(MigrationState, AMigrationGoesOnWhereTheDeviceWasLost) {
  MigrateOptions options = short_run();
  const Migration& whole = plain();
  testing::TempFolder folder;
  options.state = folder / "state";
  size_t done = 0;
  for (int launches : {60, 400}) {
    testing::expect_platform_error(
        [&] { migrated(options, std::make_unique<LosingSession>(launches)); }, PlatformFault::kLost,
        {"the device is lost"});
    const Json json =
        unwrap(parse_json(testing::read_bytes(folder / "state/state.json"), "state.json"));
    const size_t now = json.find("steps")->items().size();
    EXPECT_GT(now, done) << launches;
    EXPECT_LT(now, whole.steps.size());
    done = now;
  }
  const Migration resumed = migrated(options);
  EXPECT_EQ(resumed.resumed, static_cast<int64_t>(done));
  EXPECT_TRUE(result_of(resumed) == result_of(whole)) << result_of(resumed);
  // What is complete has nothing left to try.
  const Migration again = migrated(options);
  EXPECT_EQ(again.resumed, std::ssize(whole.steps));
  EXPECT_TRUE(result_of(again) == result_of(whole));
}

TEST(MigrationState, AMigrationGoesOnWhereItWasInterrupted) {
  MigrateOptions options = short_run();
  options.plan.order = MigrationOrder::kRisk;
  const Migration whole = migrated(options);
  testing::TempFolder folder;
  options.state = folder / "state";
  const std::string after = kernels_of(whole).at(5);
  bool seen = false;
  options.progress = [&](const std::string& step, int64_t, int64_t) { seen |= step == after; };
  options.cancelled = [&] { return seen; };
  testing::expect_platform_error([&] { migrated(options); }, PlatformFault::kCancelled,
                                 {"interrupted"});
  options.progress = {};
  options.cancelled = {};
  const Migration resumed = migrated(options);
  EXPECT_EQ(resumed.resumed, 5);
  EXPECT_TRUE(result_of(resumed) == result_of(whole)) << result_of(resumed);
}

TEST(MigrationState, ThatOfAnotherMigrationIsRefused) {
  testing::TempFolder folder;
  MigrateOptions options = short_run();
  options.state = folder / "state";
  EXPECT_TRUE(migrated(options).passed());
  const std::string kept = testing::read_bytes(folder / "state/state.json");
  options.plan.order = MigrationOrder::kCost;
  options.plan.by_layer = true;
  testing::expect_user_error(
      [&] { migrated(options, testing::open_session("cpu"), {3, 1, 4, 1}); },
      {"another migration", "prompt tokens 3 1 4 1 5", "suite", "order cost", "order execution",
       "granularity layer", "granularity kernel", "--state"});
  EXPECT_EQ(testing::read_bytes(folder / "state/state.json"), kept) << "it is left as it was";
}

TEST(MigrationState, EveryDifferenceIsNamed) {
  testing::TempFolder folder;
  const MigrationIdentity identity = {{"model", "llama 12"}, {"target", "cpu"}, {"plant", ""}};
  MigrationStep step;
  step.unit = "u";
  step.verdict.kernel = "k";
  MigrationState::open(folder.path(), identity, {{"k", "code"}}).add({step});
  for (size_t i = 0; i < identity.size(); ++i) {
    MigrationIdentity other = identity;
    other[i].second = "changed";
    testing::expect_user_error([&] { MigrationState::open(folder.path(), other, {{"k", "code"}}); },
                               {identity[i].first + " changed",
                                identity[i].first + " " + identity[i].second, "state.json"});
  }
  const MigrationState same = MigrationState::open(folder.path(), identity, {{"k", "code"}});
  EXPECT_EQ(same.steps_of("u", {"k"}).size(), 1u);
  EXPECT_TRUE(same.steps_of("another", {"k"}).empty());
  EXPECT_TRUE(same.steps_of("u", {"k", "l"}).empty()) << "a unit counts as a whole";
  EXPECT_TRUE(
      MigrationState::open(folder.path(), identity, {{"k", "other"}}).steps_of("u", {"k"}).empty());
}

TEST(MigrationState, HashesTellModelsAndSuitesApart) {
  const auto& weights = small_model().golden.model.weights;
  auto others = weights;
  HostTensor& first = others.begin()->second;
  first = HostTensor::zeros(first.dtype(), first.shape());
  EXPECT_EQ(weights_hash(weights), weights_hash(std::map(weights)));
  EXPECT_NE(weights_hash(weights), weights_hash(others));
  Suite suite = carved();
  const std::string hash = suite_hash(suite);
  EXPECT_EQ(suite_hash(carved()), hash);
  suite.calls.back().scalars.push_back(1);
  EXPECT_NE(suite_hash(suite), hash);
  suite = carved();
  suite.kernels[0].spec += " ";
  EXPECT_NE(suite_hash(suite), hash);
}

TEST(MigrationState, DamageIsRefused) {
  testing::TempFolder folder;
  const MigrationIdentity identity = {{"model", "llama 12"}};
  MigrationStep step;
  step.unit = "u";
  step.verdict.kernel = "k";
  MigrationState::open(folder.path(), identity, {{"k", "code"}}).add({step});
  const std::string file = folder / "state.json";
  const std::string kept = testing::read_bytes(file);
  auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    testing::write_bytes(file, text);
    testing::expect_user_error(
        [&] { MigrationState::open(folder.path(), identity, {{"k", "code"}}); }, parts);
  };
  refused(kept.substr(0, kept.size() / 2), {"state.json"});
  refused("[]", {"state.json"});
  refused("{\"tapml_migration\": 2}", {"another version", "version 1"});
  std::string wrong = kept;
  wrong.replace(wrong.find("\"failed\": \"none\""), 16, "\"failed\": \"luck\"");
  refused(wrong, {"state.json", "luck", "crash"});
}

TEST(MigrationState, WhatHasOtherCodeIsTriedAgain) {
  testing::TempFolder folder;
  MigrateOptions options = short_run();
  options.state = folder / "state";
  const Migration first = migrated(options);
  EXPECT_TRUE(first.passed());
  const std::string file = folder / "state/state.json";
  std::string other = testing::read_bytes(file);
  const size_t at = other.find("\"code\": \"") + 9;
  other[at] = other[at] == '0' ? '1' : '0';
  testing::write_bytes(file, other);
  const Migration again = migrated(options);
  EXPECT_EQ(again.resumed, std::ssize(first.steps) - 1) << "one kernel has other code";
  EXPECT_TRUE(again.passed());
}

TEST(MigrationState, CodeIsToldApartKernelByKernel) {
  const Executable& executable = *small_model().executable;
  const CodeDigests digests = code_digests(executable);
  EXPECT_EQ(digests.size(), executable.kernels.size());
  EXPECT_EQ(code_digests(executable), digests);
  Executable changed = executable;
  changed.implementations.back().launches.back().workgroup_threads += 1;
  const CodeDigests others = code_digests(changed);
  for (const auto& [kernel, digest] : digests) {
    const auto last = static_cast<size_t>(changed.implementations.back().kernel);
    EXPECT_EQ(others.at(kernel) != digest, kernel == changed.kernels[last].name) << kernel;
  }
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
  step.hybrid = {false, 1, 2, 3, 4, "f", 5, 6, 7, 0.25, 8, 9, 10, 0.125};
  step.dispatched = 12;
  step.copies.bytes_from_target = 1;
  const Json json = unwrap(parse_json(step_json(step).dump(), "step"));
  const MigrationStep read = unwrap(read_step(JsonObjectReader(json, "step")));
  EXPECT_EQ(step_json(read).dump(), json.dump());
  EXPECT_EQ(read.verdict.worst.outcome, Outcome::kFail);
  EXPECT_EQ(read.verdict.worst.target.max_ratio, step.verdict.worst.target.max_ratio);
  EXPECT_EQ(read.verdict.worst.target.judged, 77);
  EXPECT_EQ(read.hybrid.margin, 0.125);
  EXPECT_EQ(read.verdict.origin, step.verdict.origin);
}

}  // namespace
}  // namespace tapml::topdown
