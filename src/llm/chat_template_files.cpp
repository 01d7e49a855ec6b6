#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "io/json_reader.h"
#include "llm/chat_template.h"

namespace tapml::llm {

namespace {

constexpr size_t kMostTemplateBytes = size_t{16} << 20;
constexpr const char* kMainFile = "chat_template.jinja";
constexpr const char* kMoreFiles = "additional_chat_templates";
constexpr std::string_view kExtension = ".jinja";
constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr const char* kNamedTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

Result<Json> read_object(const FileSource& files, const std::string& name) {
  if (!files.has(name)) return Json::object();
  const std::string path = files.path_of(name);
  TAPML_ASSIGN(const std::string text, files.read(name));
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

Result<std::map<std::string, std::string>> templates_of_files(const FileSource& files) {
  std::map<std::string, std::string> texts;
  if (files.has(kMainFile)) {
    TAPML_ASSIGN(texts["default"], files.read(kMainFile, kMostTemplateBytes));
  }
  for (const std::string& name : files.list(kMoreFiles)) {
    if (!name.ends_with(kExtension)) continue;
    const size_t begin = name.rfind('/') + 1;
    TAPML_ASSIGN(texts[name.substr(begin, name.size() - kExtension.size() - begin)],
                 files.read(name, kMostTemplateBytes));
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

Result<Json> read_special_tokens(const FileSource& files) {
  TAPML_ASSIGN(const Json config, read_object(files, kConfigFile));
  TAPML_ASSIGN(const Json map, read_object(files, "special_tokens_map.json"));
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

Result<std::optional<ChatTemplate>> read_chat_template(const FileSource& files) {
  TAPML_ASSIGN(auto texts, templates_of_files(files));
  std::string source = files.path_of(kMainFile);
  for (const char* name : {kConfigFile, "chat_template.json"}) {
    if (!texts.empty()) break;
    source = files.path_of(name);
    TAPML_ASSIGN(const Json file, read_object(files, name));
    TAPML_ASSIGN(texts, templates_of_field(file, source));
  }
  if (texts.empty()) return std::nullopt;
  TAPML_ASSIGN(Json tokens, read_special_tokens(files));
  TAPML_ASSIGN(ChatTemplate made, ChatTemplate::parse(texts, source, std::move(tokens)));
  return made;
}

}  // namespace tapml::llm
