// The profiler observes without changing anything, and counts calls and work.
#include "topdown/profile/profile.h"

#include <gtest/gtest.h>

#include "support/compiled_models.h"

namespace tapml::topdown {
namespace {

llm::Generation generate(llm::Engine& engine) {
  llm::GenerateOptions options;
  options.max_tokens = 5;
  return unwrap(engine.generate(std::vector<int32_t>{1, 17, 300}, options));
}

TEST(Profile, CountsEveryCallAndItsWork) {
  const testing::CompiledModel* model = testing::compiled_model("cpu", "demo");
  ASSERT_NE(model, nullptr);
  auto engine = model->engine();
  llm::Generation alone = generate(*engine);

  Profiler profiler(*model->executable);
  runtime::CallPoint& calls = engine->local_vm().call_point();
  int64_t before = calls.calls();
  unwrap(engine->vm().set_timing(&profiler));
  EXPECT_EQ(generate(*engine).tokens, alone.tokens);
  unwrap(engine->vm().set_timing(nullptr));

  int64_t counted = 0;
  double seconds = 0, flops = 0;
  for (const KernelProfile& kernel : profiler.kernels()) {
    counted += kernel.calls;
    seconds += kernel.seconds;
    flops += kernel.work.flops;
    EXPECT_GT(kernel.work.bytes, 0) << kernel.name;
    EXPECT_GT(kernel.seconds, 0) << kernel.name;
  }
  EXPECT_EQ(counted, calls.calls() - before);
  EXPECT_DOUBLE_EQ(seconds, profiler.seconds());
  // Two operations per weight for each of the 3 + 4 tokens, for every weight except the embedding;
  // the head runs only for the last token of the prompt.
  double weights = 0;
  for (const auto& [name, tensor] : model->golden.model.weights) {
    bool matrix = tensor.shape().size() == 2 && name != "model.embed_tokens.weight";
    if (matrix && name != "lm_head.weight") weights += static_cast<double>(tensor.size());
  }
  EXPECT_GE(flops, 2 * 7 * weights);
  EXPECT_LE(flops, 2 * 7 * weights * 1.6);

  Json trace = unwrap(parse_json(chrome_trace({profiler.calls()}).dump(), "trace"));
  std::vector<Json> events = trace.find("traceEvents")->items();
  std::erase_if(events, [](const Json& event) { return event.find("ph")->as_string() == "M"; });
  EXPECT_EQ(static_cast<int64_t>(events.size()), counted);
  double last = -1;
  for (const Json& event : events) {
    EXPECT_GE(event.find("ts")->as_double(), last);
    last = event.find("ts")->as_double();
  }
}

TEST(Profile, ShareRefersToTheNearerCeiling) {
  KernelProfile kernel;
  kernel.seconds = 2;
  kernel.work.flops = 10;
  kernel.work.bytes = 30;
  EXPECT_DOUBLE_EQ(kernel.share({.flops_per_s = 10, .bytes_per_s = 100}), 0.5);
  EXPECT_DOUBLE_EQ(kernel.share({.flops_per_s = 100, .bytes_per_s = 20}), 0.75);
  kernel.work.exact = false;
  EXPECT_EQ(kernel.share({.flops_per_s = 100, .bytes_per_s = 20}), 0);
}

TEST(Profile, CeilingsAreMeasuredOnEveryPlatform) {
  for (const char* platform : {"cpu", "opencl", "vulkan", "wasm"}) {
    auto session = testing::open_session(platform);
    if (!session) continue;
    Ceilings ceilings = measure_ceilings(*session, target::parse_target(platform));
    EXPECT_GT(ceilings.flops_per_s, 1e8) << platform;
    EXPECT_GT(ceilings.bytes_per_s, 1e8) << platform;
  }
}

}  // namespace
}  // namespace tapml::topdown
