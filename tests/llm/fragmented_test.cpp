// A fragmented cache changes nothing but what a kernel must not depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "llm/engine.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"
#include "support/sessions.h"

namespace tapml::llm {
namespace {

// The page tables and pools that attention sees.
class CacheWatcher : public runtime::Observer {
 public:
  bool wants(const runtime::CallSite& site, int64_t) noexcept override {
    return site.kernel->name.starts_with("paged_attention");
  }
  Status before(const runtime::KernelCall& call) noexcept override {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto& argument = call.args[i];
      auto host = runtime::download(argument);
      if (!host) return fail(host.error());
      if (host->dtype() == DType::kI32 && host->shape().size() == 2) tables.push_back(*host);
      // The queries have a text and not a page first.
      const bool pool = host->shape().size() == 4 && host->shape()[0] > 1;
      if (host->dtype() == DType::kF32 && pool) pools.push_back(*host);
    }
    return {};
  }
  Status after(const runtime::KernelCall&) noexcept override { return {}; }

  std::vector<HostTensor> tables, pools;
};

std::vector<int32_t> long_prompt() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 40; ++i) tokens.push_back(i * 7 % 61);
  return tokens;
}

// Logits of a prompt of three pages and two more tokens, twice: the second text uses the first
// one's pages again.
std::vector<HostTensor> logits(Engine& engine) {
  std::vector<HostTensor> all;
  for (int run = 0; run < 2; ++run) {
    engine.reset();
    all.push_back(unwrap(runtime::download(unwrap(engine.prefill(long_prompt())))));
    for (int32_t token : {9, 2}) {
      all.push_back(unwrap(runtime::download(unwrap(engine.decode(token)))));
    }
  }
  return all;
}

class Fragmented : public ::testing::TestWithParam<const char*> {};

TEST_P(Fragmented, GivesTheSameLogitsAndHidesNothing) {
  // Mesa takes seconds to compile a kernel, and one layer has half as many.
  const bool slow = std::string_view(GetParam()) == "vulkan";
  const testing::CompiledModel* model =
      testing::compiled_model(GetParam(), slow ? "one_layer" : "mqa_tied");
  ASSERT_TRUE(model) << GetParam() << " is unavailable";
  auto plain = model->engine();
  auto fragmented = model->engine({.fragmented = true});
  CacheWatcher watcher;
  fragmented->local_vm().call_point().set_observer(&watcher);
  const std::vector<HostTensor> found = logits(*fragmented);
  fragmented->local_vm().call_point().set_observer(nullptr);
  const std::vector<HostTensor> expected = logits(*plain);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    // A column more in the page table may split sums at other places.
    for (int64_t v = 0; v < found[i].size(); ++v) {
      ASSERT_NEAR(found[i].at_f64(v), expected[i].at_f64(v), 1e-5) << "step " << i;
    }
  }
  ASSERT_FALSE(watcher.tables.empty());
  const HostTensor& table = watcher.tables.back();
  const auto pages = table.values<int32_t>();
  ASSERT_EQ(pages.size(), 4u) << "three pages, and a column behind them";
  EXPECT_FALSE(pages[0] == 0 && pages[1] == 1 && pages[2] == 2);
  ASSERT_FALSE(watcher.pools.empty());
  // Unused rows are NaN, those of a free page in the last column among them.
  for (const HostTensor& pool : watcher.pools) {
    const int64_t row = pool.size() / (pool.shape()[0] * pool.shape()[1]);
    const int64_t size = pool.shape()[1];
    EXPECT_TRUE(std::isnan(pool.at_f64(pages[3] * size * row)));
    const int64_t last = pages[2] * size + size - 1;
    EXPECT_TRUE(std::isnan(pool.at_f64(last * row)));
  }
}

// NaN in unused rows does not hide where others come from.
TEST(FragmentedCache, TheOriginOfNaNIsFound) {
  const testing::CompiledModel& model = *testing::compiled_model("cpu", "mqa_tied");
  std::map<std::string, HostTensor> weights = model.golden.model.weights;
  HostTensor& norm = weights.at("model.norm.weight");
  HostTensor wrong = HostTensor::zeros(norm.dtype(), norm.shape());
  wrong.set_f64(3, std::nan(""));
  norm = wrong;
  auto session = testing::open_session("cpu");
  auto engine = unwrap(Engine::create(*session, model.executable, weights, {.fragmented = true}));
  auto made = engine->generate(long_prompt(), {.max_tokens = 4});
  ASSERT_FALSE(made);
  testing::expect_parts(made.error(), {"rms_norm", "model.norm"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Fragmented, ::testing::Values("cpu", "opencl", "vulkan"));

}  // namespace
}  // namespace tapml::llm
