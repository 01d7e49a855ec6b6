#include "llm/stop_texts.h"

#include <algorithm>
#include <utility>

namespace tapml::llm {

StopTexts::StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  std::erase_if(texts_, [](const std::string& text) { return text.empty(); });
}

std::string StopTexts::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  size_t found = std::string::npos;
  for (const std::string& text : texts_) found = std::min(found, held_.find(text));
  if (found != std::string::npos) {
    stopped_ = true;
    std::string before = held_.substr(0, found);
    held_.clear();
    return before;
  }
  // The longest end that begins a stop text.
  size_t keep = 0;
  for (const std::string& text : texts_) {
    for (size_t size = std::min(text.size() - 1, held_.size()); size > keep; --size) {
      if (held_.ends_with(std::string_view(text).substr(0, size))) keep = size;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopTexts::finish() { return std::exchange(held_, {}); }

}  // namespace tapml::llm
