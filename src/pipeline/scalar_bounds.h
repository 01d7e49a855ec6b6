// Upper bounds on the sizes of a module's kernels. Private to pipeline/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/plan_memory.h"

namespace tapml::pipeline {

// For each kernel, the maximum of each scalar of its tensor program over all calls, according to
// the given bounds and those in attributes of the module and functions ("bound.n"); nullopt if some
// call has no bound.
std::map<std::string, std::vector<std::optional<int64_t>>> scalar_bounds(
    const Module& fixed, const passes::Bounds& given = {});

}  // namespace tapml::pipeline
