// The engine around the model: pages, checks, stops. The null device suffices, where kernels
// compute nothing.
#include "llm/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml::llm {
namespace {

using testing::CompiledModel;
using Tokens = std::vector<int32_t>;

const CompiledModel& small_model() { return *testing::compiled_model("null", "mqa_tied"); }

template <class T>
void expect_refused(const Result<T>& result, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result) << "expected an error about " << parts[0];
  EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
  testing::expect_parts(result.error(), parts);
}

TEST(Engine, ShapesAndLength) {
  auto engine = small_model().engine();
  EXPECT_EQ(engine->capacity(), 128);
  EXPECT_EQ(engine->model().vocabulary, 409);
  EXPECT_EQ(engine->length(), 0);
  auto logits = engine->prefill(Tokens{1, 2, 3});
  ASSERT_TRUE(logits) << logits.error().to_string();
  EXPECT_EQ(logits->shape, (Shape{1, 409}));
  EXPECT_EQ(logits->dtype, DType::kF32);
  EXPECT_EQ(engine->length(), 3);
  logits = engine->decode(4);
  ASSERT_TRUE(logits) << logits.error().to_string();
  EXPECT_EQ(logits->shape, (Shape{1, 409}));
  EXPECT_EQ(engine->length(), 4);
  auto all = engine->logits_all(Tokens{5, 6, 7, 8, 9});
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->shape(), (Shape{5, 409}));
  EXPECT_EQ(engine->length(), 9);
  engine->reset();
  EXPECT_EQ(engine->length(), 0);
}

TEST(Engine, RefusesTokensThatDoNotFit) {
  auto engine = small_model().engine();
  expect_refused(engine->prefill(Tokens{}), {"the prompt is empty"});
  expect_refused(engine->prefill(Tokens{0, 409}), {"token 1", "from 0 to 408", "409"});
  expect_refused(engine->prefill(Tokens{-1}), {"token 0", "-1"});
  expect_refused(engine->logits_all(Tokens(129, 1)),
                 {"longer than the model's context", "at most 128 tokens", "129 tokens"});
  EXPECT_EQ(engine->length(), 0);
  ASSERT_TRUE(engine->prefill(Tokens(128, 1)));
  expect_refused(engine->decode(1), {"at most 128 tokens", "1 tokens after 128"});
  GenerateOptions options;
  expect_refused(engine->generate(Tokens{}, options), {"the prompt is empty"});
  expect_refused(engine->generate(Tokens(200, 1), options), {"200 tokens"});
  options.max_tokens = -1;
  expect_refused(engine->generate(Tokens{1}, options), {"negative", "-1"});
  options = {};
  options.sampler.temperature = -1;
  expect_refused(engine->generate(Tokens{1}, options), {"temperature", "-1"});
}

TEST(Engine, CapacityBoundsTheCache) {
  auto engine = small_model().engine({.capacity = 20});
  EXPECT_EQ(engine->capacity(), 20);
  expect_refused(engine->prefill(Tokens(21, 1)), {"longer than the cache", "at most 20 tokens"});
  ASSERT_TRUE(engine->prefill(Tokens(20, 1)));
  // All pages are free again after a reset.
  engine->reset();
  ASSERT_TRUE(engine->prefill(Tokens(20, 1)));
}

TEST(Engine, RefusesOptionsAndModels) {
  const CompiledModel& model = small_model();
  auto create = [&](std::shared_ptr<const Executable> executable,
                    const std::map<std::string, HostTensor>& weights,
                    const EngineOptions& options) {
    return Engine::create(*model.session, std::move(executable), weights, options);
  };
  const auto& weights = model.golden.model.weights;
  expect_refused(create(model.executable, weights, {.capacity = 129}), {"capacity", "129"});
  expect_refused(create(model.executable, weights, {.capacity = -1}), {"capacity", "-1"});
  expect_refused(create(model.executable, weights, {.prefill_chunk = 0}), {"prefill_chunk"});
  expect_refused(create(model.executable, weights, {.first_capacity = 0}), {"first_capacity"});
  auto fewer = weights;
  fewer.erase("model.norm.weight");
  expect_refused(create(model.executable, fewer, {}), {"model.norm.weight is missing"});
  auto nameless = std::make_shared<Executable>(*model.executable);
  nameless->model = {};
  expect_refused(create(nameless, weights, {}), {"not a language model"});
  auto without_sample = std::make_shared<Executable>(*model.executable);
  std::erase_if(without_sample->functions, [](const auto& f) { return f.name == "sample"; });
  expect_refused(create(without_sample, weights, {}), {"lacks a function", "sample"});
}

TEST(Engine, AdoptedWeightsGiveTheSameLogits) {
  const CompiledModel& model = *testing::compiled_model("cpu", "mqa_tied");
  // Laid out as in a file: contiguous, some of them not aligned for their elements.
  auto file = std::make_shared<std::vector<std::byte>>();
  std::vector<size_t> offsets;
  for (const auto& [name, weight] : model.golden.model.weights) {
    offsets.push_back(file->size() + (offsets.size() % 5 == 4 ? 1 : 0));
    file->resize((offsets.back() + weight.byte_size() + 7) / 8 * 8);
    std::ranges::copy(weight.bytes(), file->begin() + static_cast<std::ptrdiff_t>(offsets.back()));
  }
  file->resize(file->size() + 4096);
  std::map<std::string, HostTensor> mapped;
  for (size_t i = 0; const auto& [name, weight] : model.golden.model.weights) {
    mapped[name] =
        HostTensor::view(weight.dtype(), weight.shape(), file->data() + offsets[i++], file);
  }
  const auto count = static_cast<int64_t>(mapped.size());
  auto logits = [&](bool in_place, int64_t& held) {
    auto engine =
        Engine::create(*model.session, model.executable, mapped, {.weights_in_place = in_place});
    EXPECT_TRUE(engine) << engine.error().to_string();
    held = file.use_count() - 1 - count;
    auto all = (*engine)->logits_all(Tokens{5, 6, 7, 8, 9});
    EXPECT_TRUE(all);
    return content_hash(*all);
  };
  int64_t copied = 0, shared = 0;
  EXPECT_EQ(logits(false, copied), logits(true, shared));
  EXPECT_EQ(copied, 0);
  EXPECT_GE(shared, count / 2) << "of " << count;
  EXPECT_LE(shared, count - count / 5) << "those that are not aligned are copied";
  EXPECT_EQ(file.use_count(), 1 + count) << "nothing keeps the file after the engine";
}

TEST(Engine, WeightsOfAnotherShapeAreNamed) {
  const CompiledModel& model = small_model();
  auto weights = model.golden.model.weights;
  weights["model.norm.weight"] = HostTensor::zeros(DType::kF16, {81});
  // If the executable prepares weights, already at load.
  auto engine = Engine::create(*model.session, model.executable, weights);
  if (model.executable->find_function("prepare")) {
    return expect_refused(std::move(engine), {"model.norm.weight", "80", "81"});
  }
  ASSERT_TRUE(engine);
  expect_refused((*engine)->prefill(Tokens{1}), {"model.norm.weight", "80", "81"});
}

}  // namespace
}  // namespace tapml::llm
