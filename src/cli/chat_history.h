// The messages of a conversation, with their files.
#pragma once

#include <string>

#include "io/json.h"

namespace tapml::cli {

// Every method that can fail throws a UserError and changes nothing.
class ChatHistory {
 public:
  explicit ChatHistory(const std::string& system) { set_system(system); }

  const Json& messages() const { return messages_; }
  const std::string& system() const { return system_; }
  std::string text() const;  // for people

  void add(const std::string& role, const std::string& content);
  void clear();                                // all but the system message
  void set_system(const std::string& system);  // and clears
  // The last message; the last answer, so that a message is last; the last message with its answer.
  void take_back_message();
  void take_back_answer();
  void take_back_turn();

  // A JSON object with "messages"; load() also takes an array of messages.
  void save(const std::string& file) const;
  void load(const std::string& file);

 private:
  std::string role_of_last() const;

  Json messages_ = Json::array();
  std::string system_;
};

}  // namespace tapml::cli
