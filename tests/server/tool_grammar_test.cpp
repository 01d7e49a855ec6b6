#include "server/openai/tool_grammar.h"

#include <gtest/gtest.h>

#include "llm/grammar/token_mask.h"

namespace tapml::server {
namespace {

ChatRequest request_of(const std::string& members) {
  auto request =
      read_chat_request(R"({"messages": [{"role": "user", "content": "a"}], )" + members + "}");
  EXPECT_TRUE(request) << request.error().message;
  return std::move(request).value_or(ChatRequest());
}

const std::string kTools = R"("tools": [
    {"type": "function", "function": {"name": "add", "parameters": {"$defs": {"n": {"type": "integer"}},
        "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}}},
    {"type": "function", "function": {"name": "now"}},
    {"type": "function", "function": {"name": "odd", "parameters": {"type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}}}}}])";

class Calls {
 public:
  Calls(const std::string& members, CallForm form, bool begins_in_thought = false) {
    const auto grammar = tool_grammar(request_of(members), form, begins_in_thought);
    EXPECT_TRUE(grammar) << grammar.error().message;
    if (grammar) mask_.emplace(*grammar, none_, std::vector<int32_t>());
  }
  bool allow(const std::string& text) { return mask_ && mask_->matches(text); }

 private:
  const llm::TokenTexts none_;
  std::optional<llm::TokenMask> mask_;
};

TEST(ToolGrammar, HasTheFormOfTheModel) {
  const std::string required = kTools + R"(, "tool_choice": "required")";
  const std::string call = R"({"name": "add", "arguments": {"a": 1}})";
  const std::string tagged = "<tool_call>\n" + call + "\n</tool_call>";
  Calls tags(required, CallForm::kTagged);
  EXPECT_TRUE(tags.allow(tagged));
  EXPECT_TRUE(tags.allow(tagged + "\n" + tagged));
  EXPECT_TRUE(tags.allow("<think>Which? a < b</think>\n\n" + tagged));
  EXPECT_FALSE(tags.allow(call));
  EXPECT_FALSE(tags.allow("Well. " + tagged));
  EXPECT_FALSE(tags.allow("Which?</think>" + tagged));
  Calls list(required, CallForm::kList);
  EXPECT_TRUE(list.allow("[" + call + "]"));
  EXPECT_TRUE(list.allow("[" + call + "," + call + "]"));
  EXPECT_FALSE(list.allow("[]"));
  Calls object(required, CallForm::kObject);
  EXPECT_TRUE(object.allow(R"({"name": "add", "parameters": {"a": 1}})"));
  EXPECT_FALSE(object.allow(call));
  Calls thinks(required, CallForm::kTagged, true);
  EXPECT_TRUE(thinks.allow("Which?</think>" + tagged));
  EXPECT_FALSE(thinks.allow(tagged));
}

TEST(ToolGrammar, ArgumentsFollowTheSchemaOfTheTool) {
  Calls any(kTools + R"(, "tool_choice": "required")", CallForm::kList);
  EXPECT_TRUE(any.allow(R"([{"name": "add", "arguments": {"a": -12}}])"));
  EXPECT_FALSE(any.allow(R"([{"name": "add", "arguments": {"a": "1"}}])"));
  EXPECT_FALSE(any.allow(R"([{"name": "add", "arguments": {}}])"));
  EXPECT_FALSE(any.allow(R"([{"name": "sub", "arguments": {"a": 1}}])"));
  EXPECT_TRUE(any.allow(R"([{"name": "now", "arguments": {}}])"));
  // A schema with keywords that a grammar cannot have: any object.
  EXPECT_TRUE(any.allow(R"([{"name": "odd", "arguments": {"b": [1]}}])"));
  EXPECT_FALSE(any.allow(R"([{"name": "odd", "arguments": 1}])"));
}

TEST(ToolGrammar, IsOfTheChosenToolAndOfOneCall) {
  Calls named(kTools + R"(, "tool_choice": {"type": "function", "function": {"name": "now"}})",
              CallForm::kList);
  EXPECT_TRUE(named.allow(R"([{"name": "now", "arguments": {}}])"));
  EXPECT_FALSE(named.allow(R"([{"name": "add", "arguments": {"a": 1}}])"));
  const std::string one = R"(, "tool_choice": "required", "parallel_tool_calls": false)";
  const std::string call = R"({"name": "now", "arguments": {}})";
  Calls single(kTools + one, CallForm::kList);
  EXPECT_TRUE(single.allow("[" + call + "]"));
  EXPECT_FALSE(single.allow("[" + call + "," + call + "]"));
}

TEST(ToolGrammar, RefusesAStrictToolThatItCannotFollow) {
  const ChatRequest request = request_of(
      R"("tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f",
          "strict": true, "parameters": {"type": "integer", "minimum": 3}}}])");
  const auto grammar = tool_grammar(request, CallForm::kList, false);
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().param, "tools");
  EXPECT_NE(grammar.error().message.find("minimum"), std::string::npos);
}

}  // namespace
}  // namespace tapml::server
