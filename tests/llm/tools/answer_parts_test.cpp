#include "llm/tools/answer_parts.h"

#include <gtest/gtest.h>

namespace tapml::llm {
namespace {

struct Parts {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
};

// The parts of an answer that comes in pieces of `size` bytes.
Parts split(std::string_view answer, size_t size, bool begins_in_thought = false,
            bool with_tools = true) {
  AnswerParts parts(begins_in_thought, with_tools);
  Parts result;
  const auto add = [&](const AnswerDelta& delta) {
    result.content += delta.content;
    result.reasoning += delta.reasoning;
  };
  for (size_t at = 0; at < answer.size(); at += size) add(parts.push(answer.substr(at, size)));
  add(parts.finish());
  result.calls = parts.calls();
  return result;
}

TEST(AnswerParts, DoNotDependOnThePieces) {
  struct Case {
    std::string answer, content, reasoning;
    std::vector<std::string> calls;
    bool begins_in_thought = false;
  };
  const std::vector<Case> cases = {
      {"Hello.", "Hello.", "", {}},
      {"", "", "", {}},
      {" Hello.\n", " Hello.\n", "", {}},
      {"<think>Is it?</think>\n\nIt is.", "It is.", "Is it?", {}},
      {"\n<think>\nIs it?\n</think>It is.", "It is.", "\nIs it?\n", {}},
      {"Is it?</think>It is.", "It is.", "Is it?", {}, true},
      {"Is it </thin", "", "Is it </thin", {}, true},
      {"<thin line", "<thin line", "", {}},
      {"a <think>b</think>", "a <think>b</think>", "", {}},
      {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
       "",
       "",
       {"f{\"a\":1}"}},
      {"Wait. <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n"
       "<tool_call>{\"name\": \"g\", \"arguments\": {\"b\": [2]}}</tool_call>",
       "Wait. ",
       "",
       {"f{}", "g{\"b\":[2]}"}},
      {"<think>Call.</think><tool_call>{\"name\": \"f\", \"arguments\": {}}", "", "Call.", {"f{}"}},
      {"{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}", "", "", {"f{\"a\":\"x\"}"}},
      {" [{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]",
       "",
       "",
       {"f{}", "g{}"}},
      {"{\"a\": 1}", "{\"a\": 1}", "", {}},
      {"[1, 2]", "[1, 2]", "", {}},
      {"<tool_call>{\"name\": \"f\"</tool_call>",
       "<tool_call>{\"name\": \"f\"</tool_call>",
       "",
       {}},
      {"<tool_call", "<tool_call", "", {}},
      {"a < b", "a < b", "", {}},
  };
  for (const Case& one : cases) {
    for (const size_t size : {1u, 2u, 3u, 7u, 1000u}) {
      SCOPED_TRACE(one.answer + " in pieces of " + std::to_string(size));
      const Parts parts = split(one.answer, size, one.begins_in_thought);
      EXPECT_EQ(parts.content, one.content);
      EXPECT_EQ(parts.reasoning, one.reasoning);
      std::vector<std::string> calls;
      for (const ToolCall& call : parts.calls) calls.push_back(call.name + call.arguments);
      EXPECT_EQ(calls, one.calls);
    }
  }
}

TEST(AnswerParts, WithoutToolsCallsAreText) {
  const std::string call = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  EXPECT_EQ(split(call, 3, false, false).content, call);
  EXPECT_EQ(split("{\"name\": \"f\", \"parameters\": {}}", 3, false, false).calls.size(), 0u);
}

TEST(AnswerParts, ContentIsGivenAsSoonAsItIsCertain) {
  AnswerParts parts(false, true);
  EXPECT_EQ(parts.push("It").content, "It");
  EXPECT_EQ(parts.push(" is <").content, " is ");
  EXPECT_EQ(parts.push("b").content, "<b");
}

}  // namespace
}  // namespace tapml::llm
