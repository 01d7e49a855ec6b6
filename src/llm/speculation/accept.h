// The rule that accepts or refuses a token that was drawn from another distribution.
#pragma once

#include "llm/sampler.h"

namespace tapml::llm {

// A token with the distribution `wanted`, given one that was drawn from `drawn_from` (speculative
// sampling: Leviathan et al., ICML 2023, and Chen et al., 2023). With the probabilities p of
// `wanted` and q of `drawn_from`, it is the proposed token x with the probability min(1, p(x) /
// q(x)); otherwise it is drawn in proportion to max(0, p - q), which x cannot be. Takes one or two
// draws of the generator.
int32_t accept_or_redraw(const Candidates& wanted, const Candidates& drawn_from, int32_t proposed,
                         HostTensor& generator);

}  // namespace tapml::llm
