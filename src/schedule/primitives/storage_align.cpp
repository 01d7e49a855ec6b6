// storage_align: see primitives.h.
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef storage_align(const PrimFunc& func, const std::string& name, int64_t dim,
                          int64_t factor, int64_t offset) {
  constexpr int64_t kMost = 1 << 20;
  Site site = find_block(func, name);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("storage_align", "block " + name, reason, hint);
  };
  Buffer buffer = written_by(site.block());
  if (!buffer) no("it writes several buffers", "take a block that writes one");
  Site alloc = find_alloc(func, buffer.get());
  if (alloc.path.empty()) {
    no("it writes the parameter " + buffer->name + ", whose layout is the caller's",
       "apply cache_write first");
  }
  auto rank = static_cast<int64_t>(buffer->shape.size());
  if (dim < 0 || dim + 1 >= rank) {
    no("dimension " + std::to_string(dim) + " of " + buffer->name + " has no stride to choose",
       "name a dimension from 0 to " + std::to_string(rank - 2));
  }
  if (factor < 1 || factor > kMost || offset < 0 || offset >= factor) {
    no("the stride " + std::to_string(offset) + " modulo " + std::to_string(factor) + " is invalid",
       "give 1 <= factor <= " + std::to_string(kMost) + " and 0 <= offset < factor");
  }
  arith::Analyzer analyzer = context(func, site);
  for (int64_t d = dim + 2; d < rank; ++d) {
    if (analyzer.prove_equal(buffer->shape[static_cast<size_t>(d)], 1)) continue;
    no("dimension " + std::to_string(d) + " of extent " +
           to_string(buffer->shape[static_cast<size_t>(d)]) + " follows the padded one",
       "name dimension " + std::to_string(rank - 2));
  }
  const PrimExpr& row = buffer->shape[static_cast<size_t>(dim + 1)];
  const int64_t largest = arith::dtype_range(row.dtype()).hi;
  if (most_steps(row, analyzer) > largest - (factor - 1)) {
    no("rows of " + to_string(row) + " elements, padded, do not provably fit " +
           dtype_name(row.dtype()),
       "give a smaller factor");
  }
  Dims shape = buffer->shape;
  PrimExpr& padded = shape[static_cast<size_t>(dim + 1)];
  padded = analyzer.simplify(floordiv(padded + (factor - 1 - offset), factor) * factor + offset);
  Buffer aligned = make_buffer(buffer->name, buffer->dtype, shape, buffer->scope);
  return with_body(func, replace_buffers(func.body, BufferMap{{buffer.get(), aligned}}));
}

}  // namespace tapml::schedule::primitives
