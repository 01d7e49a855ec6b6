// Compiled encoders on every platform of this machine against PyTorch.
#include <gtest/gtest.h>

#include <cstdlib>

#include "llm/embedder.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/golden_encoders.h"
#include "support/sessions.h"

namespace tapml {
namespace {

using models::PoolingConfig;

// Platform and configuration.
using EmbeddingCase = std::pair<std::string, std::string>;

class EmbeddingGolden : public ::testing::TestWithParam<EmbeddingCase> {};

TEST_P(EmbeddingGolden, TogetherAndAlone) {
  const auto& [platform, name] = GetParam();
  const auto session = testing::open_session(platform);
  if (!session) GTEST_SKIP() << platform << " is unavailable";
  const PoolingConfig pooling;
  const testing::GoldenModel golden = testing::golden_encoder(name, pooling);
  const HostTensor expected = testing::expected_embeddings(golden, pooling);
  const auto executable = pipeline::compile(golden.model.module, target::parse_target(platform));
  for (const int64_t batch_tokens : {2048, 1}) {
    auto vm = runtime::LocalVirtualMachine::create(*session, executable);
    ASSERT_TRUE(vm) << vm.error().to_string();
    auto embedder =
        llm::Embedder::create(std::move(*vm), golden.model.weights, {.batch_tokens = batch_tokens});
    ASSERT_TRUE(embedder) << embedder.error().to_string();
    const auto vectors = (*embedder)->embed(testing::golden_texts(golden));
    ASSERT_TRUE(vectors) << vectors.error().to_string();
    ASSERT_EQ(vectors->shape(), expected.shape());
    EXPECT_LE(testing::largest_difference(*vectors, expected), testing::logit_tolerance(expected));
  }
}

// All configurations on the cpu, one with OpenCL; on all platforms for `make test-models`.
std::vector<EmbeddingCase> cases() {
  std::vector<EmbeddingCase> all;
  const bool everywhere = std::getenv("TAPML_TEST_ALL_MODELS") != nullptr;
  for (const std::string& name : testing::golden_encoders()) {
    all.emplace_back("cpu", name);
    if (everywhere || name == "modernbert_biased") all.emplace_back("opencl", name);
    if (everywhere) all.emplace_back("vulkan", name);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Platforms, EmbeddingGolden, ::testing::ValuesIn(cases()),
                         [](const auto& info) {
                           return info.param.first + "_" + info.param.second;
                         });

}  // namespace
}  // namespace tapml
