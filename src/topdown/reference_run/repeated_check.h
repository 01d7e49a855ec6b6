// Whether a wrong model is wrong in each run.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "topdown/reference_run/model_check.h"

namespace tapml::topdown {

// A failed check of the model, repeated.
struct RepeatedCheck {
  static constexpr int64_t kRuns = 5;
  int64_t runs = 0, wrong = 0;
  // The kernels on the target, one of which is at fault, if the model was not wrong in each run.
  std::vector<std::string> candidates;

  bool flaky() const { return wrong < runs; }
};
// `first` failed, or the result is empty. Repeats `check` up to kRuns in all, or once if it hangs.
RepeatedCheck repeat_check(const ModelCheck& first, const std::set<std::string>& on_target,
                           const std::function<ModelCheck()>& check);
// "flaky: wrong in 2 of 5 runs; candidates: a, b"; empty if it is not flaky.
std::string flaky_text(const RepeatedCheck& repeated);

}  // namespace tapml::topdown
