// Sampling options as options of a command.
#pragma once

#include <string>

#include "llm/sampler.h"

namespace tapml::topdown {

// " --temperature 0.8 --seed 3": the options that are not the default; empty for temperature 0.
std::string sampler_words(const llm::SamplerOptions& sampler);

}  // namespace tapml::topdown
