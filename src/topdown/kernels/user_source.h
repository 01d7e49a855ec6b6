// Sources of kernels that the user wrote (docs/user-kernels.md): the header comment, read.
#pragma once

#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::topdown {

// One launch of a user's kernel.
struct UserLaunch {
  std::string entry;
  // Indices into UserSource::tensors() and the signature's scalars.
  std::vector<int32_t> buffers, scalars;
  PrimExpr extent;  // over the signature's scalars
  int64_t group = 64;
  int line = 0;  // 0: no line of the header says it
};

struct UserSource {
  std::string file;  // as messages name it
  std::string text;
  std::string name;  // that the header gives: `<ops>` or `<ops>_<8 hex>`
  int line = 0;      // of the signature
  // Parameters, and those of mode workspace: memory of the call alone. Without a body.
  tir::PrimFuncRef signature;
  std::vector<UserLaunch> launches;

  // The kernel's parameters, then the workspaces, each in the signature's order.
  std::vector<tir::Param> tensors() const;
  std::string where(int at_line) const { return file + ":" + std::to_string(at_line); }
};

// UserError with file, line and what is expected for a header that is not there or not understood.
UserSource parse_user_source(const std::string& file, const std::string& text);

// The parameters of `func` without workspaces, as text of a signature on one line:
// "(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64)".
std::string signature_text(const tir::PrimFunc& func);

}  // namespace tapml::topdown
