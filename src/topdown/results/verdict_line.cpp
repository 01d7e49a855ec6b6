#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

const char* verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kNotProven:
      return "NOT PROVEN";
  }
  return "";
}

std::string VerdictLine::text() const {
  std::string text = verdict_word(verdict);
  for (const std::string& count : counts) text += (&count == counts.data() ? " " : ", ") + count;
  return text;
}

std::string count_of(int64_t number, const std::string& thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string share_of(int64_t part, int64_t all, const std::string& thing) {
  return std::to_string(part) + " of " + count_of(all, thing);
}

}  // namespace tapml::topdown
