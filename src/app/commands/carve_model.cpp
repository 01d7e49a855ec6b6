// Carves a model while it continues texts.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "app/commands/carve_runs.h"
#include "app/platforms.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "topdown/suite/coverage.h"

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
               "--prompt TEXT or --prompts FILE", "neither");
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

}  // namespace

CarvedEngine open_engine(CarveCommand& command, const CommandHooks& hooks,
                         const BeforeCompile& before_compile) {
  command.model.watcher = hooks.watcher;
  CarvedEngine carved{make_ready(command.model, before_compile), carve_options(command), nullptr};
  const ReadyModel& model = carved.model;
  if (command.weights == "reference") {
    carved.options.weights = &model.weights;
    carved.options.model_folder =
        std::filesystem::absolute(command.model.model).lexically_normal().string();
    carved.options.quantization = command.model.format.quantize;
  }
  if (has_own_process(model.target)) carved.options.held = &model.weights;
  carved.options.functions =
      topdown::generation_functions(*model.executable, command.sampler.temperature,
                                    model.session->info(), !model.inputs.images.empty());
  if (!command.as_run) carved.options.fragmented = &carved.model.weights;
  carved.engine = unwrap(llm::Engine::create(
      unwrap(runtime::open_instrumented(*model.session, model.executable)), model.weights,
      {.weights_in_place = true, .sample_in_model = true, .fragmented = !command.as_run}));
  carved.engine->set_watcher(hooks.watcher);
  model.attach(*carved.engine);
  return carved;
}

Carved carve_runs(CarvedEngine& carved, const CarveCommand& command,
                  const std::vector<CarveRun>& runs, const CommandHooks& hooks,
                  const AddCalls& add) {
  const ReadyModel& model = carved.model;
  return carve_runs(carved.engine->vm(),
                    carve_source(command, model.target, model.executable, model.contained), command,
                    carved.options, runs, hooks, add);
}

Carved carve_model(CarveCommand command, const CommandHooks& hooks) {
  refuse(!command.inputs.empty(), "--inputs", "a text module", command.model.model);
  refuse(!command.function.empty(), "--function", "a text module", command.model.model);
  unwrap(llm::check_sampler_options(command.sampler));
  if (hooks.checked) hooks.checked();
  const std::vector<Prompt> texts =
      command.tokens.empty() ? prompts_of(command) : std::vector<Prompt>();
  if (command.weights == "reference" && is_compiled(command.model.model)) {
    throw_user("weights by reference are found in a model directory", "--weights",
               "a model directory as MODEL", command.model.model,
               "--weights inside, or carve the model directory");
  }
  if (hooks.phase) hooks.phase("load", 0);
  std::vector<std::vector<int32_t>> prompts = command.tokens;
  CarvedEngine carved = open_engine(
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
  llm::GenerateOptions generate;
  generate.max_tokens = command.decode >= 0 ? command.decode + 1 : command.max_tokens;
  generate.eos = carved.model.eos;
  generate.sampler = command.sampler;
  generate.on_token = [&](int32_t) { return !is_cancelled(hooks); };
  std::vector<CarveRun> runs;
  const auto batch = static_cast<size_t>(command.batch);
  for (size_t first = 0; first < prompts.size(); first += batch) {
    const auto some = std::span(prompts).subspan(first, std::min(batch, prompts.size() - first));
    runs.emplace_back([&carved, &generate, some](const topdown::Carver&) -> Status {
      // The pools must not pass data of an earlier run into this one's tests.
      TAPML_TRY(carved.engine->clear());
      if (some.size() == 1) {
        TAPML_ASSIGN([[maybe_unused]] auto text, carved.engine->generate(some[0], generate));
        return {};
      }
      TAPML_ASSIGN([[maybe_unused]] auto texts, carved.engine->generate_batch(some, generate));
      return {};
    });
  }
  if (command.as_run) return carve_runs(carved, command, runs, hooks);
  return carve_runs(carved, command, runs, hooks, [&](topdown::Carver& carver) -> Status {
    // A batch of texts leaves none.
    if (carved.engine->length() == 0) {
      TAPML_ASSIGN([[maybe_unused]] auto logits, carved.engine->prefill(prompts.front()));
    }
    return topdown::carve_mixed_batch(*carved.engine, carver);
  });
}

}  // namespace tapml::app
