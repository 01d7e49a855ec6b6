// Migrations of a small random model: order and granularity, stopping at the first kernel that
// stays, resuming an interrupted migration.
#include "topdown/migrate/migrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "io/safetensors.h"
#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"
#include "topdown/asked_migration.h"
#include "topdown/described_session.h"
#include "topdown/limiting_session.h"
#include "topdown/losing_session.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/refused_kernel.h"
#include "topdown/report/report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"
#include "topdown/suite/suite_hash.h"
#include "topdown/wrong_decode_kernel.h"

namespace tapml::topdown {
namespace {

// The result of an ordinary migration.
const Migration& plain() {
  static const Migration migration = migrated(short_run());
  return migration;
}

class MigrationOrders : public ::testing::Test {
 protected:
  Suite suite_ = carved();
  KernelReference reference_{suite_};

  std::vector<std::string> planned(const PlanOptions& options) {
    std::vector<std::string> names;
    for (const MigrationUnit& unit :
         plan_migration(suite_, reference_, *small_model().executable, options)) {
      for (int32_t kernel : unit.kernels) {
        names.push_back(suite_.kernels[static_cast<size_t>(kernel)].name);
      }
    }
    return names;
  }
  std::vector<MigrationUnit> units(const PlanOptions& options) {
    return plan_migration(suite_, reference_, *small_model().executable, options);
  }
};

TEST_F(MigrationOrders, ExecutionFollowsTheSuite) {
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
    EXPECT_GE(kernel_cost(suite_, reference_, suite_.find_kernel(by_cost[i])),
              kernel_cost(suite_, reference_, suite_.find_kernel(by_cost[i + 1])));
    EXPECT_GE(kernel_risk(suite_, reference_, suite_.find_kernel(by_risk[i]), ""),
              kernel_risk(suite_, reference_, suite_.find_kernel(by_risk[i + 1]), ""));
  }
  EXPECT_TRUE(std::ranges::is_permutation(by_cost, planned({})));
  EXPECT_TRUE(std::ranges::is_permutation(by_risk, planned({})));
  // A kernel that reads a data-dependent number of pages precedes one that only writes them.
  EXPECT_TRUE(by_risk[0].starts_with("paged_attention")) << by_risk[0];
  EXPECT_FALSE(by_cost[0].starts_with("rms_norm")) << by_cost[0];
}

TEST_F(MigrationOrders, CostIsFlopsAndBytesOfAllCalls) {
  // rms_norm of [1, 5, h] and [1, h] ...: the bytes that it at least reads and writes; for a table
  // or a pool only the rows used, for pages as the data determines.
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
      EXPECT_LT(kernel_cost(suite_, reference_, kernel), bytes) << name;
    } else {
      EXPECT_GE(kernel_cost(suite_, reference_, kernel), bytes) << name;
    }
  }
}

