// The state of a migration in a folder: what resumes, and what is tried again.
#include "topdown/migrate/migration_state.h"

#include <gtest/gtest.h>

#include <set>

#include "io/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/asked_migration.h"
#include "topdown/described_session.h"
#include "topdown/losing_session.h"
#include "topdown/suite/suite_hash.h"

namespace tapml::topdown {
namespace {

TEST(MigrationState, AMigrationResumesAfterADeviceLoss) {
  Asked options = short_run();
  const Migration& whole = ordinary_migration();
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
  refused("{\"tapml_migration\": 3}", {"another version", "version 1"});
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

}  // namespace
}  // namespace tapml::topdown
