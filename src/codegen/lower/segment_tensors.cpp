#include "codegen/lower/segment_tensors.h"

#include <map>
#include <numeric>

#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// The segments of one buffer.
struct Parts {
  std::vector<Buffer> buffers;
  int64_t rows = 0;  // of each but the last

  int64_t begin(size_t part) const { return rows * static_cast<int64_t>(part); }

  static std::vector<PrimExpr> shifted(std::vector<PrimExpr> indices, const PrimExpr& row) {
    indices[0] = row;
    return indices;
  }

  PrimExpr load(const std::vector<PrimExpr>& indices) const {
    const PrimExpr& row = indices[0];
    if (row.is_int()) {
      auto part = static_cast<size_t>(row->int_value / rows);
      if (row->int_value < 0 || part >= buffers.size()) part = 0;
      return tir::load(buffers[part], shifted(indices, row - begin(part)));
    }
    Var at = make_var("row");
    size_t last = buffers.size() - 1;
    PrimExpr value = tir::load(buffers[last], shifted(indices, at - begin(last)));
    for (size_t part = last; part-- > 0;) {
      PrimExpr own = tir::load(buffers[part], shifted(indices, at - begin(part)));
      value = select(lt(at, begin(part + 1)), own, value);
    }
    return let(at, row, value);
  }

  Stmt store(const StoreNode& node) const {
    const PrimExpr& row = node.indices[0];
    size_t last = buffers.size() - 1;
    auto own = [&](size_t part) {
      return make_store(buffers[part], shifted(node.indices, row - begin(part)), node.value);
    };
    Stmt result = own(last);
    for (size_t part = last; part-- > 0;) {
      result = make_if(lt(row, begin(part + 1)), own(part), result);
    }
    return result;
  }
};

}  // namespace

int64_t segment_rows(int64_t rows, int64_t row_bytes, const Limits& limits) {
  const int64_t most = limits.max_binding_bytes;
  if (most == 0 || rows == 0 || row_bytes == 0 || rows <= most / row_bytes) return rows;
  int64_t step = limits.buffer_alignment / std::gcd(limits.buffer_alignment, row_bytes);
  return most / row_bytes / step * step;
}

SegmentedFunc segment_tensors(const PrimFunc& func, const Limits& limits) {
  std::map<const BufferNode*, Parts> split;
  std::vector<Param> added;
  SegmentedFunc result;
  for (size_t p = 0; p < func.params.size(); ++p) {
    const BufferNode& buffer = *func.params[p].buffer;
    auto row_bytes = static_cast<int64_t>(dtype_bytes(buffer.dtype));
    bool known = !buffer.shape.empty();
    for (size_t d = 0; d < buffer.shape.size() && known; ++d) {
      known =
          buffer.shape[d].is_int() &&
          (d == 0 || !__builtin_mul_overflow(row_bytes, buffer.shape[d]->int_value, &row_bytes));
    }
    if (!known) continue;
    int64_t all = buffer.shape[0]->int_value;
    Parts parts;
    parts.rows = segment_rows(all, row_bytes, limits);
    if (parts.rows == 0 || parts.rows == all) continue;
    for (int64_t begin = 0; begin < all; begin += parts.rows) {
      Dims shape = buffer.shape;
      int64_t rows = std::min(parts.rows, all - begin);
      shape[0] = rows;
      std::string name = buffer.name + "_part" + std::to_string(parts.buffers.size());
      parts.buffers.push_back(make_buffer(name, buffer.dtype, std::move(shape)));
      added.push_back({parts.buffers.back(), func.params[p].mode});
      result.segments.push_back({static_cast<int32_t>(p), begin * row_bytes, rows * row_bytes});
    }
    split[&buffer] = std::move(parts);
  }
  auto copy = std::make_shared<PrimFunc>(func);
  result.func = copy;
  if (split.empty()) return result;
  copy->params.insert(copy->params.end(), added.begin(), added.end());
  auto loads = [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) -> PrimExpr {
      if (e.kind() != tapml::ExprKind::kLoad) return {};
      auto it = split.find(load_buffer(e).get());
      return it == split.end() ? PrimExpr() : it->second.load(e->operands);
    });
  };
  copy->body = rewrite(func.body, loads, [&](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    auto it = split.find(as<StoreNode>(s).buffer.get());
    return it == split.end() ? nullptr : it->second.store(as<StoreNode>(s));
  });
  return result;
}

}  // namespace tapml::codegen
