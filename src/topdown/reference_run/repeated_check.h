// Whether a model that was wrong is wrong each time.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "topdown/reference_run/model_check.h"

namespace tapml::topdown {

// A check of the model that failed, and was made again.
struct RepeatedCheck {
  static constexpr int64_t kRuns = 5;
  int64_t runs = 0, wrong = 0;
  // Kernels, one of which is at fault, where the model was not wrong in each run: those that were
  // on the target.
  std::vector<std::string> candidates;

  bool flaky() const { return wrong < runs; }
};
// `first` failed, or this is empty. `check` makes it again: kRuns in all, or one where it hangs.
RepeatedCheck repeat_check(const ModelCheck& first, const std::set<std::string>& on_target,
                           const std::function<ModelCheck()>& check);
// "flaky: wrong in 2 of 5 runs; candidates: a, b"; empty where it is not.
std::string flaky_text(const RepeatedCheck& repeated);

}  // namespace tapml::topdown
