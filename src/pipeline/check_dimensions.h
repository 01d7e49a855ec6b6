// Dimensions that no tensor can have. Private to pipeline/.
#pragma once

#include <string>

#include "ir/module.h"
#include "text/source_map.h"

namespace tapml::pipeline {

// UserError where a written tensor or buffer has a dimension that is a negative constant, or one
// that divides by a constant zero. What passes make is not looked at: a branch that is never taken
// may have such a dimension once its function is inlined.
void check_dimensions(const Module& module, const std::string& source,
                      const text::SourceMap* places);

}  // namespace tapml::pipeline
