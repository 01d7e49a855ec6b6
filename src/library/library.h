// Libraries with routines that can implement a CPU kernel: which specs they match, and how they are
// called (Relax paper, section 4.6). A routine never changes the kernel itself: it is an
// alternative to a schedule, chosen after kernels are formed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/libraries.h"
#include "relax/expr.h"

namespace tapml::library {

// A tensor of a matched kernel; dims are over the scalars of its tensor program.
struct Operand {
  int32_t param = 0;  // of the kernel's signature
  DType dtype = DType::kF32;
  Dims dims;
};

// A kernel's spec, as matched by a pattern.
struct Matched {
  std::vector<const relax::CallNode*> calls;  // in program order
  std::vector<Operand> inputs;                // matched by the pattern's parameters
  Operand output;

  // The attributes of call i, with defaults.
  AttrMap attributes(size_t i) const;
};

// One way to use a routine.
struct Pattern {
  const char* routine;
  // A pattern (build/pattern_builder.h).
  relax::FunctionRef (*pattern)();
  // The parameters of the routine besides the tensors; nothing if it cannot compute this kernel.
  std::optional<std::vector<int64_t>> (*parameters)(const Matched& kernel);
  // Whether it was measured faster than generated code (bench/library_cases.cpp,
  // docs/libraries.md). False unless provable for all values of symbolic dimensions.
  bool (*faster)(const Matched& kernel);
};

// A routine with its signature (include/tapml/library.h).
struct Routine {
  const char* name;
  const char* signature;
};

struct Library {
  const char* name;
  std::span<const Pattern> patterns;
  std::span<const Routine> routines;
};

// The libraries that tapml knows (abi/libraries.h); option `libs` of the cpu target names them.
std::span<const Library> libraries();

// ---- for patterns

// Whether all tensors have this dtype.
bool all_of_dtype(const Matched& kernel, DType dtype);
// Whether dim >= least is provable for all values of the variables (which are not negative).
bool is_at_least(const PrimExpr& dim, int64_t least);
bool never(const Matched& kernel);
// A pattern of one call of the operators (joined by '|') with any operands.
relax::FunctionRef one_call(const std::string& operators, size_t operands);

// Each library's folder defines its patterns and the signatures of its routines.
#define TAPML_DECLARE_PATTERNS(name)          \
  std::span<const Pattern> name##_patterns(); \
  std::span<const Routine> name##_signatures();
TAPML_KNOWN_LIBRARIES(TAPML_DECLARE_PATTERNS)
#undef TAPML_DECLARE_PATTERNS

}  // namespace tapml::library
