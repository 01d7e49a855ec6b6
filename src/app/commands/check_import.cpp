#include "app/commands/check_import.h"

#include <algorithm>

#include "abi/model_interface.h"
#include "app/random_model.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/model.h"
#include "io/host/scratch_folder.h"
#include "ir/exceptions.h"
#include "models/table.h"
#include "pipeline/compile.h"
#include "topdown/reference_run/compare_import.h"

namespace tapml::app {

namespace {

void check_tokens(const std::vector<int32_t>& tokens, const ModelInterface& model) {
  for (const int32_t token : tokens) {
    if (token >= 0 && token < model.vocabulary) continue;
    throw_user("the model has no such token", "--tokens",
               "0 to " + std::to_string(model.vocabulary - 1), std::to_string(token));
  }
  if (std::ssize(tokens) > model.context) {
    throw_user("the tokens do not fit the model's context", "--tokens",
               std::to_string(model.context) + " tokens at most", std::to_string(tokens.size()));
  }
}

// Running the code of a model folder, as transformers would, is the user's decision.
void refuse_without_class(const models::Architecture& architecture, const std::string& where) {
  if (architecture.in_transformers) return;
  throw_user(
      "transformers has no class of this architecture to compare with: that of the published "
      "folders, " +
          std::string(architecture.class_name) + ", is code in the folder",
      where, "an architecture that is part of transformers", architecture.name,
      "\"tapml models\" lists the architectures; what checks this one is in docs/models.md");
}

}  // namespace

topdown::ImportCheck check_import(const CheckImportCommand& command, const CommandHooks& hooks) {
  if (is_compiled(command.model)) {
    throw_user("a compiled model has no import to compare", "MODEL", "a model directory as MODEL",
               command.model, "compare the model directory before you compile it");
  }
  if (frontend::is_gguf_model(command.model)) {
    throw_user("a GGUF file has no published implementation to compare with", "MODEL",
               "a model directory as MODEL", command.model,
               "compare the directory that the file was converted from");
  }
  const frontend::HuggingFaceModel files =
      frontend::read_model(command.model, nullptr, {}, hooks.watcher);
  if (command.warn) log_each(files.warnings);
  refuse_without_class(models::find_architecture(files.config.architecture),
                       command.name.empty() ? command.model : command.name);
  const ModelInterface model = unwrap(model_interface_of(files.module.all_attrs()));
  if (model.find_function("encode")) {
    throw_user("a model with an encoder cannot be compared with its published implementation yet",
               command.name.empty() ? command.model : command.name,
               "a model of texts alone, or of images", model.architecture,
               "what checks this one is in docs/models.md");
  }
  check_tokens(command.tokens, model);
  topdown::CompareImportOptions options{.folder = files.folder,
                                        .name = command.name,
                                        .python = command.python,
                                        .tokens = command.tokens,
                                        .pooling = {}};
  if (files.config.encoder) options.pooling = files.config.pooling;
  options.count = std::max(options.count, std::ssize(options.tokens));
  if (!command.prompt.empty()) {
    options.tokens = encode_prompt(load_tokenizer(files.folder), model.context, command.prompt);
  }
  options.poll = hooks.poll;
  options.cancelled = hooks.cancelled;
  options.watcher = hooks.watcher;
  pipeline::Instruments instruments;
  instruments.poll = hooks.poll;
  return topdown::compare_import(files.module, pipeline::form_kernels(files.module, instruments),
                                 model, files.weights, options);
}

topdown::ImportCheck check_import(const CheckConfigCommand& command, const CommandHooks& hooks) {
  const ScratchFolder folder = unwrap(ScratchFolder::create("random"));
  write_random_model(command.config, command.seed, folder.path());
  return check_import(CheckImportCommand{.model = folder.path(),
                                         .prompt = "",
                                         .python = command.python,
                                         .tokens = command.tokens,
                                         .name = command.config},
                      hooks);
}

}  // namespace tapml::app
