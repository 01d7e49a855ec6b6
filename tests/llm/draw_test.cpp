// The model's own `draw`: the host sampler's tokens, bit for bit, on every platform with f64.
#include "models/draw.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "base/rng.h"
#include "build/block_builder.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using llm::SamplerOptions;
using runtime::Value;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows of logits, each with its own options and generator.
struct Rows {
  HostTensor logits, parameters, states;
  std::vector<SamplerOptions> options;
};

// Rows with ties, extreme outliers, excluded tokens, sums that underflow, and edge values of every
// option.
Rows random_rows(int64_t count, int64_t vocabulary, uint64_t seed) {
  RandomStream rng(seed, "draw rows");
  Rows rows{HostTensor::zeros(DType::kF32, {count, vocabulary}),
            HostTensor::zeros(DType::kF64, {count, 3}),
            HostTensor::zeros(DType::kI64, {count, 2}),
            {}};
  auto values = rows.logits.mutable_values<float>();
  auto states = rows.states.mutable_values<int64_t>();
  const std::vector<double> temperatures = {1, 0.8, 0.1, 3, 1e-3, 1e6, 1e-30, 0.37};
  const std::vector<double> top_ps = {1, 0.95, 0.5, 1e-9, 0.999999999999, 0.123};
  const std::vector<int64_t> top_ks = {0, 1, 2, 40, vocabulary, vocabulary + 7, int64_t{1} << 40};
  auto pick = [&](const auto& list) { return list[rng.below(static_cast<uint32_t>(list.size()))]; };
  for (int64_t i = 0; i < count; ++i) {
    const double scale = pick(std::vector<double>{0, 1, 8, 30, 1000, 1e-6});
    const bool coarse = rng.chance(0.4), masked = rng.chance(0.3);
    for (int64_t j = 0; j < vocabulary; ++j) {
      double value = scale * (2 * rng.unit() - 1);
      if (coarse) value = std::nearbyint(value * 4) / 4;
      if (masked && rng.chance(0.5)) value = -INFINITY;
      if (rng.chance(0.05)) value = rng.chance(0.5) ? 0.0 : -0.0;
      values[static_cast<size_t>(i * vocabulary + j)] = static_cast<float>(value);
    }
    // At least one token is possible.
    values[static_cast<size_t>(i * vocabulary) + rng.below(static_cast<uint32_t>(vocabulary))] = 1;
    const SamplerOptions options{.temperature = pick(temperatures),
                                 .top_p = pick(top_ps),
                                 .top_k = pick(top_ks),
                                 .seed = seed + static_cast<uint64_t>(i)};
    const HostTensor parameters = llm::draw_parameters(options, 1);
    for (int64_t p = 0; p < 3; ++p) rows.parameters.set_f64(3 * i + p, parameters.at_f64(p));
    const HostTensor state = llm::sampler_state(options);
    states[static_cast<size_t>(2 * i)] = state.values<int64_t>()[0];
    // Even and odd draws, and counters beyond 32 and 62 bits.
    states[static_cast<size_t>(2 * i + 1)] =
        pick(std::vector<int64_t>{0, 1, 2, 77, (int64_t{1} << 33) + 5, (int64_t{1} << 62) + 3});
    rows.options.push_back(options);
  }
  return rows;
}

constexpr int64_t kVocabulary = 409;

// Only the function.
class Draw : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    session_ = testing::open_session(GetParam());
    if (!session_) GTEST_SKIP() << GetParam() << " is unavailable";
    Module module;
    models::add_draw(module, kVocabulary);
    analysis::verify(module);
    build::check_annotations(module);
    vm_ = unwrap(session_->open_vm(pipeline::compile(module, target::parse_target(GetParam()))));
  }

  // Tokens and states.
  std::pair<HostTensor, HostTensor> call(const Rows& rows) {
    std::vector<Value> args;
    for (const HostTensor* arg : {&rows.logits, &rows.parameters, &rows.states}) {
      args.emplace_back(unwrap(runtime::upload(*session_, *arg)));
    }
    Value result = unwrap(vm_->call("draw", args));
    const runtime::ValueList& fields = *result.tuple();
    return {unwrap(runtime::download(*fields.at(0).tensor())),
            unwrap(runtime::download(*fields.at(1).tensor()))};
  }

  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
};

TEST_P(Draw, EqualsTheHostSamplerBitForBit) {
  std::set<int32_t> drawn;
  for (uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const Rows rows = random_rows(96, kVocabulary, 1000 * seed);
    const auto [tokens, states] = call(rows);
    for (size_t i = 0; i < rows.options.size(); ++i) {
      HostTensor state = llm::sampler_state(rows.options[i]);
      state.mutable_values<int64_t>()[1] = rows.states.values<int64_t>()[2 * i + 1];
      const auto width = static_cast<size_t>(kVocabulary);
      const int32_t token = unwrap(llm::sample_token(
          rows.logits.values<float>().subspan(i * width, width), rows.options[i], state));
      EXPECT_EQ(tokens.values<int32_t>()[i], token) << "seed " << seed << ", row " << i;
      EXPECT_EQ(states.values<int64_t>()[2 * i], state.values<int64_t>()[0]);
      EXPECT_EQ(states.values<int64_t>()[2 * i + 1], state.values<int64_t>()[1]);
      drawn.insert(token);
    }
  }
  EXPECT_GT(drawn.size(), 40u);
}

