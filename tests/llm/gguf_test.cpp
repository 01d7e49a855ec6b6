// GGUF models whose weights stay quantized, compiled: the logits of their dequantized values.
#include <gtest/gtest.h>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "runtime/tensor.h"
#include "support/golden_models.h"
#include "support/sessions.h"

namespace tapml {
namespace {

// Layouts with and without minimums, of both widths, with groups of 16 and 32.
TEST(QuantizedGguf, HasTheLogitsOfItsValues) {
  for (const char* name : {"llama_blocks", "llama_k_quants"}) {
    SCOPED_TRACE(name);
    const std::string folder = testing::golden_path("gguf/" + std::string(name));
    const auto golden = testing::read_tensors(folder + "/golden.safetensors");
    const frontend::HuggingFaceModel model = frontend::read_model(folder + "/model.gguf");
    EXPECT_FALSE(model.layouts.empty());
    const HostTensor& expected = golden.at("logits");
    const auto tokens = golden.at("tokens").values<int32_t>();
    const auto session = testing::open_session("cpu");
    const auto executable = pipeline::compile(model.module, target::parse_target("cpu"));
    const auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
    const HostTensor all = unwrap(engine->logits_all(tokens));
    EXPECT_LE(testing::largest_difference(all, expected), testing::logit_tolerance(expected));
    // The last token by itself: products of one row have loops of their own.
    engine->reset();
    const int64_t vocabulary = expected.shape()[1];
    unwrap(engine->prefill(tokens.first(tokens.size() - 1)));
    const HostTensor last = unwrap(runtime::download(unwrap(engine->decode(tokens.back()))));
    EXPECT_LE(testing::largest_difference(last, expected, expected.size() - vocabulary),
              testing::logit_tolerance(expected));
  }
}

}  // namespace
}  // namespace tapml
