// Speculative decoding: against what the times of its steps allow, and against plain decoding.
#include "base/rng.h"
#include "cases.h"
#include "compiled_model.h"
#include "ir/exceptions.h"
#include "llm/speculation/speculation.h"

namespace tapml::bench {

namespace {

constexpr int64_t kSpeculationPrompt = 16, kTokens = 96, kProposed = 4;
constexpr double kAcceptance = 0.7;

// Knows the text, and proposes the right token with the probability kAcceptance.
class ScriptedDraft final : public llm::Proposer {
 public:
  ScriptedDraft(std::vector<int32_t> text, int64_t vocabulary)
      : text_(std::move(text)), vocabulary_(static_cast<int32_t>(vocabulary)) {}

  Status begin(std::span<const int32_t>, const llm::SamplerOptions&) override {
    random_ = RandomStream(1, "scripted draft");
    return {};
  }
  Result<llm::Proposal> propose(std::span<const int32_t> text, int64_t count) override {
    llm::Proposal proposal;
    for (size_t i = text.size(); std::ssize(proposal.tokens) < count; ++i) {
      const int32_t right = i < text_.size() ? text_[i] : 0;
      proposal.tokens.push_back(random_.chance(kAcceptance) ? right : (right + 1) % vocabulary_);
    }
    return proposal;
  }

 private:
  std::vector<int32_t> text_;
  int32_t vocabulary_;
  RandomStream random_{1, "scripted draft"};
};

// A model of 171 million parameters, with a draft that costs nothing.
struct Drafted {
  CompiledModel model{random_model(kLlama171m)};
  std::vector<int32_t> prompt;
  std::unique_ptr<llm::Speculation> speculation;

  Drafted() {
    for (int32_t i = 0; i < kSpeculationPrompt; ++i) prompt.push_back(1 + i);
    std::vector<int32_t> text = prompt;
    const std::vector<int32_t> rest = generate(nullptr).tokens;
    text.insert(text.end(), rest.begin(), rest.end());
    speculation = unwrap(llm::Speculation::create(
        std::make_unique<ScriptedDraft>(std::move(text), model.engine->model().vocabulary),
        {.tokens = kProposed, .keep = true}));
    if (generate(speculation.get()).tokens != rest) {
      throw_user("speculative decoding changed the text", "speculation", "the plain text",
                 "another");
    }
  }

  llm::Generation generate(llm::Speculation* with) const {
    llm::GenerateOptions options;
    options.max_tokens = kTokens;
    options.speculation = with;
    return unwrap(model.engine->generate(prompt, options));
  }
  double rate(llm::Speculation* with) const {
    const llm::Generation text = generate(with);
    return static_cast<double>(text.decode_steps) / text.decode_seconds;
  }
  // Tokens per second of calls that check kProposed tokens, of which the same share is accepted,
  // with nothing between them.
  double allowed_rate() const {
    const llm::SpeculationCounts counts = generate(speculation.get()).speculation;
    llm::Engine& engine = *model.engine;
    const std::vector<int32_t> tokens(kProposed + 1, 7);
    const double seconds = seconds_of(
        [&] {
          engine.rewind(kSpeculationPrompt + kTokens / 2);
          unwrap(engine.logits_all(tokens));
        },
        static_cast<int>(counts.verify_steps));
    return counts.tokens_per_verify() / seconds;
  }
};

}  // namespace

std::vector<Case> speculation_cases() {
  const std::string name = "171M parameters, a draft of 4 tokens with acceptance 0.7";
  return {{.name = name + ", against its steps",
           .unit = "tokens/s",
           .peer = "tokens of a step over its time",
           .bar = 0.85,
           .prepare =
               [](std::string&) {
                 auto drafted = std::make_shared<Drafted>();
                 return Pair{[=] { return drafted->rate(drafted->speculation.get()); },
                             [=] { return drafted->allowed_rate(); }};
               }},
          {.name = name + ", against plain decoding",
           .unit = "tokens/s",
           .peer = "plain decoding",
           .no_bar = true,
           .prepare = [](std::string&) {
             auto drafted = std::make_shared<Drafted>();
             return Pair{[=] { return drafted->rate(drafted->speculation.get()); },
                         [=] { return drafted->rate(nullptr); }};
           }}};
}

}  // namespace tapml::bench
