#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "llm/chat_template.h"

namespace tapml::llm {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostTemplateBytes = size_t{16} << 20;
constexpr const char* kNamedTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Result<Json> read_object(const std::string& path) {
  if (!exists(path)) return Json::object();
  TAPML_ASSIGN(const std::string text, read_text_file(path));
  TAPML_ASSIGN(Json json, parse_json(text, path));
  TAPML_TRY(JsonObjectReader(json, path).check_object());
  return json;
}

// A text, or an object with the text.
const Json* content_of(const Json* token) {
  if (token && token->is_object()) token = token->find("content");
  return token && token->is_string() ? token : nullptr;
}

// The variables that name special tokens. Later files fill what the first does not have.
Json special_tokens_of(const std::vector<const Json*>& files) {
  Json tokens = Json::object();
  const auto add = [&](const std::string& name, const Json* token) {
    token = content_of(token);
    if (token && !tokens.find(name)) tokens.set(name, *token);
  };
  for (const Json* file : files) {
    for (const char* name : kNamedTokens) add(name, file->find(name));
    // Tokens of a model's own kind, such as image_token.
    const Json* extra = file->find("extra_special_tokens");
    if (!extra) continue;
    for (const auto& [name, token] : extra->members()) add(name, &token);
  }
  return tokens;
}

Result<std::map<std::string, std::string>> templates_of_files(const std::string& folder) {
  std::map<std::string, std::string> texts;
  const std::string main = folder + "/chat_template.jinja";
  if (exists(main)) {
    TAPML_ASSIGN(texts["default"], read_text_file(main, kMostTemplateBytes));
  }
  std::vector<fs::path> others;
  std::error_code error;
  for (fs::directory_iterator it(folder + "/additional_chat_templates", error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".jinja") others.push_back(it->path());
  }
  for (const fs::path& path : others) {
    TAPML_ASSIGN(texts[path.stem().string()], read_text_file(path.string(), kMostTemplateBytes));
  }
  return texts;
}

Result<std::map<std::string, std::string>> templates_of_field(const Json& file,
                                                              const std::string& path) {
  std::map<std::string, std::string> texts;
  const JsonObjectReader reader(file, path);
  const Json* field = reader.find("chat_template");
  if (!field) return texts;
  if (field->is_string()) {
    texts["default"] = field->as_string();
    return texts;
  }
  if (field->is_object()) {
    for (const auto& [name, text] : field->members()) {
      if (text.is_string()) texts[name] = text.as_string();
    }
    return texts;
  }
  if (!field->is_array()) {
    return fail(reader.field_error("chat_template", "is not a template",
                                   "a text, or a list of objects with \"name\" and \"template\""));
  }
  for (size_t i = 0; i < field->items().size(); ++i) {
    const JsonObjectReader one(field->items()[i], path, "chat_template[" + std::to_string(i) + "]");
    TAPML_ASSIGN(const std::string name, one.required_string("name"));
    TAPML_ASSIGN(texts[name], one.required_string("template"));
  }
  return texts;
}

}  // namespace

Result<Json> read_special_tokens(const std::string& folder) {
  TAPML_ASSIGN(const Json config, read_object(folder + "/tokenizer_config.json"));
  TAPML_ASSIGN(const Json map, read_object(folder + "/special_tokens_map.json"));
  return special_tokens_of({&config, &map});
}

Result<Json> special_tokens_of_config(std::string_view text, const std::string& source) {
  TAPML_ASSIGN(const Json config, parse_json(text, source));
  return special_tokens_of({&config});
}

Result<std::optional<ChatTemplate>> chat_template_of_config(std::string_view text,
                                                            const std::string& source) {
  TAPML_ASSIGN(const Json config, parse_json(text, source));
  TAPML_ASSIGN(const auto texts, templates_of_field(config, source));
  if (texts.empty()) return std::nullopt;
  TAPML_ASSIGN(ChatTemplate made, ChatTemplate::parse(texts, source, special_tokens_of({&config})));
  return made;
}

Result<std::optional<ChatTemplate>> read_chat_template(const std::string& folder) {
  const std::string config_path = folder + "/tokenizer_config.json";
  const std::string processor_path = folder + "/chat_template.json";
  TAPML_ASSIGN(auto texts, templates_of_files(folder));
  std::string source = folder + "/chat_template.jinja";
  if (texts.empty()) {
    source = config_path;
    TAPML_ASSIGN(const Json config, read_object(config_path));
    TAPML_ASSIGN(texts, templates_of_field(config, config_path));
  }
  if (texts.empty()) {
    source = processor_path;
    TAPML_ASSIGN(const Json processor, read_object(processor_path));
    TAPML_ASSIGN(texts, templates_of_field(processor, processor_path));
  }
  if (texts.empty()) return std::nullopt;
  TAPML_ASSIGN(Json tokens, read_special_tokens(folder));
  TAPML_ASSIGN(ChatTemplate made, ChatTemplate::parse(texts, source, std::move(tokens)));
  return made;
}

}  // namespace tapml::llm
