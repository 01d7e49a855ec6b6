#include "library/library.h"

#include <algorithm>

#include "arith/symbols.h"
#include "build/pattern_builder.h"
#include "op/operator.h"

namespace tapml::library {

std::span<const Library> libraries() {
#define TAPML_LIBRARY_ENTRY(name) {#name, name##_patterns(), name##_signatures()},
  static const Library kLibraries[] = {TAPML_KNOWN_LIBRARIES(TAPML_LIBRARY_ENTRY)};
#undef TAPML_LIBRARY_ENTRY
  return kLibraries;
}

AttrMap Matched::attributes(size_t i) const { return op::view_call(*calls.at(i)).attrs; }

bool all_of_dtype(const Matched& kernel, DType dtype) {
  return kernel.output.dtype == dtype &&
         std::all_of(kernel.inputs.begin(), kernel.inputs.end(),
                     [&](const Operand& operand) { return operand.dtype == dtype; });
}

bool is_at_least(const PrimExpr& dim, int64_t least) {
  if (dim.is_int()) return dim->int_value >= least;
  const PrimExpr condition = le(least, dim);
  return arith::analyzer_of({condition}).prove(condition);
}

bool never(const Matched&) { return false; }

relax::FunctionRef one_call(const std::string& operators, size_t operands) {
  build::PatternBuilder p;
  std::vector<relax::Expr> args;
  for (size_t i = 0; i < operands; ++i) args.push_back(p.any("x" + std::to_string(i)));
  p.op(operators, std::move(args));
  return p.finish();
}

}  // namespace tapml::library
