#include "llm/tools/answer_parts.h"

#include <algorithm>
#include <optional>

#include "io/json.h"

namespace tapml::llm {

namespace {

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";
constexpr std::string_view kCall = "<tool_call>", kEndCall = "</tool_call>";
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The length of the longest end of `text` that begins `mark`.
size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length) {
    if (mark.starts_with(text.substr(text.size() - length))) return length;
  }
  return 0;
}

std::optional<ToolCall> call_of(const Json& json) {
  const Json* name = json.find("name");
  const Json* arguments = json.find("arguments");
  if (!arguments) arguments = json.find("parameters");
  if (!name || !name->is_string() || !arguments) return std::nullopt;
  if (arguments->is_string()) return ToolCall{name->as_string(), arguments->as_string()};
  if (!arguments->is_object()) return std::nullopt;
  return ToolCall{name->as_string(), arguments->dump()};
}

std::optional<ToolCall> call_of_text(std::string_view text) {
  const auto json = parse_json(trimmed(text), "answer", {.max_depth = 64});
  if (!json) return std::nullopt;
  return call_of(*json);
}

}  // namespace

bool ends_in_thought(std::string_view prompt) {
  const size_t last = prompt.find_last_not_of(kBlanks);
  return last != std::string_view::npos && prompt.substr(0, last + 1).ends_with(kThink);
}

AnswerParts::AnswerParts(bool begins_in_thought, bool with_tools)
    : state_(begins_in_thought ? State::kThought : State::kStart), with_tools_(with_tools) {}

AnswerDelta AnswerParts::push(std::string_view piece) {
  held_ += piece;
  AnswerDelta delta;
  step(delta, false);
  return delta;
}

AnswerDelta AnswerParts::finish() {
  AnswerDelta delta;
  step(delta, true);
  return delta;
}

void AnswerParts::step(AnswerDelta& delta, bool is_end) {
  if (state_ == State::kStart) {
    const std::string_view begun = trimmed(held_);
    if (!is_end && (begun.empty() || (begun.size() < kThink.size() && kThink.starts_with(begun)))) {
      return;
    }
    if (begun.starts_with(kThink)) {
      held_.erase(0, held_.find(kThink) + kThink.size());
      state_ = State::kThought;
    } else {
      state_ = State::kContent;
    }
  }
  if (state_ == State::kThought) {
    const size_t end = held_.find(kEndThink);
    if (end == std::string::npos) {
      const size_t kept = is_end ? 0 : begun_mark(held_, kEndThink);
      delta.reasoning += held_.substr(0, held_.size() - kept);
      held_.erase(0, held_.size() - kept);
      return;
    }
    delta.reasoning += held_.substr(0, end);
    held_.erase(0, end + kEndThink.size());
    after_thought_ = true;
    state_ = State::kContent;
  }
  if (state_ == State::kContent) {
    if (after_thought_ && !has_content_) {
      held_.erase(0, std::min(held_.find_first_not_of(kBlanks), held_.size()));
    }
    size_t kept = 0;
    if (with_tools_) {
      const std::string_view begun = trimmed(held_);
      const bool is_json = !has_content_ && (begun.starts_with('{') || begun.starts_with('['));
      const size_t call = held_.find(kCall);
      if (is_json || call != std::string::npos) {
        kept = is_json ? held_.size() : held_.size() - call;
        state_ = State::kMaybeCalls;
      } else if (!is_end) {
        kept = !has_content_ && begun.empty() ? held_.size() : begun_mark(held_, kCall);
      }
    }
    const size_t given = held_.size() - kept;
    if (given > 0) has_content_ = true;
    delta.content += held_.substr(0, given);
    held_.erase(0, given);
  }
  if (state_ == State::kMaybeCalls && is_end) {
    std::string content;
    if (!read_calls(held_, content)) content = held_;
    delta.content += content;
    held_.clear();
  }
}

bool AnswerParts::read_calls(std::string_view text, std::string& content) {
  std::vector<ToolCall> calls;
  if (text.find(kCall) != 0) {
    const auto json = parse_json(trimmed(text), "answer", {.max_depth = 64});
    if (!json) return false;
    const std::vector<Json> items = json->is_array() ? json->items() : std::vector<Json>{*json};
    for (const Json& item : items) {
      const auto call = call_of(item);
      if (!call) return false;
      calls.push_back(*call);
    }
  }
  while (text.starts_with(kCall)) {
    text.remove_prefix(kCall.size());
    const size_t end = text.find(kEndCall);
    const auto call = call_of_text(text.substr(0, end));
    if (!call) return false;
    calls.push_back(*call);
    text = end == std::string_view::npos ? "" : text.substr(end + kEndCall.size());
    const size_t next = text.find(kCall);
    content += trimmed(text.substr(0, next));
    text = next == std::string_view::npos ? "" : text.substr(next);
  }
  if (calls.empty()) return false;
  calls_ = std::move(calls);
  return true;
}

}  // namespace tapml::llm
