// Texts that end an answer and are not part of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml::llm {

// Holds back what may be the beginning of a stop text, so that no part of one is given away, even
// where it begins in one piece and ends in another.
class StopTexts {
 public:
  // Empty texts are ignored.
  explicit StopTexts(std::vector<std::string> texts);

  // What is certain to belong to the answer. Nothing after a stop text.
  std::string push(std::string_view piece);
  // The rest, at the end of the answer.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> texts_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace tapml::llm
