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
  if (prompts.empty()) {
    throw_user("a model is carved while it continues a text", "command line",
               "--prompt TEXT or --prompts FILE", "neither");
  }
  return prompts;
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, int64_t context, const Prompt& prompt) {
  auto tokens = guard([&] { return encode_prompt(tokenizer, context, prompt.text); });
  if (tokens) return *tokens;
  Error error = tokens.error();
  error.where = prompt.where;
  throw_error(std::move(error));
}

}  // namespace

Carved carve_model(CarveCommand command, const CommandHooks& hooks) {
  refuse(!command.inputs.empty(), "--inputs", "a text module", command.model.model);
  refuse(!command.function.empty(), "--function", "a text module", command.model.model);
  unwrap(llm::check_sampler_options(command.sampler));
  if (hooks.checked) hooks.checked();
  topdown::CarveOptions options = carve_options(command);
  const std::vector<Prompt> texts = prompts_of(command);
  if (command.weights == "reference" && is_compiled(command.model.model)) {
    throw_user("weights by reference are found in a model directory", "--weights",
               "a model directory as MODEL", command.model.model,
               "--weights inside, or carve the model directory");
  }
  if (hooks.phase) hooks.phase("load", 0);
  command.model.watcher = hooks.watcher;
  std::vector<std::vector<int32_t>> prompts;
  ReadyModel model =
      make_ready(command.model, [&](const Tokenizer& tokenizer, const ModelInterface& interface) {
        for (const Prompt& text : texts) {
          prompts.push_back(encode(tokenizer, interface.context, text));
        }
        if (hooks.phase) hooks.phase("compile", 0);
      });
  if (command.weights == "reference") {
    options.weights = &model.weights;
    options.model_folder =
        std::filesystem::absolute(command.model.model).lexically_normal().string();
    options.quantization = command.model.format.quantize;
  }
  if (has_own_process(model.target)) options.held = &model.weights;
  options.functions = topdown::generation_functions(*model.executable, command.sampler.temperature,
                                                    model.session->info());
  auto engine = unwrap(
      llm::Engine::create(unwrap(runtime::open_instrumented(*model.session, model.executable)),
                          model.weights, {.weights_in_place = true, .sample_in_model = true}));
  engine->set_watcher(hooks.watcher);
  llm::GenerateOptions generate;
  generate.max_tokens = command.decode >= 0 ? command.decode + 1 : command.max_tokens;
  generate.eos = model.eos;
  generate.sampler = command.sampler;
  generate.on_token = [&](int32_t) { return !is_cancelled(hooks); };
  std::vector<CarveRun> runs;
  const auto batch = static_cast<size_t>(command.batch);
  for (size_t first = 0; first < prompts.size(); first += batch) {
    const auto some = std::span(prompts).subspan(first, std::min(batch, prompts.size() - first));
    runs.emplace_back([&engine, &generate, some]() -> Status {
      // The pools must not pass data of an earlier run into this one's tests.
      TAPML_TRY(engine->clear());
      TAPML_ASSIGN([[maybe_unused]] auto texts, engine->generate_batch(some, generate));
      return {};
    });
  }
  model.attach(engine->vm());
  return carve_runs(engine->vm(),
                    carve_source(command, model.target, model.executable, model.contained), command,
                    std::move(options), runs, hooks);
}

}  // namespace tapml::app
