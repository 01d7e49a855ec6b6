// A model with recurrent state is carved, replayed by its specification, and migrated to a local
// and to a remote platform: no part depends on caches.
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"
#include "support/sessions.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"
#include "topdown/migrate/migrate.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

const std::vector<int32_t> kToyPrompt = {3, 1, 4, 1, 5};
constexpr int64_t kToyTokens = 6;

const testing::ToyModel& toy() {
  static const testing::ToyModel model = testing::toy_recurrent_model(7);
  return model;
}

Migration migrate_toy(const std::string& target, runtime::Session& session) {
  const auto from = testing::open_session("cpu");
  MigrateOptions options;
  options.max_tokens = kToyTokens;
  options.validation_tokens = 3;
  options.cache = &kernel_cache();
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const MigrationTarget to{.platform = {target::parse_target(target), &session, {}}};
  return migrate(toy().module, toy().weights, kToyPrompt, source, to, options);
}

void expect_migrated(const Migration& migration) {
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_TRUE(migration.target_ran);
  // At least the embedding, the sum, the product with its epilogue, the slot's update, the head and
  // argmax, of prefill and of decode.
  EXPECT_GE(migration.steps.size(), 8U);
  for (const MigrationStep& step : migration.steps) {
    EXPECT_TRUE(step.migrated) << step.unit << ": " << step.verdict.failure;
  }
  const std::vector<int32_t> expected = toy().greedy(kToyPrompt, kToyTokens);
  EXPECT_EQ(migration.source_tokens, expected);
  EXPECT_EQ(migration.target_tokens, expected);
}

TEST(OtherModels, ARecurrentModelMigrates) {
  const auto session = testing::open_session("opencl");
  ASSERT_TRUE(session);
  expect_migrated(migrate_toy("opencl", *session));
}

TEST(OtherModels, ARecurrentModelMigratesToARemoteDevice) {
  testing::MemoryServer server(testing::open_device("cpu"));
  const auto session = server.connect();
  ASSERT_TRUE(session);
  expect_migrated(migrate_toy("cpu", *session));
}

// A kernel that does not update the slot is named, though each call alone has correct inputs.
TEST(OtherModels, AWrongStateKernelIsFound) {
  const auto from = testing::open_session("cpu"), session = testing::open_session("cpu");
  MigrateOptions options;
  options.max_tokens = 2;
  options.validation_tokens = 2;
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  MigrationTarget to{.platform = {target::parse_target("cpu"), session.get(), {}}};
  const Migration plain = migrate(toy().module, toy().weights, kToyPrompt, source, to, options);
  const auto update = std::ranges::find_if(plain.steps, [](const MigrationStep& step) {
    return step.verdict.kernel.find("scatter_nd") != std::string::npos;
  });
  ASSERT_NE(update, plain.steps.end());
  to.fault = update->verdict.kernel + ":off-by-one";
  const Migration wrong = migrate(toy().module, toy().weights, kToyPrompt, source, to, options);
  ASSERT_EQ(wrong.culprits().size(), 1U);
  EXPECT_EQ(wrong.culprits()[0]->verdict.kernel, update->verdict.kernel);
}

// The encoder's kernels are carved and migrated like all others.
TEST(OtherModels, AnEncoderDecoderMigrates) {
  const testing::ToyModel model = testing::toy_encoder_decoder(5);
  const HostTensor features = testing::toy_features(11);
  const auto from = testing::open_session("cpu"), session = testing::open_session("opencl");
  ASSERT_TRUE(session);
  MigrateOptions options;
  options.max_tokens = kToyTokens;
  options.validation_tokens = 3;
  options.inputs.features = features;
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const MigrationTarget to{.platform = {target::parse_target("opencl"), session.get(), {}}};
  const Migration migration = migrate(model.module, model.weights, kToyPrompt, source, to, options);
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_TRUE(migration.target_ran);
  const std::vector<int32_t> expected = model.greedy(kToyPrompt, kToyTokens, features);
  EXPECT_EQ(migration.source_tokens, expected);
  EXPECT_EQ(migration.target_tokens, expected);

  // Without features the model cannot run.
  options.inputs = {};
  testing::expect_user_error(
      [&] { migrate(model.module, model.weights, kToyPrompt, source, to, options); },
      {"needs features"});
}

// Pages that leave the window are used again in the source's run, in the hybrids and on the target;
// the reference keeps all.
TEST(OtherModels, ADecoderWithAWindowMigrates) {
  const testing::ToyDecoder model = testing::toy_decoder(9, 6);
  const std::vector<int32_t> prompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
  const auto from = testing::open_session("cpu"), session = testing::open_session("opencl");
  ASSERT_TRUE(session);
  MigrateOptions options;
  options.max_tokens = 12;
  options.validation_tokens = 6;
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const MigrationTarget to{.platform = {target::parse_target("opencl"), session.get(), {}}};
  const Migration migration = migrate(model.module, model.weights, prompt, source, to, options);
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_TRUE(migration.target_ran);
  const std::vector<int32_t> expected = model.greedy(prompt, options.max_tokens);
  EXPECT_EQ(migration.source_tokens, expected);
  EXPECT_EQ(migration.target_tokens, expected);
}

// Embeddings are part of the source's run, of the hybrids, of the reference and of a remote target.
TEST(OtherModels, ADecoderWithEmbeddingsMigratesToARemoteDevice) {
  const testing::ToyDecoder model = testing::toy_decoder(11, 0, true);
  const llm::PlacedEmbeddings placed = testing::toy_embeddings(12, {1, 2, 4});
  const auto from = testing::open_session("cpu");
  testing::MemoryServer server(testing::open_device("cpu"));
  const auto session = server.connect();
  ASSERT_TRUE(session);
  MigrateOptions options;
  options.max_tokens = kToyTokens;
  options.validation_tokens = 3;
  options.cache = &kernel_cache();
  options.inputs.embeddings = placed;
  const Platform source{target::parse_target("cpu"), from.get(), {}};
  const MigrationTarget to{.platform = {target::parse_target("cpu"), session.get(), {}}};
  const Migration migration = migrate(model.module, model.weights, kToyPrompt, source, to, options);
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_TRUE(migration.target_ran);
  const std::vector<int32_t> expected = model.greedy(kToyPrompt, kToyTokens, placed);
  EXPECT_NE(expected, model.greedy(kToyPrompt, kToyTokens));
  EXPECT_EQ(migration.source_tokens, expected);
  EXPECT_EQ(migration.target_tokens, expected);
  // Without any, the reference evaluates the tokens' own embeddings, as the engine does.
  options.inputs = {};
  const Migration plain = migrate(model.module, model.weights, kToyPrompt, source, to, options);
  EXPECT_TRUE(plain.passed());
  EXPECT_EQ(plain.target_tokens, model.greedy(kToyPrompt, kToyTokens));
}

}  // namespace
}  // namespace tapml::topdown
