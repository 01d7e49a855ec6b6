#include "passes/memory/in_place.h"

#include <set>

#include "analysis/computation.h"
#include "arith/analyzer.h"

namespace tapml::passes {

namespace {

bool same_shape(const tir::Buffer& a, const tir::Buffer& b) {
  if (a->shape.size() != b->shape.size()) return false;
  arith::Analyzer analyzer;
  for (size_t i = 0; i < a->shape.size(); ++i) {
    if (!analyzer.prove_equal(a->shape[i], b->shape[i])) return false;
  }
  return true;
}

// Whether `load` reads the element at the index of the store.
bool reads_own_element(const analysis::Computation& c, const PrimExpr& load) {
  tir::Buffer source = tir::load_buffer(load);
  if (!same_shape(source, c.out)) return false;
  for (size_t i = 0; i < c.indices.size(); ++i) {
    if (!source->shape[i].is_int(1) && !same_expr(load->operands[i], c.indices[i])) return false;
  }
  return true;
}

}  // namespace

bool may_compute_in_place(const tir::PrimFunc& func, size_t input, size_t output) {
  if (!func.facts.library.empty()) return false;
  const tir::Param& from = func.params[input];
  const tir::Param& to = func.params[output];
  if (from.mode != AccessMode::kIn || to.mode != AccessMode::kOut) return false;
  if (from.buffer->dtype != to.buffer->dtype || dtype_bytes(to.buffer->dtype) < 4) return false;
  if (!same_shape(from.buffer, to.buffer)) return false;
  auto computations = analysis::find_computations(func);
  if (!computations) return false;
  std::set<const tir::BufferNode*> derived = {from.buffer.get()};
  bool written = false;
  for (const analysis::Computation& c : *computations) {
    if (c.reduces()) return false;
    bool reads = false, good = true;
    visit_expr(c.value, [&](const PrimExpr& e) {
      if (e.kind() != tapml::ExprKind::kLoad) return;
      if (tir::load_buffer(e) == to.buffer) good = false;
      if (!derived.contains(tir::load_buffer(e).get())) return;
      reads = true;
      good &= reads_own_element(c, e);
    });
    if (!good || (reads && written)) return false;
    if (reads) derived.insert(c.out.get());
    written |= c.out == to.buffer;
  }
  return written;
}

}  // namespace tapml::passes
