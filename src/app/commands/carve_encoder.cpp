// Carves an encoder while it makes vectors of texts.
#include <algorithm>
#include <span>

#include "app/commands/carve_runs.h"
#include "ir/exceptions.h"

namespace tapml::app {

Carved carve_encoder(CarveCommand command, const CommandHooks& hooks) {
  const std::string& name = command.model.model;
  refuse(!command.prompts.empty() || !command.prompts_file.empty(), "--prompt",
         "a model that continues texts", name);
  refuse(!command.inputs.empty(), "--inputs", "a text module", name);
  refuse(!command.function.empty(), "--function", "a text module", name);
  refuse(command.decode >= 0, "--decode", "a model that continues texts", name);
  refuse(command.draft_tokens > 0, "--draft-tokens", "a model that continues texts", name);
  command.model.use = ModelUse::kEmbed;
  if (hooks.checked) hooks.checked();
  const NamedTexts texts = command.tokens.empty() ? read_texts(command.texts) : NamedTexts();
  topdown::ForcedRun all;
  all.texts = command.tokens;
  const BeforeCompile encode = [&](const Tokenizer& tokenizer, const ModelInterface& interface,
                                   const llm::TextInputs&) {
    if (all.texts.empty()) all.texts = encode_texts(tokenizer, interface, texts);
    unwrap(llm::check_texts(interface, all.texts));
    if (hooks.phase) hooks.phase("compile", 0);
  };
  CarvedModel carved = open_carved(command, hooks, encode);
  std::vector<CarveRun> runs;
  const auto batch = static_cast<size_t>(command.batch);
  for (size_t first = 0; first < all.texts.size(); first += batch) {
    const auto some =
        std::span(all.texts).subspan(first, std::min(batch, all.texts.size() - first));
    runs.emplace_back([&carved, some](const topdown::Carver&) -> Status {
      TAPML_ASSIGN([[maybe_unused]] const HostTensor vectors,
                   carved.runner->embedder()->embed(some));
      return {};
    });
  }
  if (command.as_run) return carve_runs(carved, command, runs, hooks);
  return carve_runs(carved, command, runs, hooks, [&](topdown::Carver& carver) {
    return topdown::carve_added(carved.runner->vm(), carver,
                                [&] { return carved.runner->run_mixed_batch(all); });
  });
}

}  // namespace tapml::app
