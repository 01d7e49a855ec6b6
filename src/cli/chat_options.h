// Options of the commands that hold conversations.
#pragma once

#include <string>
#include <vector>

#include "app/chat.h"
#include "app/grammar.h"
#include "app/speculation.h"
#include "app/text_inputs.h"
#include "cli/command.h"

namespace tapml::cli {

void add_options(CLI::App& command, app::ChatOptions& options);  // --system, --chat-template, ...
// UserError for one of these options, which need --chat.
void refuse_chat_options(const app::ChatOptions& options);
// UserError for inputs besides texts, for commands that have texts only: what else a model reads
// has a place in one text. `hint` says which command takes them.
void refuse_inputs(const app::TextInputOptions& inputs, const std::string& hint);
void add_stop_option(CLI::App& command, std::vector<std::string>& stop);
void add_options(CLI::App& command, app::GrammarOptions& options);  // --grammar, --json-schema

// --draft, --lookup, --draft-tokens, --keep-draft
void add_options(CLI::App& command, app::SpeculationOptions& options);

// What speculation did for a text, for people ("", if it had no step) and for programs.
std::string speculation_text(const llm::SpeculationCounts& counts);
Json speculation_json(const llm::SpeculationCounts& counts);

}  // namespace tapml::cli