TEST_P(Draw, WithoutATokenIsMinusOne) {
  Rows rows = random_rows(4, kVocabulary, 9);
  const auto width = static_cast<size_t>(kVocabulary);
  auto values = rows.logits.mutable_values<float>();
  values[3] = NAN;
  values[width + 7] = kInfinity;
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(2 * width),
            values.begin() + static_cast<std::ptrdiff_t>(3 * width), -kInfinity);
  const auto [tokens, states] = call(rows);
  for (size_t i : {0, 1, 2}) {
    EXPECT_EQ(tokens.values<int32_t>()[i], -1);
    EXPECT_EQ(states.values<int64_t>()[2 * i + 1], rows.states.values<int64_t>()[2 * i + 1]);
  }
  EXPECT_GE(tokens.values<int32_t>()[3], 0);
  EXPECT_EQ(states.values<int64_t>()[7], rows.states.values<int64_t>()[7] + 1);
}

INSTANTIATE_TEST_SUITE_P(Platforms, Draw, ::testing::Values("cpu", "opencl", "vulkan", "wasm"),
                         [](const auto& info) { return std::string(info.param); });

// Counts how often kernels of a name are called.
struct Counter : runtime::Observer {
  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall& call) noexcept override {
    calls += call.site.kernel->name.starts_with("draw_token");
    return {};
  }
  Status after(const runtime::KernelCall&) noexcept override { return {}; }
  int calls = 0;
};

struct Text {
  std::vector<int32_t> tokens;
  int draws;
};

Text continued(llm::Engine& engine, std::span<const int32_t> prompt) {
  Counter counter;
  engine.local_vm().call_point().set_observer(&counter);
  llm::GenerateOptions options{
      .max_tokens = 12, .eos = {}, .sampler = {.temperature = 1.5, .top_p = 0.9, .seed = 3}};
  auto tokens = unwrap(engine.generate(prompt, options)).tokens;
  engine.local_vm().call_point().set_observer(nullptr);
  return {std::move(tokens), counter.calls};
}

class DrawingEngine : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam(), "one_layer");
    if (!model_) GTEST_SKIP() << GetParam() << " is unavailable";
  }
  const testing::CompiledModel* model_ = nullptr;
};

TEST_P(DrawingEngine, WithoutDrawSamplesTheSameOnTheHost) {
  const auto prompt = model_->golden.reference.at("tokens").values<int32_t>().first(6);
  auto engine = model_->engine();
  const Text text = continued(*engine, prompt);
  EXPECT_EQ(text.draws, 12);
  // An executable of an older version.
  auto older = std::make_shared<Executable>(*model_->executable);
  std::erase_if(older->functions, [](const auto& f) { return f.name == "draw"; });
  auto without = unwrap(llm::Engine::create(*model_->session, older, model_->golden.model.weights));
  const Text same = continued(*without, prompt);
  EXPECT_EQ(same.draws, 0);
  EXPECT_EQ(same.tokens, text.tokens);
}

TEST_P(DrawingEngine, BatchesDrawEachTextIndependently) {
  auto engine = model_->engine();
  const auto tokens = model_->golden.reference.at("tokens").values<int32_t>();
  const std::vector<std::vector<int32_t>> prompts = {
      {tokens.begin(), tokens.begin() + 5}, {tokens.begin(), tokens.begin() + 5}, {tokens[0]}};
  // Texts that end at different steps.
  llm::GenerateOptions options{
      .max_tokens = 12, .eos = {}, .sampler = {.temperature = 4, .top_k = 30, .seed = 11}};
  for (int32_t token = 0; token < engine->model().vocabulary; token += 9)
    options.eos.push_back(token);
  const auto texts = unwrap(engine->generate_batch(prompts, options));
  std::set<size_t> lengths;
  for (size_t i = 0; i < prompts.size(); ++i) {
    llm::GenerateOptions own = options;
    own.sampler.seed += i;
    EXPECT_EQ(texts[i].tokens, unwrap(engine->generate(prompts[i], own)).tokens) << i;
    lengths.insert(texts[i].tokens.size());
  }
  EXPECT_GT(lengths.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Platforms, DrawingEngine, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST(OptionalDraw, IsLeftOutWithoutF64) {
  auto session = testing::open_session("opencl");
  if (!session) GTEST_SKIP() << "OpenCL is unavailable";
  const testing::GoldenModel golden = testing::golden_model("one_layer");
  std::vector<pipeline::OmittedFunction> omitted;
  pipeline::ImplementOptions options;
  options.omitted_functions = &omitted;
  auto executable = pipeline::compile(
      golden.model.module, target::parse_target("opencl:for=adreno-740,subgroups=0"), options);
  ASSERT_EQ(omitted.size(), 1u);
  EXPECT_EQ(omitted[0].function, "draw");
  EXPECT_NE(omitted[0].reason.find("draw_token"), std::string::npos);
  EXPECT_NE(omitted[0].reason.find("f64"), std::string::npos);
  EXPECT_EQ(executable->find_function("draw"), nullptr);
  EXPECT_NE(executable->find_function("sample"), nullptr);
  for (const KernelInfo& kernel : executable->kernels) {
    EXPECT_FALSE(kernel.name.starts_with("draw_token"));
  }
  auto engine = unwrap(llm::Engine::create(*session, executable, golden.model.weights));
  const auto prompt = golden.reference.at("tokens").values<int32_t>().first(6);
  const Text text = continued(*engine, prompt);
  EXPECT_EQ(text.draws, 0);
  EXPECT_EQ(text.tokens,
            continued(*testing::compiled_model("cpu", "one_layer")->engine(), prompt).tokens);
}

}  // namespace
}  // namespace tapml
