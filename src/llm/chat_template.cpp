#include "llm/chat_template.h"

#include <utility>
#include <vector>

#include "base/strings.h"

namespace tapml::llm {

namespace {

constexpr const char* kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

// One message as templates see it.
Json prepared(const Json& message) {
  const Json* reasoning = nullptr;
  for (const char* name : kReasoning) {
    const Json* found = message.find(name);
    if (!reasoning && found && !found->is_null()) reasoning = found;
  }
  Json result = Json::object();
  if (reasoning) {
    const Json* thinking = message.find("thinking");
    result.set("thinking", thinking && !thinking->is_null() ? *thinking : *reasoning);
  }
  for (const auto& [name, value] : message.members()) {
    if (!value.is_null()) result.set(name, value);
  }
  if (reasoning) result.set("reasoning_content", *reasoning);
  return result;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view text, std::string source,
                                         Json special_tokens) {
  ChatTemplate made;
  TAPML_ASSIGN(auto parsed, jinja::Template::parse(text, source));
  made.templates_.emplace("default", std::move(parsed));
  made.source_ = std::move(source);
  made.special_tokens_ = std::move(special_tokens);
  return made;
}

Result<ChatTemplate> ChatTemplate::parse(const std::map<std::string, std::string>& texts,
                                         const std::string& source, Json special_tokens) {
  ChatTemplate made;
  for (const auto& [name, text] : texts) {
    const std::string from = name == "default" ? source : source + ", template " + in_quotes(name);
    TAPML_ASSIGN(auto parsed, jinja::Template::parse(text, from));
    made.templates_.emplace(name, std::move(parsed));
  }
  if (made.templates_.empty()) {
    return fail(user_error("there is no chat template", source, "a template", "none"));
  }
  made.source_ = source;
  made.special_tokens_ = std::move(special_tokens);
  return made;
}

Result<std::string> ChatTemplate::render(const Json& messages,
                                         const ChatTemplateOptions& options) const {
  if (!messages.is_array() || messages.items().empty()) {
    return fail(user_error("a conversation has no messages", "messages",
                           "a list of at least one message",
                           messages.is_array() ? "an empty list" : messages.kind_name()));
  }
  std::vector<Json> prepared_messages;
  for (const Json& message : messages.items()) {
    if (!message.is_object()) {
      return fail(user_error("a message is not an object",
                             "messages[" + std::to_string(prepared_messages.size()) + "]",
                             "an object with \"role\" and \"content\"", message.kind_name()));
    }
    prepared_messages.push_back(prepared(message));
  }
  auto chosen = templates_.end();
  if (!options.tools.is_null()) chosen = templates_.find("tool_use");
  if (chosen == templates_.end()) chosen = templates_.find("default");
  if (chosen == templates_.end()) {
    return fail(user_error("none of the chat templates is the default one", source_,
                           "a template called \"default\"",
                           join(templates_, [](const auto& one) { return in_quotes(one.first); })));
  }
  Json variables = special_tokens_;
  for (const auto& [name, value] : options.variables.members()) variables.set(name, value);
  variables.set("messages", Json::array(std::move(prepared_messages)));
  variables.set("tools", options.tools);
  variables.set("documents", options.documents);
  variables.set("add_generation_prompt", Json::boolean(options.add_generation_prompt));
  TAPML_ASSIGN(jinja::Rendered rendered, chosen->second.render(variables, options.limits));
  return std::move(rendered.text);
}

}  // namespace tapml::llm
