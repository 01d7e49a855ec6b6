// Reads custom kernels (docs/custom-kernels.md): parses the header comment.
#pragma once

#include <string>
#include <vector>

#include "codegen/custom/custom_kernels.h"

namespace tapml::topdown {

struct CustomSource : codegen::CustomSource {
  std::string name;  // in the header: `<ops>` or `<ops>_<8 hex>`
};

// UserError with file, line and what is expected for a missing or malformed header.
CustomSource parse_custom_source(const std::string& file, const std::string& text);

// The parameters of `func` without workspaces, as the text of a signature on one line: "(x:
// Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64)".
std::string signature_text(const tir::PrimFunc& func);

}  // namespace tapml::topdown
