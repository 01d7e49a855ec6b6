// What clients ask, and what is refused.
#include "server/openai/request.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tapml::server {
namespace {

const std::string kMessages = R"("messages": [{"role": "user", "content": "Hello"}])";

ChatRequest chat(const std::string& members) {
  const auto request = read_chat_request("{" + kMessages + members + "}");
  EXPECT_TRUE(request) << members << ": " << request.error().message;
  return request.value_or(ChatRequest{});
}

TEST(ChatRequest, HasTheDefaultsOfTheInterface) {
  const ChatRequest request = chat("");
  const GenerationRequest& generation = request.generation;
  EXPECT_EQ(generation.sampler.temperature, 1);
  EXPECT_EQ(generation.sampler.top_p, 1);
  EXPECT_FALSE(generation.max_tokens);
  EXPECT_EQ(generation.choices, 1);
  EXPECT_EQ(generation.top_probabilities, -1);
  EXPECT_FALSE(generation.stream);
  EXPECT_TRUE(generation.rules.is_empty());
  EXPECT_FALSE(request.has_tools);
  EXPECT_NE(generation.sampler.seed, chat("").generation.sampler.seed) << "a random one";
}

TEST(ChatRequest, ReadsEachMember) {
  const ChatRequest request = chat(R"(, "model": "m", "max_completion_tokens": 5,
      "temperature": 0.5, "top_p": 0.25, "top_k": -1, "min_p": 0.125, "seed": 7, "n": 3,
      "presence_penalty": -1, "frequency_penalty": 2, "repetition_penalty": 1.5,
      "logit_bias": {"3": -100, "4": 2.5}, "stop": "x", "stream": true,
      "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 2,
      "chat_template_kwargs": {"enable_thinking": false}, "user": "someone", "unknown": [1])");
  const GenerationRequest& generation = request.generation;
  EXPECT_EQ(generation.model, "m");
  EXPECT_EQ(generation.max_tokens, 5);
  EXPECT_EQ(generation.sampler.temperature, 0.5);
  EXPECT_EQ(generation.sampler.top_p, 0.25);
  EXPECT_EQ(generation.sampler.top_k, 0);
  EXPECT_EQ(generation.sampler.seed, 7u);
  EXPECT_EQ(generation.rules.min_p, 0.125);
  EXPECT_EQ(generation.rules.presence_penalty, -1);
  EXPECT_EQ(generation.rules.frequency_penalty, 2);
  EXPECT_EQ(generation.rules.repetition_penalty, 1.5);
  EXPECT_TRUE(std::isinf(generation.rules.bias.at(3))) << "-100 excludes a token";
  EXPECT_EQ(generation.rules.bias.at(4), 2.5);
  EXPECT_EQ(generation.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(generation.choices, 3);
  EXPECT_TRUE(generation.stream && generation.stream_usage);
  EXPECT_EQ(generation.top_probabilities, 2);
  EXPECT_NE(request.render.variables.find("enable_thinking"), nullptr);
}

TEST(ChatRequest, MakesOfMessagesWhatTemplatesTake) {
  const auto request = read_chat_request(R"({"messages": [
      {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
          "function": {"name": "f", "arguments": "{\"x\": 1}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "2"}],
      "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]})");
  ASSERT_TRUE(request) << request.error().message;
  const auto& messages = request->messages.items();
  EXPECT_EQ(messages[0].find("role")->as_string(), "system");
  EXPECT_EQ(messages[0].find("content")->as_string(), "ab");
  const Json& call = messages[1].find("tool_calls")->items()[0];
  EXPECT_EQ(call.find("function")->find("arguments")->find("x")->as_integer(), 1);
  EXPECT_TRUE(request->has_tools);
  EXPECT_FALSE(chat(R"(, "tools": [{"type": "function", "function": {"name": "f"}}],
      "tool_choice": "none")")
                   .has_tools);
}

TEST(ChatRequest, HasTheGrammarOfItsFormat) {
  EXPECT_FALSE(chat(R"(, "response_format": {"type": "text"})").generation.grammar);
  EXPECT_TRUE(chat(R"(, "response_format": {"type": "json_object"})").generation.grammar);
  EXPECT_TRUE(chat(R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "n",
      "strict": true, "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}})")
                  .generation.grammar);
  EXPECT_TRUE(chat(R"(, "grammar": "root ::= \"a\"")").generation.grammar);
}

TEST(ChatRequest, RefusesWhatIsWrongAndNamesIt) {
  const auto refused = [](const std::string& members, const std::string& param,
                          const std::string& says = "") {
    const auto request = read_chat_request("{" + kMessages + members + "}");
    ASSERT_FALSE(request) << members;
    EXPECT_EQ(request.error().status, 400);
    EXPECT_EQ(request.error().param, param) << members;
    EXPECT_NE(request.error().message.find(says), std::string::npos) << request.error().message;
  };
  refused(R"(, "temperature": "hot")", "temperature", "request:1:");
  refused(R"(, "temperature": -1)", "temperature");
  refused(R"(, "temperature": 1e999)", "", "number");
  refused(R"(, "top_p": 0)", "top_p");
  refused(R"(, "max_tokens": 0)", "max_tokens");
  refused(R"(, "max_tokens": 1.5)", "max_tokens");
  refused(R"(, "n": 17)", "n");
  refused(R"(, "seed": "a")", "seed");
  refused(R"(, "stop": [1])", "stop");
  refused(R"(, "stop": {})", "stop");
  refused(R"(, "logit_bias": {"x": 1})", "logit_bias");
  refused(R"(, "logit_bias": {"1": 101})", "logit_bias");
  refused(R"(, "logit_bias": [1])", "logit_bias");
  refused(R"(, "top_logprobs": 3)", "top_logprobs", "logprobs");
  refused(R"(, "logprobs": true, "top_logprobs": 21)", "top_logprobs");
  refused(R"(, "stream": 1)", "stream");
  refused(R"(, "response_format": {"type": "xml"})", "response_format", "xml");
  refused(R"(, "response_format": {"type": "json_schema"})", "response_format", "json_schema");
  refused(R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "n"}})",
          "response_format", "no \"schema\"");
  refused(R"(, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 1}}})",
          "response_format", "request:1:");
  refused(R"(, "response_format": {"type": "json_object"}, "grammar": "root ::= \"a\"")",
          "response_format", "one of");
  refused(R"(, "grammar": "root = a")", "grammar", "grammar:1:");
  refused(R"(, "tool_choice": "required")", "tool_choice", "no tools");
  const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "f"}}])";
  refused(tools + R"(, "tool_choice": "always")", "tool_choice", "required");
  refused(tools + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})",
          "tool_choice", "\"g\"");
  refused(tools + R"(, "tool_choice": "required", "grammar": "root ::= \"a\"")", "tool_choice",
          "grammar");
  refused(R"(, "parallel_tool_calls": 1)", "parallel_tool_calls");
  refused(R"(, "tools": [{"type": "function"}])", "tools");
  refused(R"(, "functions": [])", "functions", "not served");
  refused(R"(, "messages": [])", "", "messages");  // a member twice
  for (const char* body :
       {"", "[]", "null", "{}", R"({"messages": 1})", R"({"messages": []})", R"({"messages": [1]})",
        R"({"messages": [{"role": "user"}]})", R"({"messages": [{"content": "a"}]})",
        R"({"messages": [{"role": "user", "content": 3}]})",
        R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
        R"({"messages": [{"role": "user", "content": [{}]}]})",
        "{\"messages\": [{\"role\": \"\xff\"}]}"}) {
    const auto request = read_chat_request(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().status, 400) << body;
    EXPECT_FALSE(request.error().message.empty());
  }
}