TEST_F(MigrationOrders, ACustomKernelIsTheRiskiest) {
  int64_t most = 0;
  for (int32_t kernel = 0; kernel < std::ssize(suite_.kernels); ++kernel) {
    most = std::max(most, kernel_risk(suite_, reference_, kernel, "schedule:elementwise"));
  }
  const int32_t norm = 0;
  EXPECT_GT(kernel_risk(suite_, reference_, norm, "user:norm.cl"),
            kernel_risk(suite_, reference_, norm, "library:openblas"));
  EXPECT_GT(kernel_risk(suite_, reference_, norm, "library:openblas"),
            kernel_risk(suite_, reference_, norm, "schedule:reduction"));
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
    Asked options = short_run();
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

TEST(Migrate, OnlyTheWrongKernelOfAGroupStays) {
  Asked options = short_run();
  options.plan.groups = {parse_kernel_group("all=*")};
  const std::string victim = kernels_of(plain()).at(3);
  options.fault = victim + ":wrong-constant";
  const Migration wrong = migrated(options);
  for (const MigrationStep& step : wrong.steps) {
    EXPECT_EQ(step.migrated, step.verdict.kernel != victim) << step.verdict.kernel;
    EXPECT_EQ(step.unit, "all");
  }
  EXPECT_TRUE(wrong.untried.empty());
}

TEST(Migrate, StopsAtTheFirstKernelThatStays) {
  Asked options = short_run();
  const std::vector<std::string> all = kernels_of(plain());
  options.fault = all.at(3) + ":wrong-constant";
  options.stop_at_first = true;
  const Migration stopped = migrated(options);
  EXPECT_FALSE(stopped.passed());
  EXPECT_FALSE(stopped.target_ran);
  EXPECT_EQ(kernels_of(stopped), std::vector(all.begin(), all.begin() + 4));
  EXPECT_EQ(stopped.untried, std::vector(all.begin() + 4, all.end()));
  ASSERT_EQ(stopped.culprits().size(), 1u);
  EXPECT_EQ(stopped.culprits()[0]->verdict.kernel, all[3]);
}

// Replaces one token by another in reads of a single token.
class OtherTokenSession : public runtime::ForwardingSession {
 public:
  OtherTokenSession(int32_t from, int32_t to)
      : ForwardingSession(testing::open_session("cpu")), from_(from), to_(to) {}

  Status read(runtime::StreamId stream, runtime::BufferRange from, std::span<std::byte> bytes,
              runtime::Deadline deadline) noexcept override {
    TAPML_TRY(ForwardingSession::read(stream, from, bytes, deadline));
    if (bytes.size() == sizeof from_ && std::memcmp(bytes.data(), &from_, sizeof from_) == 0) {
      std::memcpy(bytes.data(), &to_, sizeof to_);
    }
    return {};
  }

 private:
  int32_t from_, to_;
};

// One platform continues where the other ends the text; the reference finds both equally likely.
TEST(Migrate, ATieWithAStopTokenIsATie) {
  Asked options = short_run();
  options.cache = &kernel_cache();
  const std::vector<int32_t>& tokens = plain().source_tokens;
  const int32_t first = tokens.at(0);
  const std::map<std::string, HostTensor>& weights = small_model().golden.model.weights;
  const HostTensor& embedding = weights.at("model.embed_tokens.weight");
  const int64_t width = embedding.shape()[1];
  const auto stop = static_cast<int32_t>(embedding.shape()[0] - 1);
  ASSERT_LT(first, stop) << "of equal ones the first is taken";
  ASSERT_EQ(std::ranges::count(tokens, stop) + std::ranges::count(kPrompt, stop), 0);
  options.eos = {stop + 1000, stop};
  for (bool equal : {true, false}) {
    std::map<std::string, HostTensor> tied = weights;
    HostTensor rows = HostTensor::zeros(embedding.dtype(), embedding.shape());
    for (int64_t i = 0; i < rows.size(); ++i) {
      const bool copied = equal && i >= stop * width;
      rows.set_f64(i, embedding.at_f64(copied ? i - (stop - first) * width : i));
    }
    tied["model.embed_tokens.weight"] = rows;
    auto from = testing::open_session("cpu");
    OtherTokenSession to(first, stop);
    const Migration migration =
        migrate(small_model().golden.model.module, tied, kPrompt,
                {target::parse_target("cpu"), from.get(), {}}, options.target(to), options);
    EXPECT_EQ(migration.source_tokens, tokens);
    EXPECT_TRUE(migration.target_ran);
    EXPECT_TRUE(migration.target_tokens.empty());
    EXPECT_EQ(migration.first_divergence, 0);
    EXPECT_EQ(migration.tie, equal);
    EXPECT_EQ(migration.passed(), equal);
  }
}

TEST(Migrate, ReportsNaNOfTheSourceBeforeTryingKernels) {
  Asked options = short_run();
  options.cache = &kernel_cache();
  auto from = testing::open_session("cpu"), to = testing::open_session("cpu");
  const Migration migration =
      migrate(small_model().golden.model.module, weights_with_nan(), kPrompt,
              {target::parse_target("cpu"), from.get(), {}}, options.target(*to), options);
  ASSERT_TRUE(migration.source_nan);
  EXPECT_TRUE(migration.source_nan->kernel.starts_with("rms_norm_"))
      << migration.source_nan->kernel;
  EXPECT_EQ(migration.source_nan->inputs.size(), 1u);
  EXPECT_EQ(migration.source_nan->origin, Origin{"model.norm"});
  EXPECT_TRUE(migration.steps.empty());
  EXPECT_TRUE(migration.culprits().empty());
  EXPECT_FALSE(migration.target_ran);
  EXPECT_FALSE(migration.passed());
  EXPECT_NE(migration_verdict(migration).find("NaN in the source's own run: rms_norm_"),
            std::string::npos);
  EXPECT_EQ(migration_json(migration).find("nan")->find("layers")->as_string(), "model.norm");
}

// The others move, and their tests do not mention what cannot run.
TEST(Migrate, AKernelBeyondALimitOfTheDeviceStays) {
  const std::string victim = kernels_of(plain()).at(3);
  Asked options = short_run();
  const testing::TempFolder folder;
  options.custom_sources = too_large_for_devices(small_model().golden.model.module, victim, folder);
  auto session = std::make_unique<DescribedSession>();
  session->described.limits.max_workgroup_threads = 65536;
  const Migration migration = migrated(options, std::move(session));
  EXPECT_EQ(kernels_of(migration), kernels_of(plain()));
  for (const MigrationStep& step : migration.steps) {
    EXPECT_EQ(step.migrated, step.verdict.kernel != victim) << step.verdict.kernel;
    if (step.verdict.kernel != victim) continue;
    EXPECT_EQ(step.verdict.failed, Failure::kRefused);
    EXPECT_NE(step.verdict.failure.find("a work group of 1000000 threads"), std::string::npos)
        << step.verdict.failure;
  }
  EXPECT_FALSE(migration.passed());
  EXPECT_TRUE(migration.failed.at(victim).suite) << "the call that was refused";
}

// Its tests pass; a limit reached during the model's other calls is a finding, and does not end the
// run.
TEST(Migrate, AKernelThatMeetsALimitOnlyInTheModelStays) {
  const std::string victim = kernels_of(plain()).at(3);
  const Migration migration = migrated(
      short_run(),
      std::make_unique<LimitingSession>(victim, plain().steps.at(3).verdict.launches.launches));
  EXPECT_EQ(kernels_of(migration), kernels_of(plain()));
  for (const MigrationStep& step : migration.steps) {
    EXPECT_TRUE(step.verdict.passed) << step.verdict.kernel;
    EXPECT_EQ(step.migrated, step.verdict.kernel != victim) << step.verdict.kernel;
  }
  EXPECT_EQ(migration.steps.at(3).hybrid.failure, "more than this device has");
  ASSERT_EQ(migration.culprits().size(), 1u);
  EXPECT_FALSE(migration.passed());
  EXPECT_FALSE(migration.error);
}

TEST(Migrate, ALimitThatOnlyTheTargetsOwnRunMeetsIsADifference) {
  const std::string kernel = kernels_of(plain()).at(3);
  int64_t launches = 0;
  migrated(short_run(), std::make_unique<LimitingSession>(kernel, 1'000'000, &launches));
  // The last one reports the end of the target's own run.
  const Migration migration =
      migrated(short_run(), std::make_unique<LimitingSession>(kernel, launches - 1));
  EXPECT_TRUE(migration.culprits().empty());
  EXPECT_TRUE(migration.target_ran);
  EXPECT_EQ(migration.whole.failure, "more than this device has");
  EXPECT_FALSE(migration.passed());
}

// The number of validation tokens is that of decode steps: a single step tests every decode kernel.
TEST(Migrate, AWrongDecodeKernelIsNamedOrListedAsUntested) {
  const testing::TempFolder folder;
  const std::string victim = decode_norm();
  Asked options = short_run();
  options.custom_sources = wrong_decode_norm(folder);
  for (const int64_t steps : {0, 1, 2}) {
    SCOPED_TRACE(steps);
    options.validation_tokens = steps;
    const Migration migration = migrated(options);
    EXPECT_FALSE(migration.passed());
    const std::vector<std::string> untested = names_of(migration.untested);
    if (steps > 0) {
      EXPECT_TRUE(untested.empty()) << untested_text(migration.untested);
      ASSERT_EQ(migration.culprits().size(), 1u);
      EXPECT_EQ(migration.culprits()[0]->verdict.kernel, victim);
      EXPECT_EQ(migration.verdict(), Verdict::kFail);
      // The prompt, and each step after it.
      EXPECT_EQ(migration.steps[0].hybrid.positions, steps + 1);
      continue;
    }
    EXPECT_TRUE(migration.culprits().empty());
    EXPECT_NE(std::ranges::find(untested, victim), untested.end());
    for (const KernelUse& use : migration.untested) EXPECT_FALSE(use.origin.empty()) << use.kernel;
    // The target's own text shows a fault: these kernels may be its cause.
    EXPECT_TRUE(migration.target_ran);
    EXPECT_EQ(migration.verdict(), Verdict::kFail);
    const std::string verdict = migration_verdict(migration);
    EXPECT_NE(verdict.find(victim), std::string::npos) << verdict;
    EXPECT_EQ(verdict.find("memory plan"), std::string::npos) << verdict;
  }
}

TEST(Migrate, WithoutDecodeStepsACorrectModelIsNotProven) {
  Asked options = short_run();
  options.validation_tokens = 0;
  const Migration migration = migrated(options);
  EXPECT_EQ(migration.verdict(), Verdict::kNotProven);
  EXPECT_TRUE(migration.whole_passed());
  const Executable& executable = *small_model().executable;
  const std::vector<std::string> prefill =
      names_of(called_kernels(executable, {"prefill", "sample"}));
  for (const KernelUse& use : called_kernels(executable, {"decode"})) {
    const bool tested = std::ranges::find(prefill, use.kernel) != prefill.end();
    const bool listed = std::ranges::find(migration.untested, use.kernel, &KernelUse::kernel) !=
                        migration.untested.end();
    EXPECT_NE(tested, listed) << use.kernel;
  }
  const Json json = migration_json(migration);
  EXPECT_EQ(json.find("verdict")->as_string(), "NOT PROVEN");
  EXPECT_FALSE(json.find("passed")->as_bool());
  EXPECT_EQ(json.find("untested")->items().size(), migration.untested.size());
  EXPECT_FALSE(json.find("untested")->items()[0].find("layers")->items().empty());
}

// A text that ends at once leaves nothing to decode.
TEST(Migrate, ATextThatEndsAtOnceTestsNoDecodeKernel) {
  Asked options = short_run();
  options.eos = {plain().source_tokens.at(0)};
  const Migration migration = migrated(options);
  EXPECT_TRUE(migration.source_tokens.empty());
  EXPECT_EQ(migration.verdict(), Verdict::kNotProven);
  EXPECT_FALSE(migration.untested.empty());
}

TEST(MigrationState, AMigrationResumesAfterADeviceLoss) {
  Asked options = short_run();
  const Migration& whole = plain();
  testing::TempFolder folder;
  options.state = folder / "state";
  size_t done = 0;
  for (int launches : {100, 600}) {
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
  // A complete migration has nothing left to try.
  const Migration again = migrated(options);
  EXPECT_EQ(again.resumed, std::ssize(whole.steps));
  EXPECT_TRUE(result_of(again) == result_of(whole));
}

TEST(MigrationState, AMigrationResumesAfterAnInterruption) {
  Asked options = short_run();
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

TEST(MigrationState, RefusesTheStateOfAnotherMigration) {
  testing::TempFolder folder;
  Asked options = short_run();
  options.state = folder / "state";
  EXPECT_TRUE(migrated(options).passed());
  const std::string kept = testing::read_bytes(folder / "state/state.json");
  options.plan.order = MigrationOrder::kCost;
  options.plan.by_layer = true;
  testing::expect_user_error(
      [&] { migrated(options, testing::open_session("cpu"), {3, 1, 4, 1}); },
      {"another migration", "prompt tokens 3 1 4 1 5", "order cost", "order execution",
       "granularity layer", "granularity kernel", "--state"});
  EXPECT_EQ(testing::read_bytes(folder / "state/state.json"), kept) << "it is left as it was";
}

// Before the source runs: not even its program is compiled.
TEST(MigrationState, RefusesTheStateOfAnotherMigrationBeforeAnyWork) {
  testing::TempFolder folder;
  Asked options = short_run();
  options.state = folder / "state";
  EXPECT_TRUE(migrated(options).passed());
  const std::set<std::string> files = testing::names_under(folder / "state");
  std::vector<std::string> steps;
  options.progress = [&](const std::string& step, int64_t, int64_t) { steps.push_back(step); };
  options.validation_tokens = 1;
  testing::expect_user_error([&] { migrated(options); },
                             {"another migration", "validation tokens 1", "validation tokens 2"});
  EXPECT_EQ(steps, std::vector<std::string>{"compile for cpu"});
  EXPECT_EQ(testing::names_under(folder / "state"), files);
}

// Everything that may take long is counted.
TEST(Migrate, AWatcherReceivesProgress) {
  Asked options = short_run();
  const testing::TempFolder folder;  // empty, so that there is something to compile
  pipeline::KernelCache cache(std::make_shared<DiskCache>(DiskCacheOptions{folder / "cache", {}}));
  options.cache = &cache;
  std::mutex mutex;  // kernels are compiled on several threads
  std::map<std::string, int64_t> most;
  options.watcher = [&](const tapml::Work& work) {
    const std::lock_guard lock(mutex);
    EXPECT_GE(work.done, 0) << work.what;
    EXPECT_LE(work.done, work.total) << work.what;
    int64_t& total = most[std::string(work.what)];
    total = std::max(total, work.total);
  };
  EXPECT_TRUE(migrated(options).passed());
  for (const char* what :
       {"passes", "schedule", "compile", "decode", "convert", "reference", "launch"}) {
    EXPECT_GT(most[what], 0) << what;
  }
  EXPECT_GT(most["reference"], 10) << "the operators of the model";
}

// The reference of the whole model is evaluated once.
TEST(MigrationState, KeepsTheReferencesResults) {
  testing::TempFolder folder;
  Asked options = short_run();
  options.state = folder / "state";
  const Migration first = migrated(options);
  EXPECT_TRUE(first.passed());
  std::string kept;
  for (const std::string& name : testing::names_under(folder / "state")) {
    if (name.starts_with("reference-")) kept = name;
  }
  ASSERT_FALSE(kept.empty());
  const std::string path = folder / ("state/" + kept);
  const std::string bytes = testing::read_bytes(path);
  // It is read: with other logits in it, an unchanged target is wrong.
  SafetensorsFile file =
      unwrap(parse_safetensors(std::as_bytes(std::span(bytes)), nullptr, "reference"));
  const HostTensor& logits = file.tensors.at("logits");
  HostTensor other = HostTensor::zeros(logits.dtype(), logits.shape());
  for (int64_t i = 0; i < other.size(); ++i) other.set_f64(i, logits.at_f64(i) + (i == 0 ? 9 : 0));
  const auto write = [&](const HostTensor& rows, const std::string& digest) {
    const auto image = write_safetensors(
        {{"logits", rows}, {"largest", file.tensors.at("largest")}}, {{"digest", digest}});
    testing::write_bytes(path,
                         std::string(reinterpret_cast<const char*>(image.data()), image.size()));
  };
  const std::string largest = content_hash(file.tensors.at("largest"));
  write(other, content_hash(other) + largest);
  const Migration read = migrated(options);
  EXPECT_NE(result_of(read), result_of(first));
  EXPECT_GT(read.whole.source_error, 1);
  // An altered file is ignored and rewritten.
  write(other, content_hash(logits) + largest);
  const Migration again = migrated(options);
  EXPECT_TRUE(result_of(again) == result_of(first));
  EXPECT_EQ(testing::read_bytes(path), bytes);
  // Cached results have the numbers of evaluated ones.
  EXPECT_TRUE(result_of(migrated(options)) == result_of(first));
}

TEST(MigrationState, EveryDifferenceIsNamed) {
  testing::TempFolder folder;
  const MigrationIdentity identity = {{"model", "llama 12"}, {"target", "cpu"}, {"fault", ""}};
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

TEST(MigrationState, HashesDistinguishModelsAndSuites) {
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
  refused("{\"tapml_migration\": 3}", {"another version", "version 2"});
  std::string wrong = kept;
  wrong.replace(wrong.find("\"failed\": \"none\""), 16, "\"failed\": \"luck\"");
  refused(wrong, {"state.json", "luck", "crash"});
}

TEST(MigrationState, RetriesKernelsWithOtherCode) {
  testing::TempFolder folder;
  Asked options = short_run();
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

// A driver compiles, so another driver may generate other code from the same source.
TEST(MigrationState, RetriesWithAnotherDriver) {
  testing::TempFolder folder;
  Asked options = short_run();
  options.state = folder / "state";
  auto session = std::make_unique<DescribedSession>();
  session->described.version = "driver 1";
  const Migration first = migrated(options, std::move(session));
  EXPECT_TRUE(first.passed());
  for (const int64_t known : {int64_t{0}, static_cast<int64_t>(std::ssize(first.steps))}) {
    session = std::make_unique<DescribedSession>();
    session->described.version = "driver 2";
    const Migration again = migrated(options, std::move(session));
    EXPECT_EQ(again.resumed, known);
    EXPECT_TRUE(again.passed());
  }
}

// The time limit, or what ran before it, may have been the reason.
TEST(MigrationState, RetriesKernelsThatDidNotEnd) {
  testing::TempFolder folder;
  const CodeDigests code = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  for (Failure failure : {Failure::kTimeout, Failure::kCrash, Failure::kRefused,
                          Failure::kOutOfBounds, Failure::kSideEffect, Failure::kNone}) {
    const bool again = failure == Failure::kTimeout || failure == Failure::kCrash;
    const std::string state = folder / failure_name(failure);
    MigrationStep right, wrong, last;
    right.unit = wrong.unit = "ab";
    last.unit = "c";
    right.verdict.kernel = "a";
    wrong.verdict.kernel = "b";
    last.verdict.kernel = "c";
    wrong.verdict.failed = failure;
    wrong.verdict.passed = false;
    MigrationState::open(state, {}, code).add({right, wrong});
    MigrationState reopened = MigrationState::open(state, {}, code);
    reopened.add({last});
    EXPECT_EQ(reopened.steps_of("ab", {"a", "b"}).empty(), again) << failure_name(failure);
    EXPECT_EQ(reopened.steps_of("c", {"c"}).size(), 1u);
    wrong.verdict.failed = Failure::kNone;
    reopened.add({right, wrong});
    EXPECT_EQ(reopened.steps_of("ab", {"a", "b"}).size(), 2u);
    const Json json = unwrap(parse_json(testing::read_bytes(state + "/state.json"), "state.json"));
    EXPECT_EQ(json.find("steps")->items().size(), 3u) << "each once";
  }
  MigrationStep hung;
  hung.unit = hung.verdict.kernel = "c";
  hung.hybrid.failure = "a kernel did not end within 1 s";
  MigrationState::open(folder / "hybrid", {}, code).add({hung});
  EXPECT_TRUE(MigrationState::open(folder / "hybrid", {}, code).steps_of("c", {"c"}).empty());
}

TEST(MigrationState, DistinguishesCodeKernelByKernel) {
  const Executable& executable = *small_model().executable;
  const DeviceInfo device{.name = "a device", .version = "1"};
  const CodeDigests digests = code_digests(executable, device);
  EXPECT_EQ(digests.size(), executable.kernels.size());
  EXPECT_EQ(code_digests(executable, device), digests);
  Executable changed = executable;
  changed.implementations.back().launches.back().workgroup_threads += 1;
  for (const DeviceInfo& another : {DeviceInfo{.name = "another", .version = "1"},
                                    DeviceInfo{.name = "a device", .version = "2"}}) {
    for (const auto& [kernel, digest] : code_digests(executable, another)) {
      EXPECT_NE(digest, digests.at(kernel)) << kernel;
    }
  }
  const CodeDigests others = code_digests(changed, device);
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
  step.verdict.launches = {20, 3, 4, 5, true, true};
  step.repeated = {5, 2, {"a", "b"}};
  const Json json = unwrap(parse_json(step_json(step).dump(), "step"));
  const MigrationStep read = unwrap(read_step(JsonObjectReader(json, "step")));
  EXPECT_EQ(step_json(read).dump(), json.dump());
  EXPECT_EQ(read.verdict.worst.outcome, Outcome::kFail);
  EXPECT_EQ(read.verdict.worst.target.max_ratio, step.verdict.worst.target.max_ratio);
  EXPECT_EQ(read.verdict.worst.target.compared, 77);
  EXPECT_EQ(read.hybrid.margin, 0.125);
  EXPECT_EQ(read.verdict.origin, step.verdict.origin);
  EXPECT_TRUE(read.repeated.flaky());
}

}  // namespace
}  // namespace tapml::topdown
