#include "cli/chat_history.h"

#include "app/chat.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

constexpr size_t kMostHistoryBytes = size_t{256} << 20;

std::string member_text(const Json& message, const char* name) {
  const Json* found = message.find(name);
  if (!found) return "";
  return found->is_string() ? found->as_string() : found->dump();
}

void check_file_name(const std::string& file, const char* command) {
  if (!file.empty()) return;
  throw_user("the name of a file is missing", command, std::string(command) + " FILE", "nothing");
}

}  // namespace

std::string ChatHistory::role_of_last() const {
  return messages_.items().empty() ? "" : member_text(messages_.items().back(), "role");
}

std::string ChatHistory::text() const {
  std::string text;
  for (const Json& message : messages_.items()) {
    text += (text.empty() ? "" : "\n") + member_text(message, "role") + ": " +
            member_text(message, "content");
  }
  return text.empty() ? "no messages" : text;
}

void ChatHistory::add(const std::string& role, const std::string& content) {
  messages_.push(app::chat_message(role, content));
}

void ChatHistory::clear() {
  messages_ = Json::array();
  if (!system_.empty()) add("system", system_);
}

void ChatHistory::set_system(const std::string& system) {
  system_ = system;
  clear();
}

void ChatHistory::take_back_message() {
  std::vector<Json> items = messages_.items();
  if (!items.empty()) items.pop_back();
  messages_ = Json::array(std::move(items));
}

void ChatHistory::take_back_answer() {
  if (role_of_last() != "assistant") {
    throw_user("there is no answer yet", "chat", "a message, and its answer", "none");
  }
  take_back_message();
}

void ChatHistory::take_back_turn() {
  take_back_answer();
  if (role_of_last() == "user") take_back_message();
}

void ChatHistory::save(const std::string& file) const {
  check_file_name(file, "/save");
  unwrap(write_text_atomic(file, Json::object({{"messages", messages_}}).dump(1) + "\n"));
}

void ChatHistory::load(const std::string& file) {
  check_file_name(file, "/load");
  const Json json = unwrap(parse_json(unwrap(read_text_file(file, kMostHistoryBytes)), file));
  const Json* messages = json.is_array() ? &json : json.find("messages");
  if (!messages || !messages->is_array()) {
    throw_user("not a conversation", file, "an array of messages, or an object with \"messages\"",
               json.kind_name());
  }
  for (const Json& message : messages->items()) {
    const Json* role = message.find("role");
    if (role && role->is_string() && message.find("content")) continue;
    throw_user("not a message", json_location(file, message),
               "an object with \"role\" and \"content\"", json_excerpt(message));
  }
  messages_ = *messages;
  const bool has_system =
      !messages_.items().empty() && member_text(messages_.items()[0], "role") == "system";
  system_ = has_system ? member_text(messages_.items()[0], "content") : "";
}

}  // namespace tapml::cli
