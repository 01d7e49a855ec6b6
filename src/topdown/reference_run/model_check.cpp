#include "topdown/reference_run/model_check.h"

#include <cstdio>

namespace tapml::topdown {

std::string divergence_text(const ModelCheck& check) {
  if (check.first_divergent < 0) return "";
  char margin[32];
  std::snprintf(margin, sizeof margin, "%.2e", check.margin);
  return "token " + std::to_string(check.first_divergent) +
         " after the prompt: " + std::to_string(check.own_token) +
         ", where the reference prefers " + std::to_string(check.reference_token) + " by " + margin;
}

}  // namespace tapml::topdown
