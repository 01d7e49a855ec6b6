#include "topdown/reference_run/model_check.h"

#include <cstdio>

#include "base/units.h"

namespace tapml::topdown {

const char* compared_name(const ModelCheck& check) {
  return check.cosine_distance ? "vectors" : "logits";
}

std::string compared_text(const ModelCheck& check) {
  return std::string(compared_name(check)) + " of " +
         counted(check.positions, check.cosine_distance ? "text" : "token");
}

std::string divergence_text(const ModelCheck& check) {
  if (check.first_divergent < 0) return "";
  char margin[32];
  std::snprintf(margin, sizeof margin, "%.2e", check.margin);
  return "token " + std::to_string(check.first_divergent) +
         " after the prompt: " + std::to_string(check.own_token) +
         ", where the reference prefers " + std::to_string(check.reference_token) + " by " + margin;
}

}  // namespace tapml::topdown