TEST(CompletionRequest, TakesTextsAndTokens) {
  const auto prompts = [](const std::string& prompt) {
    const auto request = read_completion_request(R"({"prompt": )" + prompt + "}");
    EXPECT_TRUE(request) << prompt;
    return request ? request->prompts.size() : 0;
  };
  EXPECT_EQ(prompts(R"("a")"), 1u);
  EXPECT_EQ(prompts(R"(["a", "b"])"), 2u);
  EXPECT_EQ(prompts("[1, 2]"), 1u);
  EXPECT_EQ(prompts("[[1, 2], [3]]"), 2u);
  EXPECT_EQ(prompts(R"(["a", [3]])"), 2u);
  EXPECT_EQ(read_completion_request(R"({"prompt": "a"})")->generation.max_tokens, 16);
  for (const char* wrong :
       {R"({})", R"({"prompt": 1})", R"({"prompt": []})", R"({"prompt": [[]]})",
        R"({"prompt": [-1]})", R"({"prompt": [1, "a"]})", R"({"prompt": ["a", 1]})",
        R"({"prompt": "a", "echo": true})", R"({"prompt": "a", "best_of": 2})",
        R"({"prompt": "a", "suffix": "b"})", R"({"prompt": ["a", "b"], "n": 9})",
        R"({"prompt": "a", "logprobs": true})"}) {
    EXPECT_FALSE(read_completion_request(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tapml::server
