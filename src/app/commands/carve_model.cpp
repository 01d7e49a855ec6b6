// Carves a model while it continues texts.
#include <algorithm>
#include <sstream>

#include "app/commands/carve_runs.h"
#include "app/platforms.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/engine.h"

namespace tapml::app {

namespace {

struct Prompt {
  std::string text, where;
};

std::vector<Prompt> prompts_of(const CarveCommand& command) {
  std::vector<Prompt> prompts;
  for (const std::string& text : command.prompts) prompts.push_back({text, "--prompt"});
  if (!command.prompts_file.empty()) {
    std::istringstream lines(unwrap(read_text_file(command.prompts_file)));
    std::string line;
    for (int64_t number = 1; std::getline(lines, line); ++number) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      prompts.push_back({line, command.prompts_file + ":" + std::to_string(number)});
    }
    if (prompts.empty()) {
      throw_user("the file has no prompts", command.prompts_file, "one a line", "none");
    }
  }
  // A model with an encoder may know how its texts begin.
  if (prompts.empty() && command.model.inputs.features.given()) prompts.push_back({"", "--prompt"});
  if (prompts.empty()) {
    throw_user("a model is carved while it continues a text", "command line",
               "--prompt TEXT or --prompts FILE, for an encoder --text TEXT or --texts FILE",
               "none of them");
  }
  return prompts;
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, const ModelInterface& model,
                            const Prompt& prompt, llm::TextInputs& inputs) {
  auto tokens = guard([&] { return encode_prompt(tokenizer, model, prompt.text, inputs); });
  if (tokens) return *tokens;
  Error error = tokens.error();
  // Others are of an image or of embeddings.
  if (error.where.ends_with("prompt")) error.where = prompt.where;
  throw_error(std::move(error));
}

// A call as speculative decoding checks `count` proposed tokens, after a text of these tokens.
Status check_proposed(llm::Engine& engine, const std::vector<int32_t>& text, int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i <= count && engine.length() + i < engine.capacity(); ++i) {
    tokens.push_back(text[static_cast<size_t>(i) % text.size()]);
  }
  if (tokens.empty()) return {};
  TAPML_ASSIGN([[maybe_unused]] const HostTensor logits, engine.logits_all(tokens));
  return {};
}

}  // namespace

Carved carve_model(CarveCommand command, const CommandHooks& hooks) {
  refuse(!command.inputs.empty(), "--inputs", "a text module", command.model.model);
  refuse(!command.function.empty(), "--function", "a text module", command.model.model);
  unwrap(llm::check_sampler_options(command.sampler));
  if (hooks.checked) hooks.checked();
  const std::vector<Prompt> texts =
      command.tokens.empty() ? prompts_of(command) : std::vector<Prompt>();
  std::vector<std::vector<int32_t>> prompts = command.tokens;
  CarvedModel carved = open_carved(
      command, hooks,
      [&](const Tokenizer& tokenizer, const ModelInterface& interface, llm::TextInputs& inputs) {
        for (const std::vector<int32_t>& prompt : command.tokens) {
          place_images(interface, prompt, inputs);
          check_positions(inputs.embeddings, std::ssize(prompt));
        }
        for (const Prompt& text : texts) {
          prompts.push_back(encode(tokenizer, interface, text, inputs));
        }
        if (hooks.phase) hooks.phase("compile", 0);
      });
  llm::Engine& engine = *carved.runner->engine();
  llm::GenerateOptions generate;
  generate.max_tokens = command.decode >= 0 ? command.decode + 1 : command.max_tokens;
  generate.eos = carved.model.eos;
  generate.sampler = command.sampler;
  generate.on_token = [&](int32_t) { return !is_cancelled(hooks); };
  std::vector<CarveRun> runs;
  const auto batch = static_cast<size_t>(command.batch);
  for (size_t first = 0; first < prompts.size(); first += batch) {
    const auto some = std::span(prompts).subspan(first, std::min(batch, prompts.size() - first));
    runs.emplace_back([&engine, &generate, &command, some](const topdown::Carver&) -> Status {
      // The pools must not pass data of an earlier run into this one's tests.
      TAPML_TRY(engine.clear());
      if (some.size() == 1) {
        TAPML_ASSIGN([[maybe_unused]] auto text, engine.generate(some[0], generate));
        if (command.draft_tokens == 0) return {};
        return check_proposed(engine, some[0], command.draft_tokens);
      }
      TAPML_ASSIGN([[maybe_unused]] auto texts, engine.generate_batch(some, generate));
      return {};
    });
  }
  if (command.as_run) return carve_runs(carved, command, runs, hooks);
  return carve_runs(carved, command, runs, hooks, [&](topdown::Carver& carver) -> Status {
    // A batch of texts leaves none.
    if (engine.length() == 0) {
      TAPML_ASSIGN([[maybe_unused]] auto logits, engine.prefill(prompts.front()));
    }
    return topdown::carve_mixed_batch(engine, carver);
  });
}

}  // namespace tapml::app
