// The parts of a model's answer: what it thinks, what it says, and which tools it calls.
//
// Models mark the parts by text: <think>...</think> around thoughts (DeepSeek R1, Qwen 3), and for
// calls one of
//   <tool_call>{"name": ..., "arguments": {...}}</tool_call>    (Hermes, Qwen), several times
//   {"name": ..., "parameters": {...}}                          (Llama 3), the whole answer
//   [{"name": ..., "arguments": {...}}, ...]                    (Mistral), the whole answer
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml::llm {

struct ToolCall {
  std::string name;
  std::string arguments;  // the text of a JSON object
};

struct AnswerDelta {
  std::string content, reasoning;
  bool is_empty() const { return content.empty() && reasoning.empty(); }
};

// Whether a prompt ends with <think>: the answer begins within a thought.
bool ends_in_thought(std::string_view prompt);

// Splits an answer piece by piece. It holds back what may become a mark or a call.
class AnswerParts {
 public:
  // `begins_in_thought`: ends_in_thought() of the prompt. `with_tools`: calls are looked for.
  AnswerParts(bool begins_in_thought, bool with_tools);

  AnswerDelta push(std::string_view piece);
  // The rest, at the end of the answer. What looks like a call and is none is content.
  AnswerDelta finish();
  // After finish().
  const std::vector<ToolCall>& calls() const { return calls_; }

 private:
  enum class State : uint8_t { kStart, kThought, kContent, kMaybeCalls };
  void step(AnswerDelta& delta, bool is_end);
  bool read_calls(std::string_view text, std::string& content);

  State state_;
  const bool with_tools_;
  bool has_content_ = false, after_thought_ = false;
  std::string held_;
  std::vector<ToolCall> calls_;
};

}  // namespace tapml::llm
