// Generates several texts at once.
#include <map>

#include "llm/batching/choose_tokens.h"
#include "llm/continuation.h"
#include "llm/engine_state.h"

namespace tapml::llm {

using runtime::Tensor;

// One call of generate_batch().
class Engine::BatchGenerator {
 public:
  BatchGenerator(State& state, const GenerateOptions& options) : state_(state), options_(options) {}
  // The sequences of the last call are gone.
  ~BatchGenerator() { state_.last.function = nullptr; }
  BatchGenerator(const BatchGenerator&) = delete;

  Result<std::vector<Generation>> run(std::span<const std::vector<int32_t>> prompts) {
    const double start = seconds_now();
    for (size_t i = 0; i < prompts.size(); ++i) {
      SamplerOptions sampler = options_.sampler;
      sampler.seed += i;
      texts_.push_back(std::make_unique<Text>(state_, options_, sampler, i + 1));
    }
    TAPML_TRY(prefill(prompts));
    const double prefilled = seconds_now();
    for (const auto& text : texts_) text->text.result.prefill_seconds = prefilled - start;
    for (int64_t steps = 0;; ++steps) {
      tell(state_.watcher, {"decode", steps, options_.max_tokens, "tokens"});
      std::vector<Text*> live;
      std::vector<int32_t> tokens;
      for (const auto& text : texts_) {
        if (!text->more) continue;
        live.push_back(text.get());
        tokens.push_back(text->token);
      }
      if (live.empty()) break;
      const std::vector<Sequence*> sequences = sequences_of(live);
      state_.plan(sequences, 1);
      TAPML_ASSIGN(const Tensor logits, state_.step("decode", sequences, tokens));
      TAPML_TRY(accept(live, logits));
      for (Text* text : live) {
        ++text->text.result.decode_steps;
        text->text.result.decode_seconds = seconds_now() - prefilled;
      }
    }
    TAPML_TRY(state_.session.synchronize(runtime::kDefaultStream));
    std::vector<Generation> results;
    for (const auto& text : texts_) results.push_back(std::move(text->text.result));
    return results;
  }

 private:
  struct Text {
    Text(State& state, const GenerateOptions& options, const SamplerOptions& own, size_t prompt)
        : number(prompt),
          sequence(state.rows),
          text(options),
          sampler(own),
          generator(sampler_state(own)) {}

    size_t number;  // number of its prompt, from 1
    Sequence sequence;
    Continuation text;
    SamplerOptions sampler;
    HostTensor generator;
    bool more = false;
    int32_t token = 0;  // the last one, not in the cache yet
  };

  static std::vector<Sequence*> sequences_of(const std::vector<Text*>& texts) {
    std::vector<Sequence*> sequences;
    for (Text* text : texts) sequences.push_back(&text->sequence);
    return sequences;
  }

  // Runs prompts of equal length together.
  Status prefill(std::span<const std::vector<int32_t>> prompts) {
    std::map<size_t, std::vector<size_t>> by_length;
    for (size_t i = 0; i < prompts.size(); ++i) {
      Status valid = state_.check_tokens(texts_[i]->sequence, prompts[i]);
      if (valid && options_.max_tokens > 0) {
        valid = state_.check_prompt(texts_[i]->sequence, std::ssize(prompts[i]));
      }
      if (!valid) {
        Error error = valid.error();
        error.where = "prompt " + std::to_string(i + 1);
        return fail(std::move(error));
      }
      by_length[prompts[i].size()].push_back(i);
    }
    for (const auto& [length, members] : by_length) {
      std::vector<Text*> texts;
      std::vector<int32_t> tokens;
      for (size_t i : members) {
        texts.push_back(texts_[i].get());
        tokens.insert(tokens.end(), prompts[i].begin(), prompts[i].end());
      }
      TAPML_ASSIGN(const Tensor logits, state_.prefill(sequences_of(texts), tokens));
      if (options_.max_tokens > 0) TAPML_TRY(accept(texts, logits));
    }
    return {};
  }

  // Samples a token for each row of the logits. A text that ends frees its pages.
  Status accept(const std::vector<Text*>& texts, const Tensor& logits) {
    TAPML_ASSIGN(const std::vector<int32_t> tokens, sample(texts, logits));
    // The trace needs all sequences.
    for (size_t i = 0; i < texts.size() && !options_.not_finite_ends; ++i) {
      if (tokens[i] >= 0) continue;
      Error error = state_.not_finite(logits, static_cast<int64_t>(i));
      error.where = "prompt " + std::to_string(texts[i]->number) + ", " + error.where;
      return fail(std::move(error));
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      Text& text = *texts[i];
      text.token = tokens[i];
      if (text.token >= 0) {
        text.more = text.text.accept(text.token, text.sequence.length >= state_.longest_text);
      } else {
        text.text.end_not_finite();
        text.more = false;
      }
      if (!text.more) text.sequence.clear();
    }
    return {};
  }

  // -1 for a row without a token to take.
  Result<std::vector<int32_t>> sample(const std::vector<Text*>& texts, const Tensor& logits) {
    static const LogitRules none;
    std::vector<RowToChoose> rows;
    for (Text* text : texts) {
      RowToChoose& row = rows.emplace_back();
      row.sampler = &text->sampler;
      row.rules = &none;
      row.generator = &text->generator;
    }
    TAPML_TRY(choose_tokens(state_, logits, rows));
    std::vector<int32_t> tokens;
    for (const RowToChoose& row : rows) tokens.push_back(row.chosen ? row.chosen->token : -1);
    return tokens;
  }

  State& state_;
  const GenerateOptions& options_;
  std::vector<std::unique_ptr<Text>> texts_;
};

Result<std::vector<Generation>> Engine::generate_batch(
    std::span<const std::vector<int32_t>> prompts, const GenerateOptions& options) {
  TAPML_TRY(check_options(options));
  if (prompts.empty()) return fail(user_error("there is no prompt", "prompts", "at least one"));
  if (options.keep_logits) {
    return fail(user_error("logits can be kept for one text only", "keep_logits", "generate()"));
  }
  if (options.constrain) {
    return fail(user_error("one text only can be constrained", "constrain", "generate()"));
  }
  if (options.speculation) {
    return fail(
        user_error("tokens can be proposed for one text only", "speculation", "generate()"));
  }
  reset();
  TAPML_TRY(set_sampler(options.sampler));
  return BatchGenerator(*state_, options).run(prompts);
}

}  // namespace tapml::llm
