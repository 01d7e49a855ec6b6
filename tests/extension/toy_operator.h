// An operator that src/ does not know: softsign(x) = x / (1 + |x|).
#pragma once

#include "op/operator.h"

namespace tapml::testing {

const op::OperatorInfo& softsign();

// For text::ParseOptions: the toy operator by its name.
const op::OperatorInfo* find_toy_operator(const std::string& name);

}  // namespace tapml::testing
