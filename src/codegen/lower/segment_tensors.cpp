#include "codegen/lower/segment_tensors.h"

#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "arith/analyzer.h"
#include "tir/scalar_ranges.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// The segments of one buffer.
struct Parts {
  std::vector<Buffer> buffers;
  int64_t rows = 0;  // in each segment but the last

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

// Maximum number of segments to select from in one access.
constexpr int64_t kMostSymbolicParts = 4;

// Size of a row in bytes if all dimensions but the outermost are constant.
std::optional<int64_t> row_bytes_of(const BufferNode& buffer) {
  auto bytes = static_cast<int64_t>(dtype_bytes(buffer.dtype));
  if (buffer.shape.empty()) return {};
  for (size_t d = 1; d < buffer.shape.size(); ++d) {
    if (!buffer.shape[d].is_int() ||
        __builtin_mul_overflow(bytes, buffer.shape[d]->int_value, &bytes)) {
      return {};
    }
  }
  return bytes;
}

// Collects the segments of a program's parameters.
struct Splitter {
  explicit Splitter(const PrimFunc& func) : func(func) {}

  // Adds the next segment of a parameter, with `shape_rows` rows, at most `most_rows`.
  void add(size_t param, int64_t rows, int64_t row_bytes, PrimExpr shape_rows, int64_t most_rows) {
    const BufferNode& buffer = *func.params[param].buffer;
    Parts& parts = split[&buffer];
    parts.rows = rows;
    auto number = static_cast<int64_t>(parts.buffers.size());
    Dims shape = buffer.shape;
    shape[0] = std::move(shape_rows);
    parts.buffers.push_back(make_buffer(buffer.name + "_part" + std::to_string(number),
                                        buffer.dtype, std::move(shape)));
    added.push_back({parts.buffers.back(), func.params[param].mode});
    result.segments.push_back(
        {static_cast<int32_t>(param), number * rows * row_bytes, most_rows * row_bytes});
  }

  const PrimFunc& func;
  std::map<const BufferNode*, Parts> split;
  std::vector<Param> added;
  SegmentedFunc result;
};

void split_symbolic(const PrimFunc& func, const Limits& limits,
                    const std::vector<std::optional<int64_t>>& most, Splitter& splitter) {
  arith::Analyzer analyzer;
  bind_scalars(func, analyzer);
  for (size_t i = 0; i < func.scalars.size() && i < most.size(); ++i) {
    analyzer.bind(func.scalars[i], std::nullopt, most[i]);
  }
  struct Candidate {
    size_t param;
    int64_t rows, row_bytes;
  };
  std::vector<Candidate> candidates;
  for (size_t p = 0; p < func.params.size(); ++p) {
    const BufferNode& buffer = *func.params[p].buffer;
    auto row_bytes = row_bytes_of(buffer);
    if (limits.max_binding_bytes == 0 || !row_bytes || *row_bytes == 0) continue;
    if (buffer.shape[0].is_int()) continue;
    int64_t rows = segment_rows(std::numeric_limits<int64_t>::max(), *row_bytes, limits);
    auto largest = analyzer.upper_bound(buffer.shape[0]);
    if (rows > 0 && !(largest && *largest <= rows)) candidates.push_back({p, rows, *row_bytes});
  }
  if (candidates.empty()) return;
  int64_t parts = kMostSymbolicParts;
  if (limits.max_bindings > 0) {
    auto others = static_cast<int64_t>(func.params.size() - candidates.size() -
                                       splitter.split.size() + splitter.added.size());
    visit(func.body, [&](const Stmt& s) {
      if (s->kind == StmtKind::kAlloc) others += as<AllocNode>(s).buffer->scope == Scope::kGlobal;
    });
    parts =
        std::min(parts, (limits.max_bindings - others) / static_cast<int64_t>(candidates.size()));
  }
  if (parts < 2) return;
  for (const Candidate& one : candidates) {
    const PrimExpr& count = func.params[one.param].buffer->shape[0];
    for (int64_t part = 0; part < parts; ++part) {
      splitter.add(one.param, one.rows, one.row_bytes, min(count, one.rows), one.rows);
    }
    splitter.result.symbolic.push_back(
        {static_cast<int32_t>(one.param), count, one.rows, parts * one.rows});
  }
}

}  // namespace

int64_t segment_rows(int64_t rows, int64_t row_bytes, const Limits& limits) {
  const int64_t most = limits.max_binding_bytes;
  if (most == 0 || rows == 0 || row_bytes == 0 || rows <= most / row_bytes) return rows;
  int64_t step = limits.buffer_alignment / std::gcd(limits.buffer_alignment, row_bytes);
  return most / row_bytes / step * step;
}

SegmentedFunc segment_tensors(const PrimFunc& func, const Limits& limits, bool symbolic,
                              const std::vector<std::optional<int64_t>>& most) {
  Splitter splitter(func);
  for (size_t p = 0; p < func.params.size(); ++p) {
    const BufferNode& buffer = *func.params[p].buffer;
    auto row_bytes = row_bytes_of(buffer);
    if (!row_bytes || !buffer.shape[0].is_int()) continue;
    int64_t all = buffer.shape[0]->int_value;
    int64_t rows = segment_rows(all, *row_bytes, limits);
    if (rows == 0 || rows == all) continue;
    for (int64_t begin = 0; begin < all; begin += rows) {
      splitter.add(p, rows, *row_bytes, std::min(rows, all - begin), std::min(rows, all - begin));
    }
  }
  if (symbolic) split_symbolic(func, limits, most, splitter);
  SegmentedFunc& result = splitter.result;
  const auto& split = splitter.split;
  auto copy = std::make_shared<PrimFunc>(func);
  result.func = copy;
  if (split.empty()) return result;
  copy->params.insert(copy->params.end(), splitter.added.begin(), splitter.added.end());
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
  return std::move(result);
}

}  // namespace tapml::codegen
