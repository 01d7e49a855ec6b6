#include "cli/chat_options.h"

#include <CLI/CLI.hpp>

#include "ir/exceptions.h"

namespace tapml::cli {

void add_options(CLI::App& command, app::ChatOptions& options) {
  command.add_option("--system", options.system, "Instructions: the conversation's system message");
  command.add_option("--chat-template", options.template_file,
                     "File of a chat template, in place of the model's (docs/chat.md)");
  command.add_option("--chat-variables", options.variables,
                     "JSON object of further variables of the chat template");
}

void refuse_inputs(const app::TextInputOptions& inputs, const std::string& hint) {
  for (const auto& [name, given] : {std::pair{"--features", !inputs.features.file.empty()},
                                    std::pair{"--audio", !inputs.features.audio.empty()},
                                    std::pair{"--embeddings", !inputs.embeddings.files.empty()},
                                    std::pair{"--image", !inputs.images.files.empty()}}) {
    if (given) throw_user("a conversation has texts only", name, "no such option", "a file", hint);
  }
}

void add_stop_option(CLI::App& command, std::vector<std::string>& stop) {
  command
      .add_option("--stop", stop, "Text that ends the answer, and is not part of it (repeatable)")
      ->allow_extra_args(false);
}

void add_options(CLI::App& command, app::GrammarOptions& options) {
  command.add_option("--grammar", options.grammar_file,
                     "File of a grammar that the answer follows, in GBNF (docs/chat.md)");
  command.add_option("--json-schema", options.schema_file,
                     "File of a JSON schema that the answer follows");
}

}  // namespace tapml::cli
