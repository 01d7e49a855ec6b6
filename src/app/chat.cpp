#include "app/chat.h"

#include <optional>

#include "base/strings.h"
#include "frontend/gguf/model.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

constexpr size_t kMostTemplateBytes = size_t{16} << 20;

// What the files of a model say.
struct OwnTemplate {
  Result<std::optional<llm::ChatTemplate>> chat_template;
  Result<Json> special_tokens;
};

OwnTemplate own_template(const std::string& folder) {
  if (!frontend::is_gguf_model(folder)) {
    return {llm::read_chat_template(folder), llm::read_special_tokens(folder)};
  }
  const std::string config = frontend::open_gguf_tokenizer(folder).config;
  const std::string source = folder + " (its metadata as a tokenizer_config.json)";
  return {llm::chat_template_of_config(config, source),
          llm::special_tokens_of_config(config, source)};
}

}  // namespace

std::optional<llm::ChatTemplate> ChatOptions::find(const std::string& folder) const {
  auto [own, special_tokens] = own_template(folder);
  if (!template_file.empty()) {
    const std::string text = unwrap(read_text_file(template_file, kMostTemplateBytes));
    // A broken template of the model does not matter, but its special tokens do.
    Json tokens = own && *own ? (*own)->special_tokens() : unwrap(std::move(special_tokens));
    return unwrap(llm::ChatTemplate::parse(text, template_file, std::move(tokens)));
  }
  return unwrap(std::move(own));
}

llm::ChatTemplate ChatOptions::load(const std::string& folder, const std::string& model) const {
  if (auto found = find(folder)) return *std::move(found);
  throw_user("the model has no chat template", folder,
             "chat_template.jinja, \"chat_template\" in tokenizer_config.json, or "
             "\"tokenizer.chat_template\" in a GGUF file",
             "none of them",
             "give one with --chat-template FILE, or continue a text: tapml run " + model +
                 " --prompt TEXT");
}

llm::ChatTemplateOptions ChatOptions::render_options() const {
  llm::ChatTemplateOptions options;
  if (variables.empty()) return options;
  options.variables = unwrap(parse_json(variables, "--chat-variables"));
  if (!options.variables.is_object()) {
    throw_user("the variables of a template are not an object", "--chat-variables",
               "such as '{\"enable_thinking\": false}'", options.variables.kind_name());
  }
  return options;
}

Json chat_message(const std::string& role, const std::string& content) {
  return Json::object({{"role", Json::string(role)}, {"content", Json::string(content)}});
}

}  // namespace tapml::app
