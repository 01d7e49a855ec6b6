// The chat template of a model, and conversations as commands have them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "llm/chat_template.h"

namespace tapml::app {

struct ChatOptions {
  std::string template_file;  // in place of the model's
  std::string variables;      // of the template: the text of a JSON object
  std::string system;         // the first message; empty: none

  // The template; nothing for a model without one. UserError as llm::read_chat_template().
  std::optional<llm::ChatTemplate> find(const std::string& folder) const;
  // The same, and UserError for a model without a template.
  llm::ChatTemplate load(const std::string& folder, const std::string& model) const;
  // UserError for variables that are not an object.
  llm::ChatTemplateOptions render_options() const;
};

// {"role": ROLE, "content": TEXT}
Json chat_message(const std::string& role, const std::string& content);

}  // namespace tapml::app
