// How large a module's kernels can get. Private to pipeline/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/plan_memory.h"

namespace tapml::pipeline {

// The most that each scalar of a kernel's tensor program is at any of its calls, by the bounds that
// are given and those that module and functions state ("bound.n"); nothing where some call has
// none. By kernel.
std::map<std::string, std::vector<std::optional<int64_t>>> scalar_bounds(
    const Module& fixed, const passes::Bounds& given = {});

}  // namespace tapml::pipeline
