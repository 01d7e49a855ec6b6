#include "topdown/reference_run/repeated_check.h"

namespace tapml::topdown {

RepeatedCheck repeat_check(const ModelCheck& first, const std::set<std::string>& on_target,
                           const std::function<ModelCheck()>& check) {
  RepeatedCheck repeated;
  if (first.passed) return repeated;
  repeated.runs = repeated.wrong = 1;
  bool hung = first.hung;
  while (repeated.runs < RepeatedCheck::kRuns && !hung) {
    const ModelCheck again = check();
    ++repeated.runs;
    repeated.wrong += again.passed ? 0 : 1;
    hung = again.hung;
  }
  if (repeated.flaky()) repeated.candidates.assign(on_target.begin(), on_target.end());
  return repeated;
}

std::string flaky_text(const RepeatedCheck& repeated) {
  if (!repeated.flaky()) return "";
  std::string text = "flaky: the model was wrong in " + std::to_string(repeated.wrong) + " of " +
                     std::to_string(repeated.runs) + " runs; candidates: ";
  for (size_t i = 0; i < repeated.candidates.size(); ++i) {
    text += (i == 0 ? "" : ", ") + repeated.candidates[i];
  }
  return text;
}

}  // namespace tapml::topdown
