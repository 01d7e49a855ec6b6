// Libraries whose routines can implement a kernel of the cpu: which specs they match, and how a
// call is made (Relax paper, section 4.6). A routine never changes what a kernel is: it stands
// beside a schedule, right of the bar where kernels are formed.
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

// A kernel's spec as a pattern matched it.
struct Matched {
  std::vector<const relax::CallNode*> calls;  // in order
  std::vector<Operand> inputs;                // what stands for the pattern's parameters
  Operand output;

  // Attribute of call i, defaults filled in.
  AttrMap attributes(size_t i) const;
};

// One way to use a routine.
struct Pattern {
  const char* routine;
  // A pattern (build/pattern_builder.h).
  relax::FunctionRef (*pattern)();
  // What the routine is given beside the tensors; nothing where it cannot compute this.
  std::optional<std::vector<int64_t>> (*parameters)(const Matched& kernel);
  // Whether it measured faster than generated code (bench/library_cases.cpp, docs/libraries.md).
  // What is not provable for all values of symbolic dimensions does not count.
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

// Those that tapml knows (abi/libraries.h); `libs=` of the cpu target names them.
std::span<const Library> libraries();

// ---- for patterns

// All tensors have this dtype.
bool all_of_dtype(const Matched& kernel, DType dtype);
// Provably at least, for all values of the variables (which are not negative).
bool is_at_least(const PrimExpr& dim, int64_t least);
bool is_at_most(const PrimExpr& dim, int64_t most);
bool never(const Matched& kernel);
// One call of the operators (joined by '|') of this many operands, whatever they are.
relax::FunctionRef one_call(const std::string& operators, size_t operands);

// Each library's folder has its patterns, and says what its routines take.
#define TAPML_DECLARE_PATTERNS(name)          \
  std::span<const Pattern> name##_patterns(); \
  std::span<const Routine> name##_signatures();
TAPML_KNOWN_LIBRARIES(TAPML_DECLARE_PATTERNS)
#undef TAPML_DECLARE_PATTERNS

}  // namespace tapml::library
