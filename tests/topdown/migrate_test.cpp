// Migrations of a small random model: every order, kernels that stay and the reasons, untested
// kernels.
#include "topdown/migrate/migrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "passes/specialize.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"
#include "topdown/asked_migration.h"
#include "topdown/described_session.h"
#include "topdown/limiting_session.h"
#include "topdown/refused_kernel.h"
#include "topdown/report/report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"
#include "topdown/wrong_decode_kernel.h"

namespace tapml::topdown {
namespace {

TEST(Migrate, EveryOrderAndGranularityMovesEverything) {
  if (testing::kSanitized) GTEST_SKIP() << "other tests migrate, too; this one does it often";
  ASSERT_TRUE(ordinary_migration().passed());
  std::vector<std::string> sorted = kernels_of(ordinary_migration());
  std::ranges::sort(sorted);
  for (MigrationOrder order : {MigrationOrder::kCost, MigrationOrder::kRisk}) {
    Asked options = short_run();
    options.plan.order = order;
    options.plan.by_layer = order == MigrationOrder::kCost;
    const Migration other = migrated(options);
    EXPECT_TRUE(other.passed());
    std::vector<std::string> names = kernels_of(other);
    EXPECT_NE(names, kernels_of(ordinary_migration()));
    std::ranges::sort(names);
    EXPECT_EQ(names, sorted);
  }
}

TEST(Migrate, OnlyTheWrongKernelOfAGroupStays) {
  Asked options = short_run();
  options.plan.groups = {parse_kernel_group("all=*")};
  const std::string victim = kernels_of(ordinary_migration()).at(3);
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
  const std::vector<std::string> all = kernels_of(ordinary_migration());
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
  const std::vector<int32_t>& tokens = ordinary_migration().source_tokens;
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
    EXPECT_EQ(migration.margins.at(0).token, first);
    EXPECT_EQ(migration.margins.at(0).open(), equal) << migration.margins.at(0).margin;
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
  EXPECT_EQ(migration.source_nan->origin.layers, std::set<std::string>{"model.norm"});
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
  const std::string victim = kernels_of(ordinary_migration()).at(3);
  Asked options = short_run();
  const testing::TempFolder folder;
  options.custom_sources = too_large_for_devices(small_model().golden.model.module, victim, folder);
  auto session = std::make_unique<DescribedSession>();
  session->described.limits.max_workgroup_threads = 65536;
  const Migration migration = migrated(options, std::move(session));
  EXPECT_EQ(kernels_of(migration), kernels_of(ordinary_migration()));
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
  const std::string victim = kernels_of(ordinary_migration()).at(3);
  const Migration migration = migrated(
      short_run(), std::make_unique<LimitingSession>(
                       victim, ordinary_migration().steps.at(3).verdict.launches.launches));
  EXPECT_EQ(kernels_of(migration), kernels_of(ordinary_migration()));
  for (const MigrationStep& step : migration.steps) {
    EXPECT_TRUE(step.verdict.passed) << step.verdict.kernel;
    EXPECT_EQ(step.migrated, step.verdict.kernel != victim) << step.verdict.kernel;
  }
  EXPECT_EQ(migration.steps.at(3).hybrid.failure, "more than this device has");
  ASSERT_EQ(migration.culprits().size(), 1u);
  EXPECT_FALSE(migration.passed());
  EXPECT_FALSE(migration.error);
}

// The numbers of steps whose results are those of one hybrid run, in the order of the plan.
std::vector<size_t> steps_by_run(const Migration& migration) {
  std::vector<size_t> result;
  for (const MigrationStep& step : migration.steps) {
    const bool is_same = !result.empty() && (&step - 1)->dispatched == step.dispatched;
    if (!is_same) result.push_back(0);
    ++result.back();
  }
  return result;
}

TEST(Migrate, AHybridRunForSeveralKernels) {
  const auto count = ordinary_migration().steps.size();
  ASSERT_GT(count, 8u);
  EXPECT_GT(steps_by_run(ordinary_migration()).size(), count - 3) << "all but unused kernels";
  Asked options = short_run();
  options.plan.hybrid_every = 0;
  const Migration once = migrated(options);
  EXPECT_TRUE(once.passed());
  EXPECT_EQ(kernels_of(once), kernels_of(ordinary_migration()));
  EXPECT_EQ(steps_by_run(once), std::vector<size_t>{count});
  EXPECT_EQ(once.steps.back().dispatched, ordinary_migration().steps.back().dispatched);

  testing::TempFolder folder;
  options.plan.hybrid_every = 5;
  options.state = folder / "state";
  const Migration fives = migrated(options);
  EXPECT_TRUE(fives.passed());
  std::vector<size_t> expected(count / 5, 5);
  if (count % 5 > 0) expected.push_back(count % 5);
  EXPECT_EQ(steps_by_run(fives), expected);
  options.plan.hybrid_every = 1;
  const Migration again = migrated(options);
  EXPECT_EQ(again.resumed, static_cast<int64_t>(count));
  EXPECT_EQ(steps_by_run(again), expected);
}

// Of the kernels that moved together, those are found that make the model wrong; a kernel whose
// tests fail is in no run.
TEST(Migrate, AHybridRunForSeveralKernelsFindsTheWrongOnes) {
  const std::vector<std::string> all = kernels_of(ordinary_migration());
  for (const size_t at : {size_t{0}, size_t{3}, size_t{7}}) {
    Asked options = short_run();
    options.plan.hybrid_every = at == 3 ? 5 : 0;
    options.fault = all.at(1) + ":wrong-constant";
    const int64_t tests = ordinary_migration().steps.at(at).verdict.launches.launches;
    const Migration migration =
        migrated(options, std::make_unique<LimitingSession>(all.at(at), tests));
    EXPECT_EQ(kernels_of(migration), all);
    for (const MigrationStep& step : migration.steps) {
      const std::string& kernel = step.verdict.kernel;
      EXPECT_EQ(step.verdict.passed, kernel != all.at(1)) << kernel;
      EXPECT_EQ(step.migrated, kernel != all.at(1) && kernel != all.at(at)) << kernel;
      EXPECT_EQ(step.verdict.passed && step.hybrid.passed, step.migrated) << kernel;
    }
    EXPECT_EQ(migration.steps.at(at).hybrid.failure, "more than this device has");
  }
}

TEST(Migrate, StopsAfterTheHybridRunOfTheKernelsBefore) {
  const std::vector<std::string> all = kernels_of(ordinary_migration());
  Asked options = short_run();
  options.plan.hybrid_every = 0;
  options.fault = all.at(3) + ":wrong-constant";
  options.stop_at_first = true;
  const Migration stopped = migrated(options);
  EXPECT_EQ(kernels_of(stopped), std::vector(all.begin(), all.begin() + 4));
  EXPECT_EQ(stopped.untried, std::vector(all.begin() + 4, all.end()));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(stopped.steps[i].migrated, i < 3);
}

// The kernel that stopped the first migration is tried again, before one that is already done.
TEST(Migrate, AContinuedOneStopsBeforeKernelsThatAreDone) {
  const std::vector<std::string> all = kernels_of(ordinary_migration());
  const int64_t tests = ordinary_migration().steps.at(3).verdict.launches.launches;
  testing::TempFolder folder;
  Asked options = short_run();
  options.state = folder / "state";
  const auto limited = [&] { return std::make_unique<LimitingSession>(all.at(3), tests); };
  EXPECT_EQ(migrated(options, limited()).culprits().size(), 1u);
  options.stop_at_first = true;
  options.plan.hybrid_every = 5;
  const Migration stopped = migrated(options, limited());
  EXPECT_EQ(stopped.resumed, 3);
  EXPECT_EQ(kernels_of(stopped), std::vector(all.begin(), all.begin() + 4));
  EXPECT_EQ(stopped.untried, std::vector(all.begin() + 4, all.end()));
}

TEST(Migrate, ALimitThatOnlyTheTargetsOwnRunMeetsIsADifference) {
  const std::string kernel = kernels_of(ordinary_migration()).at(3);
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

// Without decode steps too, because carving adds a call of decode.
TEST(Migrate, AWrongDecodeKernelIsNamed) {
  const testing::TempFolder folder;
  const std::string victim = decode_norm();
  Asked options = short_run();
  options.custom_sources = wrong_decode_norm(folder);
  for (const int64_t steps : {0, 1, 2}) {
    SCOPED_TRACE(steps);
    options.validation_tokens = steps;
    const Migration migration = migrated(options);
    EXPECT_FALSE(migration.passed());
    EXPECT_TRUE(migration.untested.empty()) << untested_text(migration.untested);
    ASSERT_EQ(migration.culprits().size(), 1u);
    EXPECT_EQ(migration.culprits()[0]->verdict.kernel, victim);
    EXPECT_EQ(migration.verdict(), Verdict::kFail);
    // The prompt, and each step after it.
    EXPECT_EQ(migration.steps[0].hybrid.positions, steps + 1);
  }
}

// A text that ends at once leaves nothing to decode.
TEST(Migrate, DecodeIsTestedForATextThatEndsAtOnce) {
  Asked options = short_run();
  options.eos = {ordinary_migration().source_tokens.at(0)};
  const Migration migration = migrated(options);
  EXPECT_TRUE(migration.source_tokens.empty());
  EXPECT_TRUE(migration.untested.empty()) << untested_text(migration.untested);
  EXPECT_EQ(migration.verdict(), Verdict::kPass);
}

// No calls are added for a model that takes one text only.
TEST(Migrate, WithoutDecodeStepsAModelOfOneTextIsNotProven) {
  Module module = small_model().golden.model.module;
  for (const char* function : {"prefill", "decode", "logits_all"}) {
    module = passes::specialize(module, function, {{"b", 1}});
  }
  Asked options = short_run();
  options.validation_tokens = 0;
  options.cache = &kernel_cache();
  auto from = testing::open_session("cpu"), to = testing::open_session("cpu");
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const Migration migration = migrate(module, small_model().golden.model.weights, kPrompt, source,
                                      options.target(*to), options);
  EXPECT_EQ(migration.verdict(), Verdict::kNotProven);
  EXPECT_TRUE(migration.whole_passed());
  const auto executable = pipeline::compile(module, source.target);
  const std::vector<std::string> prefill =
      names_of(called_kernels(*executable, {"prefill", "sample"}));
  for (const KernelUse& use : called_kernels(*executable, {"decode"})) {
    const bool tested = std::ranges::find(prefill, use.kernel) != prefill.end();
    const bool listed = std::ranges::find(migration.untested, use.kernel, &KernelUse::kernel) !=
                        migration.untested.end();
    EXPECT_NE(tested, listed) << use.kernel;
  }
  const Json json = migration_json(migration);
  EXPECT_EQ(json.find("verdict")->as_string(), "NOT PROVEN");
  EXPECT_FALSE(json.find("passed")->as_bool());
  ASSERT_EQ(json.find("untested")->items().size(), migration.untested.size());
  EXPECT_FALSE(json.find("untested")->items().empty());
  EXPECT_FALSE(json.find("untested")->items()[0].find("layers")->items().empty());
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

}  // namespace
}  // namespace tapml::topdown
