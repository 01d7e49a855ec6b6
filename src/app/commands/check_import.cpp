#include "app/commands/check_import.h"

#include "abi/model_interface.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "topdown/reference_run/compare_import.h"

namespace tapml::app {

topdown::ImportCheck check_import(const CheckImportCommand& command, const CommandHooks& hooks) {
  if (is_compiled(command.model)) {
    throw_user("a compiled model has no import to compare", "--trust torch",
               "a model directory as MODEL", command.model,
               "compare the model directory before you compile it");
  }
  const frontend::HuggingFaceModel files =
      frontend::read_model(command.model, nullptr, {}, hooks.watcher);
  const ModelInterface model = unwrap(model_interface_of(files.module.all_attrs()));
  topdown::CompareImportOptions options{.folder = files.folder, .python = command.python};
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

}  // namespace tapml::app
