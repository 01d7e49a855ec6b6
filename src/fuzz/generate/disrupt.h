// Programs that break exactly one rule (HirGen's disruptive generation, section 3.1.5): the
// compiler must refuse them with a diagnostic.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/generate/coverage.h"
#include "fuzz/generate/policy.h"
#include "ir/module.h"

namespace tapml::fuzz {

struct DisruptOptions {
  Policy policy = Policy::kPublished;
  int operators = 10;  // at most; half of the programs have one
};

struct Disrupted {
  Module module;
  std::string rule;                   // the broken one: a name of disruption_rules()
  std::string op;                     // the operator of the call that breaks it; may be empty
  std::vector<std::string> expected;  // parts of the diagnostic
  Coverage added;                     // (operator, shape, dtype, rule), what the snapshot lacks
};

// A pure function of its arguments. Guided policies prefer tuples that the snapshot lacks.
Disrupted disrupt(uint64_t seed, const Coverage& snapshot, const DisruptOptions& options);

struct DisruptionRule {
  const char* name;
  const char* doc;
};
std::span<const DisruptionRule> disruption_rules();

}  // namespace tapml::fuzz
