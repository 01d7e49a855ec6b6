// What a watcher receives about a prompt, and that watching does not affect the prompt.
#include "llm/prompt_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "support/compiled_models.h"

namespace tapml {
namespace {

using testing::CompiledModel;

struct Told {
  std::vector<int64_t> done;
  int64_t total = 0;
  WorkWatcher watcher(const std::string& what) {
    return [this, what](const Work& work) {
      if (work.what != what) return;
      EXPECT_EQ(work.unit, "tokens");
      done.push_back(work.done);
      total = work.total;
    };
  }
};

class PromptWatching : public ::testing::Test {
 protected:
  std::vector<int32_t> prompt(size_t tokens) const {
    std::vector<int32_t> list(tokens);
    std::iota(list.begin(), list.end(), 1);
    return list;
  }
  const CompiledModel& model_ = *testing::compiled_model("cpu", "llama3_gqa");
};

std::vector<float> logits_of(llm::Engine& engine, std::span<const int32_t> tokens) {
  engine.reset();
  const HostTensor logits = unwrap(runtime::download(unwrap(engine.prefill(tokens))));
  const auto values = logits.values<float>();
  return {values.begin(), values.end()};
}

TEST_F(PromptWatching, ReportsProcessedTokens) {
  const std::vector<int32_t> tokens = prompt(40);
  const auto engine = model_.engine({.prefill_chunk = 16});
  const std::vector<float> plain = logits_of(*engine, tokens);
  Told told;
  engine->set_watcher(told.watcher("prompt"));
  EXPECT_EQ(logits_of(*engine, tokens), plain);
  EXPECT_EQ(engine->local_vm().call_point().observer(), nullptr);
  ASSERT_FALSE(told.done.empty());
  EXPECT_TRUE(std::ranges::is_sorted(told.done));
  EXPECT_EQ(told.total, 40);
  EXPECT_EQ(told.done.front(), 0);
  EXPECT_EQ(told.done.back(), 40) << "the end is reported";
  for (const int64_t piece : {16, 32}) {
    EXPECT_NE(std::ranges::find(told.done, piece), told.done.end()) << piece;
  }
  // Also within a piece.
  EXPECT_TRUE(std::ranges::any_of(told.done, [](int64_t done) { return done % 16 % 8 != 0; }));

  told.done.clear();
  engine->reset();
  ASSERT_TRUE(engine->logits_all(tokens));
  EXPECT_EQ(told.done.back(), 40);
  told.done.clear();
  logits_of(*engine, prompt(5));
  EXPECT_TRUE(told.done.empty()) << "so few are not worth a wait";
}

TEST_F(PromptWatching, ReportsLoading) {
  std::map<std::string, std::pair<int64_t, int64_t>> last;
  bool counts_up = true;
  model_.session->set_watcher([&](const Work& work) {
    auto& [done, total] = last[std::string(work.what)];
    counts_up &= work.done >= done || done == total;  // or other work follows
    done = work.done;
    total = work.total;
  });
  model_.engine();
  model_.session->set_watcher({});
  EXPECT_TRUE(counts_up);
  int64_t bytes = 0;
  for (const std::string& name : model_.golden.interface().weights) {
    bytes += std::ssize(model_.golden.model.weights.at(name).bytes());
  }
  EXPECT_EQ(last["upload"], std::pair(bytes, bytes));
  EXPECT_GT(last["load"].second, 0);
  EXPECT_EQ(last["load"].first, last["load"].second);
}

TEST_F(PromptWatching, KeepsTheExistingObserver) {
  class Counter final : public runtime::Observer {
   public:
    bool wants(const runtime::CallSite&, int64_t sequence) noexcept override {
      ++asked;
      return sequence % 3 == 0;
    }
    Status before(const runtime::KernelCall& call) noexcept override {
      EXPECT_EQ(call.sequence % 3, 0);
      ++before_calls;
      return {};
    }
    Status after(const runtime::KernelCall& call) noexcept override {
      EXPECT_EQ(call.sequence % 3, 0);
      ++after_calls;
      return {};
    }
    int64_t asked = 0, before_calls = 0, after_calls = 0;
  };
  const std::vector<int32_t> tokens = prompt(40);
  Counter counters[2];
  for (const bool watched : {false, true}) {
    const auto engine = model_.engine({.prefill_chunk = 16});
    Told told;
    if (watched) engine->set_watcher(told.watcher("prompt"));
    Counter& counter = counters[watched ? 1 : 0];
    engine->local_vm().call_point().set_observer(&counter);
    logits_of(*engine, tokens);
    EXPECT_EQ(engine->local_vm().call_point().observer(), &counter);
    EXPECT_EQ(told.done.empty(), !watched);
  }
  EXPECT_GT(counters[0].before_calls, 0);
  EXPECT_EQ(counters[0].asked, counters[1].asked);
  EXPECT_EQ(counters[0].before_calls, counters[1].before_calls);
  EXPECT_EQ(counters[0].after_calls, counters[1].after_calls);
}

TEST_F(PromptWatching, ReportsGeneratedTokens) {
  const auto engine = model_.engine();
  Told told;
  engine->set_watcher(told.watcher("decode"));
  llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}};
  ASSERT_TRUE(engine->generate(prompt(5), options));
  EXPECT_EQ(told.done, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(told.total, 4);
  told.done.clear();
  const std::vector<std::vector<int32_t>> prompts = {prompt(5), prompt(7)};
  ASSERT_TRUE(engine->generate_batch(prompts, options));
  EXPECT_TRUE(std::ranges::is_sorted(told.done));
  EXPECT_GE(told.done.size(), 4u);
}

}  // namespace
}  // namespace tapml
