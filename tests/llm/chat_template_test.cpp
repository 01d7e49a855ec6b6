// Chat templates against apply_chat_template of transformers.
#include "llm/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/host/files.h"

namespace tapml::llm {
namespace {

const std::string kFolder = std::string(TAPML_SOURCE_DIR) + "/tests/golden/templates/";

Json read_json(const std::string& name) {
  auto text = read_text_file(kFolder + name);
  return *parse_json(*text, name);
}

Json member_or_null(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found ? *found : Json();
}

Json tokens() {
  return Json::object({{"bos_token", Json::string("<s>")},
                       {"eos_token", Json::string("</s>")},
                       {"unk_token", Json::string("<unk>")}});
}

TEST(ChatTemplates, EqualTransformers) {
  const Json templates = read_json("templates.json"), chats = read_json("conversations.json");
  std::ifstream lines(kFolder + "chats.jsonl");
  std::string line;
  int texts = 0;
  while (std::getline(lines, line)) {
    const Json row = *parse_json(line, "chats.jsonl");
    const std::string& name = row.find("template")->as_string();
    const std::string& conversation = row.find("conversation")->as_string();
    SCOPED_TRACE(name + ", " + conversation);
    auto parsed = ChatTemplate::parse(templates.find(name)->as_string(), name, tokens());
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    const Json& chat = *chats.find(conversation);
    ChatTemplateOptions options;
    options.tools = member_or_null(chat, "tools");
    options.documents = member_or_null(chat, "documents");
    options.variables = member_or_null(chat, "variables");
    options.limits.now = 1736942400;
    const Json* generation = chat.find("add_generation_prompt");
    options.add_generation_prompt = !generation || generation->as_bool();
    auto text = parsed->render(*chat.find("messages"), options);
    const Json& expected = *row.find("text");
    if (expected.is_null()) {
      EXPECT_FALSE(text) << *text;
      continue;
    }
    ++texts;
    ASSERT_TRUE(text) << text.error().to_string();
    EXPECT_EQ(*text, expected.as_string());
  }
  EXPECT_GT(texts, 100);
}

}  // namespace
}  // namespace tapml::llm
