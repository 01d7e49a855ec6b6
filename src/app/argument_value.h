// One argument's value as people write it (docs/cli.md, exec).
#pragma once

#include <string>
#include <string_view>

#include "app/host_value.h"
#include "arith/evaluate.h"
#include "relax/annotation.h"

namespace tapml::app {

// The forms of a value, for messages.
inline constexpr const char* kArgumentForms =
    "FILE:NAME, f32[2, 3]:[1, 2, ...], f32[2]:random(1), i32(5), 5, true, prim(5), shape(2, 3), "
    "(VALUE, VALUE), @FUNCTION";

// Parses `text` for a parameter of this annotation, which supplies what the text leaves out:
// dtypes, and shapes whose variables have values in `sizes`. UserError that names the parameter.
HostValue read_argument(std::string_view text, const std::string& parameter,
                        const relax::Annotation& annotation, const arith::Values& sizes);

}  // namespace tapml::app
