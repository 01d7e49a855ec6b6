// Which candidates a guided generator accepts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/rng.h"

namespace tapml::fuzz {

enum class Policy : uint8_t {
  kPaper,      // a candidate that adds to any criterion
  kPublished,  // the odds of HirGen's published code, which depend on how many criteria it adds to
  kNone,       // every candidate
};
const char* policy_name(Policy policy);  // "paper", "published", "none"
std::optional<Policy> policy_of(std::string_view name);

// Whether a candidate that adds to `added` of the three criteria is accepted.
bool accepts(Policy policy, int added, RandomStream& rng);

}  // namespace tapml::fuzz
