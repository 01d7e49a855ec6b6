// Chat templates against apply_chat_template of transformers.
#include "llm/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/host/files.h"
#include "support/expect_error.h"
#include "support/golden_path.h"
#include "support/temp_folder.h"

namespace tapml::llm {
namespace {

const std::string kFolder = testing::golden_path("templates/");

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
    const auto parsed = ChatTemplate::parse(templates.find(name)->as_string(), name, tokens());
    const Json& chat = *chats.find(conversation);
    ChatTemplateOptions options;
    options.tools = member_or_null(chat, "tools");
    options.documents = member_or_null(chat, "documents");
    options.variables = member_or_null(chat, "variables");
    options.limits.now = 1736942400;
    const Json* generation = chat.find("add_generation_prompt");
    options.add_generation_prompt = !generation || generation->as_bool();
    const auto text = parsed ? parsed->render(*chat.find("messages"), options)
                             : Result<std::string>(fail(parsed.error()));
    const Json& expected = *row.find("text");
    if (expected.is_null()) {
      EXPECT_FALSE(text) << *text;
      continue;
    }
    ++texts;
    EXPECT_TRUE(text) << text.error().to_string();
    if (!text) continue;
    EXPECT_EQ(*text, expected.as_string());
  }
  EXPECT_GT(texts, 100);
}

using testing::TempFolder;
using testing::write_bytes;

// The first message through the template of a folder.
std::string rendered(const TempFolder& folder, const Json& tools = Json()) {
  auto found = read_chat_template(folder.path());
  if (!found) return found.error().to_string();
  if (!*found) return "none";
  const Json messages = *parse_json(R"([{"role": "user", "content": "hi"}])", "m");
  auto text = (*found)->render(messages, {.tools = tools});
  return text ? *text : text.error().to_string();
}

TEST(ChatTemplateFolder, HasItInOneOfItsFiles) {
  TempFolder folder;
  EXPECT_EQ(rendered(folder), "none");
  write_bytes(folder / "chat_template.json", R"({"chat_template": "processor"})");
  EXPECT_EQ(rendered(folder), "processor");
  write_bytes(folder / "tokenizer_config.json",
              R"({"bos_token": {"content": "<s>"}, "chat_template": "{{ bos_token }}config"})");
  EXPECT_EQ(rendered(folder), "<s>config");
  write_bytes(folder / "special_tokens_map.json",
              R"({"bos_token": "<other>", "eos_token": "</s>"})");
  write_bytes(folder / "chat_template.jinja", "{{ bos_token ~ eos_token }}file");
  EXPECT_EQ(rendered(folder), "<s></s>file");
  std::filesystem::create_directory(folder / "additional_chat_templates");
  write_bytes(folder / "additional_chat_templates/tool_use.jinja", "tools {{ tools }}");
  EXPECT_EQ(rendered(folder), "<s></s>file");
  EXPECT_EQ(rendered(folder, Json::array()), "tools []");
}

// The metadata of a GGUF file have this form.
TEST(ChatTemplates, OfATokenizersConfiguration) {
  const std::string text =
      R"({"bos_token": "<s>", "chat_template": "{{ bos_token }}{{ messages[0].content }}"})";
  const auto made = chat_template_of_config(text, "model.gguf");
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(*made);
  const Json messages = *parse_json(R"([{"role": "user", "content": "Hello"}])", "messages");
  EXPECT_EQ(*(*made)->render(messages), "<s>Hello");
  const auto none = chat_template_of_config(R"({"bos_token": "<s>"})", "model.gguf");
  ASSERT_TRUE(none) << none.error().to_string();
  EXPECT_FALSE(*none);
  const auto broken = chat_template_of_config(R"({"chat_template": "{{"})", "model.gguf");
  ASSERT_FALSE(broken);
  testing::expect_parts(broken.error(), {"model.gguf"});
  EXPECT_EQ(special_tokens_of_config(text, "model.gguf")->dump(), R"({"bos_token":"<s>"})");
}

TEST(ChatTemplateFolder, MayHaveSeveralByName) {
  TempFolder folder;
  write_bytes(folder / "tokenizer_config.json",
              R"({"chat_template": [{"name": "default", "template": "plain"},
                                    {"name": "tool_use", "template": "tools"}]})");
  EXPECT_EQ(rendered(folder), "plain");
  EXPECT_EQ(rendered(folder, Json::array()), "tools");
  write_bytes(folder / "tokenizer_config.json",
              R"({"chat_template": [{"name": "rag", "template": "plain"}]})");
  EXPECT_NE(rendered(folder).find("none of the chat templates is the default one"),
            std::string::npos);
}

TEST(ChatTemplateFolder, RefusesOtherFields) {
  TempFolder folder;
  const auto refuses = [&](const std::string& config, const std::vector<std::string>& parts) {
    write_bytes(folder / "tokenizer_config.json", config);
    auto found = read_chat_template(folder.path());
    ASSERT_FALSE(found) << config;
    EXPECT_EQ(found.error().kind, ErrorKind::kUser);
    testing::expect_parts(found.error(), parts);
  };
  refuses(R"({"chat_template": 5})", {"tokenizer_config.json", "is not a template"});
  refuses(R"({"chat_template": [{"name": "default"}]})", {"chat_template[0]", "template"});
  refuses(R"({"chat_template": "{% if"})", {"tokenizer_config.json:1:1", "a tag does not end"});
  refuses("[", {"tokenizer_config.json"});
}

TEST(ChatTemplates, RefuseOtherMessages) {
  const auto parsed = ChatTemplate::parse("x", "t");
  for (const char* messages : {"[]", "{}", "5", "[5]"}) {
    const auto text = parsed->render(*parse_json(messages, "m"));
    ASSERT_FALSE(text) << messages;
    EXPECT_EQ(text.error().kind, ErrorKind::kUser);
  }
}

}  // namespace
}  // namespace tapml::llm
