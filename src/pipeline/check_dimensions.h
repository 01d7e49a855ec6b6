// Rejects invalid dimensions. Private to pipeline/.
#pragma once

#include <string>

#include "ir/module.h"
#include "text/source_map.h"

namespace tapml::pipeline {

// Throws a UserError if a tensor or buffer in the source text has a dimension that is a negative
// constant or divides by a constant zero. Results of passes are not checked: a branch that is never
// taken may have such a dimension once its function is inlined.
void check_dimensions(const Module& module, const std::string& source,
                      const text::SourceMap* places);

}  // namespace tapml::pipeline
