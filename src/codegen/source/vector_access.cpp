#include "codegen/source/vector_access.h"

#include <algorithm>
#include <map>

#include "ir/queries.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Checks the terms only, which suffices for what schedules write for a piece of `size`.
bool is_multiple(const PrimExpr& e, int64_t size = kVectorLanes) {
  switch (e.kind()) {
    case ExprKind::kInt:
      return e->int_value % size == 0;
    case ExprKind::kMul:
      for (int side : {0, 1}) {
        const PrimExpr& factor = e.operand(static_cast<size_t>(side));
        if (is_multiple(factor, size)) return true;
        // 4 * (2 * x)
        const PrimExpr& other = e.operand(static_cast<size_t>(1 - side));
        if (factor.is_int() && factor->int_value != 0 && size % factor->int_value == 0 &&
            is_multiple(other, size / factor->int_value)) {
          return true;
        }
      }
      return false;
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
      return is_multiple(e.operand(0), size) && is_multiple(e.operand(1), size);
    case ExprKind::kCast:
      return is_multiple(e.operand(0), size);
    default:
      return false;
  }
}

// `e` without its constant term, which is added to `constant`.
PrimExpr without_constant(const PrimExpr& e, int64_t& constant) {
  if (e.is_int()) {
    constant += e->int_value;
    return make_int(0, e.dtype());
  }
  if (e.kind() != ExprKind::kAdd) return e;
  const PrimExpr a = without_constant(e.operand(0), constant);
  const PrimExpr b = without_constant(e.operand(1), constant);
  if (a.is_int(0)) return b;
  return b.is_int(0) ? a : a + b;
}

// `e` without the lane; nullopt unless the lane occurs once, as a term.
std::optional<PrimExpr> without_lane(const PrimExpr& e, const Var& lane) {
  if (e.same_as(lane)) return make_int(0, e.dtype());
  if (e.kind() != ExprKind::kAdd) return std::nullopt;
  for (int side : {0, 1}) {
    const PrimExpr& rest = e.operand(static_cast<size_t>(1 - side));
    if (uses(rest, lane)) continue;
    auto inner = without_lane(e.operand(static_cast<size_t>(side)), lane);
    if (inner) return inner->is_int(0) ? rest : *inner + rest;
  }
  return std::nullopt;
}

// Counts each load as often as it is written out in the expression.
void count_loads(const PrimExpr& e, std::map<const BufferNode*, int>& counts) {
  if (e.kind() == ExprKind::kLoad) ++counts[load_buffer(e).get()];
  for (const PrimExpr& operand : e->operands) count_loads(operand, counts);
}

class VectorAccesses {
 public:
  void walk(const Stmt& body) {
    visit(body, [&](const Stmt& s) {
      if (s->kind != StmtKind::kFor) return;
      const auto& loop = as<ForNode>(s);
      if (!is_vector_loop(loop)) return;
      const auto& store = as<StoreNode>(loop.body);
      take(store.buffer, store.indices, loop.var);
      loads(store.value, loop.var, store, false);
    });
  }

  // How often each buffer is accessed as four adjacent elements, and as a half of eight.
  std::map<const BufferNode*, int> counts, halves;

 private:
  void take(const Buffer& buffer, const std::vector<PrimExpr>& indices, const Var& lane) {
    const auto first = first_of_lanes(linear_index(buffer, indices), lane);
    if (!first) return;
    ++counts[buffer.get()];
    if (half_of_eight(*first)) ++halves[buffer.get()];
  }

  // Loads that always run, and loads in a `branch` that can safely always run: those at the store's
  // index, in a buffer of its shape. Excludes loads whose index uses a let.
  void loads(const PrimExpr& e, const Var& lane, const StoreNode& store, bool branch) {
    if (e.kind() == ExprKind::kLoad) {
      if (!branch || lies_as(e, store)) take(load_buffer(e), e->operands, lane);
      return;
    }
    const bool branches =
        e.kind() == ExprKind::kSelect || e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
    for (size_t i = 0; i < e->operands.size(); ++i) {
      loads(e.operand(i), lane, store, branch || (branches && i > 0));
    }
  }

  static bool lies_as(const PrimExpr& load, const StoreNode& store) {
    const Dims &shape = load_buffer(load)->shape, &other = store.buffer->shape;
    return std::ranges::equal(load->operands, store.indices, same_expr) &&
           std::ranges::equal(shape, other, same_expr);
  }
};

}  // namespace

bool is_vector_loop(const ForNode& loop) {
  return loop.for_kind == ForKind::kVectorized && loop.extent.is_int(kVectorLanes) &&
         loop.body->kind == StmtKind::kStore;
}

std::optional<PrimExpr> first_of_lanes(const PrimExpr& index, const Var& lane) {
  auto first = without_lane(index, lane);
  if (!first || !is_multiple(*first)) return std::nullopt;
  return first;
}

std::optional<Half> half_of_eight(const PrimExpr& first) {
  int64_t constant = 0;
  const PrimExpr rest = without_constant(first, constant);
  const int64_t half = (constant % (2 * kVectorLanes) + 2 * kVectorLanes) % (2 * kVectorLanes);
  if (half % kVectorLanes != 0 || !is_multiple(rest, 2 * kVectorLanes)) return std::nullopt;
  return Half{rest + make_int(constant - half, rest.dtype()), half != 0};
}

std::map<const BufferNode*, int> vector_buffers(const DeviceFunc& function, bool narrow) {
  VectorAccesses lanes;
  lanes.walk(function.body);
  std::map<const BufferNode*, int> all;
  visit(
      function.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::kStore) ++all[as<StoreNode>(s).buffer.get()];
      },
      [&](const PrimExpr& root) { count_loads(root, all); });
  std::map<const BufferNode*, int> result;
  for (const Param& param : function.buffers) {
    const BufferNode* buffer = param.buffer.get();
    const DType dtype = buffer->dtype;
    const bool is_word = dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32;
    const bool is_read = param.mode == AccessMode::kIn || param.mode == AccessMode::kPrepared;
    const bool is_narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    auto found = lanes.counts.find(buffer);
    if ((is_word || (narrow && is_narrow)) && found != lanes.counts.end() &&
        found->second == all[buffer]) {
      const bool by_eights = is_narrow && is_read && lanes.halves[buffer] == found->second;
      result[buffer] = by_eights ? 2 * kVectorLanes : kVectorLanes;
    }
  }
  return result;
}

}  // namespace tapml::codegen
