#include "topdown/results/sampler_words.h"

#include "io/json.h"

namespace tapml::topdown {

std::string sampler_words(const llm::SamplerOptions& sampler) {
  if (sampler.temperature == 0) return "";
  const llm::SamplerOptions defaults;
  std::string words = " --temperature " + Json::number(sampler.temperature).dump();
  if (sampler.top_p != defaults.top_p) words += " --top-p " + Json::number(sampler.top_p).dump();
  if (sampler.top_k != defaults.top_k) words += " --top-k " + std::to_string(sampler.top_k);
  if (sampler.seed != defaults.seed) words += " --seed " + std::to_string(sampler.seed);
  return words;
}

}  // namespace tapml::topdown
