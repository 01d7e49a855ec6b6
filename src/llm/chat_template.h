// The chat template of a model: from a conversation to the text that the model continues.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/file_source.h"
#include "io/json.h"
#include "template/template.h"

namespace tapml::llm {

struct ChatTemplateOptions {
  bool add_generation_prompt = true;  // ends with what comes before an answer
  Json tools, documents;              // arrays, or null
  // Further variables of the template (an object), such as enable_thinking; they override special
  // tokens of the same name.
  Json variables;
  jinja::RenderOptions limits;
};

// Immutable, therefore thread-safe.
class ChatTemplate {
 public:
  // From the text of a template, such as that of a GGUF file; `source` names it in errors.
  // `special_tokens` is an object of the variables bos_token, eos_token and so on. UserError for
  // text that is not a template.
  static Result<ChatTemplate> parse(std::string_view text, std::string source,
                                    Json special_tokens = Json::object());
  // Several templates by name: "default", and "tool_use" for conversations with tools. UserError as
  // above, and for no template.
  static Result<ChatTemplate> parse(const std::map<std::string, std::string>& texts,
                                    const std::string& source,
                                    Json special_tokens = Json::object());

  // The text of `messages`, an array of objects with "role" and "content". As in transformers, null
  // members are left out, and reasoning_content and thinking stand for each other. UserError for
  // no messages, messages of another form, and as Template::render().
  Result<std::string> render(const Json& messages, const ChatTemplateOptions& options = {}) const;

  const Json& special_tokens() const { return special_tokens_; }

 private:
  std::map<std::string, jinja::Template> templates_;
  std::string source_;
  Json special_tokens_;
};

// The template of a model folder, with its special tokens; nothing if it has none. The files are
// chat_template.jinja and additional_chat_templates/NAME.jinja; without these "chat_template" of
// tokenizer_config.json (a text, or a list of objects with "name" and "template"), and
// chat_template.json. UserError for files of another form, and as parse().
Result<std::optional<ChatTemplate>> read_chat_template(const FileSource& files);
Result<std::optional<ChatTemplate>> read_chat_template(const std::string& folder);
// The same of the text of a tokenizer_config.json alone, as a GGUF file has it.
Result<std::optional<ChatTemplate>> chat_template_of_config(std::string_view text,
                                                            const std::string& source);

// The special tokens of a model folder, as variables of a template. UserError for files of another
// form.
Result<Json> read_special_tokens(const FileSource& files);
Result<Json> read_special_tokens(const std::string& folder);
// The same of the text of a tokenizer_config.json alone.
Result<Json> special_tokens_of_config(std::string_view text, const std::string& source);

// The files of a folder that read_chat_template() reads besides the tokenizer's.
inline constexpr const char* kChatTemplateFiles[] = {"chat_template.jinja", "chat_template.json"};

}  // namespace tapml::llm
