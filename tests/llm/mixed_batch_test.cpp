// Texts of different lengths in one call, for tests of kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "llm/engine.h"
#include "llm/made_logits.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"

namespace tapml::llm {
namespace {

bool is_finite(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (!std::isfinite(tensor.at_f64(i))) return false;
  }
  return true;
}

// The page tables, lengths and results of attention, and the shapes that `sample` chooses from.
class Watcher : public runtime::Observer {
 public:
  struct Call {
    HostTensor table, lengths;
    bool finite = true;
  };

  bool wants(const runtime::CallSite& site, int64_t) noexcept override {
    kernel_ = site.kernel->name;
    return kernel_.starts_with("paged_attention") || kernel_.starts_with("argmax");
  }
  Status before(const runtime::KernelCall& call) noexcept override {
    if (kernel_.starts_with("argmax")) {
      chosen_rows.push_back(call.args[0].shape[0]);
      return {};
    }
    Call seen;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.args[i].dtype != DType::kI32) continue;
      auto host = runtime::download(call.args[i]);
      if (!host) return fail(host.error());
      (host->shape().size() == 2 ? seen.table : seen.lengths) = *host;
    }
    calls.push_back(std::move(seen));
    return {};
  }
  Status after(const runtime::KernelCall& call) noexcept override {
    if (kernel_.starts_with("argmax")) return {};
    auto host = runtime::download(call.args[call.args.size() - 1]);
    if (!host) return fail(host.error());
    calls.back().finite = is_finite(*host);
    return {};
  }

  std::vector<Call> calls;
  std::vector<int64_t> chosen_rows;

 private:
  std::string kernel_;
};

std::vector<int32_t> values(const HostTensor& tensor) {
  const auto all = tensor.values<int32_t>();
  return {all.begin(), all.end()};
}

class MixedBatch : public ::testing::TestWithParam<const char*> {};

TEST_P(MixedBatch, HasTextsOfAllLengthsAndNoRowWithoutAToken) {
  const testing::CompiledModel* model = testing::compiled_model(GetParam(), "mqa_tied");
  ASSERT_TRUE(model) << GetParam() << " is unavailable";
  auto engine = model->engine({.fragmented = true});
  const auto page = static_cast<int32_t>(engine->model().page_size);
  const auto context = static_cast<int32_t>(engine->model().context);
  ASSERT_GT(context, 4 * page);
  const std::vector<int32_t> prompt = {3, 1, 4, 1, 5};
  const HostTensor before = unwrap(runtime::download(unwrap(engine->prefill(prompt))));
  Watcher watcher;
  engine->local_vm().call_point().set_observer(&watcher);
  const Status ran = engine->run_mixed_batch();
  engine->local_vm().call_point().set_observer(nullptr);
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_EQ(engine->length(), 0);

  ASSERT_FALSE(watcher.calls.empty());
  for (const Watcher::Call& call : watcher.calls) EXPECT_TRUE(call.finite);
  // The lengths before the call, by the function's number of new tokens or with them.
  const Watcher::Call &prefill = watcher.calls.front(), &decode = watcher.calls.back();
  ASSERT_EQ(prefill.lengths.size(), 3);
  ASSERT_EQ(decode.lengths.size(), 4);
  EXPECT_EQ(values(prefill.lengths), (std::vector<int32_t>{5, 2 * page, page - 1}));
  EXPECT_EQ(values(decode.lengths), (std::vector<int32_t>{8, 2 * page + 3, page + 2, context - 1}));
  // The long text's last page is named once, and the others often.
  const int64_t columns = decode.table.shape()[1], last = 3 * columns + (context - 1) / page;
  const std::vector<int32_t> table = values(decode.table);
  const std::vector<int32_t> own(table.begin() + 3 * columns, table.begin() + last);
  EXPECT_EQ(std::ranges::count(own, table[static_cast<size_t>(last)]), 0);
  EXPECT_LE(std::set(own.begin(), own.end()).size(), 8u);
  EXPECT_GE(std::set(own.begin(), own.end()).size(), 2u);
  EXPECT_EQ(watcher.chosen_rows, (std::vector<int64_t>{4, 8}));

  // The engine goes on as before.
  const HostTensor again = unwrap(runtime::download(unwrap(engine->prefill(prompt))));
  EXPECT_EQ(content_hash(again), content_hash(before));
}

INSTANTIATE_TEST_SUITE_P(Platforms, MixedBatch, ::testing::Values("cpu", "opencl"));

TEST(MixedBatchTexts, FitSmallContextsAndWindows) {
  auto session = testing::open_session("cpu");
  for (const int64_t window : {0, 5, 40}) {
    const testing::ToyDecoder toy = testing::toy_decoder(1, window, true);
    const auto executable = pipeline::compile(toy.module, target::parse_target("cpu"));
    for (const size_t length : {1, 3, 37, 92, 96}) {
      auto engine = unwrap(Engine::create(*session, executable, toy.weights, {.fragmented = true}));
      // Positions that `decode` could not take.
      unwrap(engine->set_embeddings(testing::toy_embeddings(1, {0})));
      const std::vector<int32_t> prompt(length, 7);
      unwrap(engine->prefill(prompt));
      Watcher watcher;
      engine->local_vm().call_point().set_observer(&watcher);
      const Status ran = engine->run_mixed_batch();
      engine->local_vm().call_point().set_observer(nullptr);
      ASSERT_TRUE(ran) << ran.error().to_string();
      for (const Watcher::Call& call : watcher.calls) {
        EXPECT_TRUE(call.finite) << "window " << window << ", length " << length;
      }
      // A text that begins with embeddings is generated as if nothing had happened.
      unwrap(engine->prefill(prompt));
    }
  }
}

TEST(MixedBatchTexts, CopyRecurrentAndFixedState) {
  auto session = testing::open_session("cpu");
  for (const testing::ToyModel& model :
       {testing::toy_recurrent_model(1), testing::toy_encoder_decoder(1)}) {
    const auto executable = pipeline::compile(model.module, target::parse_target("cpu"));
    auto engine = unwrap(Engine::create(*session, executable, model.weights, {}));
    if (engine->reads_features()) unwrap(engine->set_features(testing::toy_features(1)));
    unwrap(engine->prefill(std::vector<int32_t>{3, 1, 4}));
    const Status ran = engine->run_mixed_batch();
    EXPECT_TRUE(ran) << ran.error().to_string();
  }
}

TEST(MixedBatchTexts, NeedAText) {
  const testing::CompiledModel* model = testing::compiled_model("cpu", "mqa_tied");
  const Status ran = model->engine()->run_mixed_batch();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::kUser);
  testing::expect_parts(ran.error(), {"there is no text to make others from"});
}

TEST(MadeLogits, HaveOneLowestIndexOfTheLargestInEachRow) {
  for (const int64_t vocabulary : {1, 2, 40, 300, 32000}) {
    const HostTensor logits = made_logits(vocabulary);
    const auto all = logits.values<float>();
    std::vector<int64_t> chosen;
    for (int64_t row = 0; row < logits.shape()[0]; ++row) {
      const auto one =
          all.subspan(static_cast<size_t>(row * vocabulary), static_cast<size_t>(vocabulary));
      chosen.push_back(std::ranges::max_element(one) - one.begin());
      EXPECT_TRUE(std::isfinite(one[static_cast<size_t>(chosen.back())]));
    }
    if (vocabulary < 300) continue;
    EXPECT_EQ(chosen, (std::vector<int64_t>{0, vocabulary - 1, 63, 255, 0, 0, 65, vocabulary - 1}));
  }
}

}  // namespace
}  // namespace tapml::llm
