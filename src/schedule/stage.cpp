#include "schedule/stage.h"

#include <algorithm>
#include <map>
#include <set>

#include "arith/analyzer.h"
#include "ir/intrinsics.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

std::vector<PrimExpr> substitute_each(const std::vector<PrimExpr>& exprs, const VarMap& values) {
  std::vector<PrimExpr> result;
  for (const PrimExpr& e : exprs) result.push_back(tapml::substitute(e, values));
  return result;
}

// The stage's loads of `buffer`, except those of its own accumulation.
std::vector<PrimExpr> loads_of(const Stage& stage, const BufferNode* buffer) {
  std::vector<PrimExpr> loads;
  auto scan = [&](const PrimExpr& root) {
    if (!root) return;
    visit_expr(root, [&](const PrimExpr& e) {
      if (is_load_of(e, buffer)) loads.push_back(e);
    });
  };
  if (stage.simple) {
    if (stage.out.get() != buffer) scan(stage.value);
    scan(stage.init_value);
    if (stage.final_out && stage.out.get() != buffer) scan(stage.final_value);
    for (const PrimExpr& index : stage.final_indices) scan(index);
  } else {
    visit(stage.body, {}, scan);
    visit(stage.init, {}, scan);
  }
  return loads;
}

// Iterators of extent 1 hide that a stage is pointwise.
Stage without_unit_iterators(const Stage& stage) {
  VarMap zeros;
  Stage result = stage;
  std::erase_if(result.spatial, [&](const BlockIter& iter) {
    if (!iter.extent.is_int(1)) return false;
    zeros[iter.var.get()] = 0;
    return true;
  });
  return zeros.empty() ? result : substitute(result, zeros);
}

std::optional<Stage> stage_of(const Stmt& nest) {
  std::map<const ExprNode*, PrimExpr> loops;
  Stmt stmt = nest;
  while (stmt->kind == StmtKind::kFor) {
    const auto& loop = as<ForNode>(stmt);
    if (loop.for_kind != ForKind::kSerial) return std::nullopt;
    loops[loop.var.get()] = loop.extent;
    stmt = loop.body;
  }
  if (stmt->kind != StmtKind::kBlock) return std::nullopt;
  const auto& block = as<BlockNode>(stmt);
  if (block.predicate || block.iters.size() != loops.size()) return std::nullopt;
  Stage stage;
  stage.name = block.name;
  arith::Analyzer analyzer;
  for (const BlockIter& iter : block.iters) {
    auto loop = loops.find(iter.binding.get());
    if (loop == loops.end() || !analyzer.prove_equal(loop->second, iter.extent))
      return std::nullopt;
    loops.erase(loop);  // one iterator for each loop; otherwise the points are not the loops'
                        // product
    (iter.type == IterType::kSpatial ? stage.spatial : stage.reduction).push_back(iter);
  }
  stage.init = block.init;
  stage.body = block.body;
  if (block.body->kind == StmtKind::kStore) {
    const auto& store = as<StoreNode>(block.body);
    stage.out = store.buffer;
    stage.indices = store.indices;
    stage.value = store.value;
    stage.simple = true;
    if (block.init) {
      stage.simple = block.init->kind == StmtKind::kStore;
      if (stage.simple) {
        const auto& init = as<StoreNode>(block.init);
        stage.simple = init.buffer == store.buffer;
        for (size_t i = 0; stage.simple && i < store.indices.size(); ++i) {
          stage.simple = same_expr(init.indices[i], store.indices[i]);
        }
        stage.init_value = init.value;
      }
    }
    if (stage.reduces() && !stage.init_value) stage.simple = false;
    // A reduction's element may be read back only at the index where it is written.
    Stage whole;
    whole.body = block.body;
    for (const PrimExpr& load : loads_of(whole, stage.out.get())) {
      for (size_t i = 0; i < load->operands.size(); ++i) {
        stage.simple &= same_expr(load.operand(i), stage.indices[i]);
      }
      stage.simple &= stage.reduces();
    }
    if (stage.simple) {
      stage.final_out = stage.out;
      stage.final_indices = stage.indices;
      stage.final_value = stage.reduces() ? load(stage.out, stage.indices) : stage.value;
    }
  }
  return without_unit_iterators(stage);
}

}  // namespace

std::optional<StagedProgram> find_stages(const PrimFunc& func) {
  StagedProgram program;
  std::vector<Stmt> pending = {func.body};
  while (!pending.empty()) {
    Stmt stmt = pending.front();
    pending.erase(pending.begin());
    if (stmt->kind == StmtKind::kSeq) {
      const auto& stmts = as<SeqNode>(stmt).stmts;
      pending.insert(pending.begin(), stmts.begin(), stmts.end());
    } else if (stmt->kind == StmtKind::kAlloc) {
      if (as<AllocNode>(stmt).buffer->scope != Scope::kGlobal) return std::nullopt;
      program.intermediates.push_back(as<AllocNode>(stmt).buffer);
      pending.insert(pending.begin(), as<AllocNode>(stmt).body);
    } else {
      std::optional<Stage> stage = stage_of(stmt);
      if (!stage) return std::nullopt;
      program.stages.push_back(std::move(*stage));
    }
  }
  return program;
}

Stage substitute(const Stage& stage, const VarMap& values) {
  Stage result = stage;
  auto expr = [&](PrimExpr& e) {
    if (e) e = tapml::substitute(e, values);
  };
  for (auto* iters : {&result.spatial, &result.reduction}) {
    for (BlockIter& iter : *iters) expr(iter.extent);
  }
  result.indices = substitute_each(stage.indices, values);
  result.final_indices = substitute_each(stage.final_indices, values);
  expr(result.value);
  expr(result.init_value);
  expr(result.final_value);
  if (result.init) result.init = tir::substitute(result.init, values);
  if (result.body) result.body = tir::substitute(result.body, values);
  return result;
}

namespace {

// Whether the indices are exactly the stage's spatial iterators, each once, in any order;
// dimensions of extent 1 have index 0.
bool indices_are_iterators(const Stage& stage, const std::vector<PrimExpr>& indices,
                           const Buffer& buffer) {
  std::set<const ExprNode*> seen;
  for (size_t d = 0; d < indices.size(); ++d) {
    const PrimExpr& index = indices[d];
    if (index.is_int(0) && buffer->shape[d].is_int(1)) continue;
    bool found = false;
    for (const BlockIter& iter : stage.spatial) found |= iter.var.same_as(index);
    if (!found || !seen.insert(index.get()).second) return false;
  }
  return seen.size() == stage.spatial.size();
}

bool is_costly(const PrimExpr& value) {
  bool costly = false, expands = false;
  int loads = 0;
  std::set<const BufferNode*> buffers;
  visit_expr(value, [&](const PrimExpr& e) {
    if (e.kind() == ExprKind::kDiv) costly = true;
    if (e.kind() == ExprKind::kLoad) {
      ++loads;
      buffers.insert(load_buffer(e).get());
      // A quantized element is narrower than its value, and its other operands are those of a
      // group, or of all.
      expands |= dtype_bytes(e.dtype()) == 1 && is_integer(e.dtype());
    }
    if (e.kind() == ExprKind::kCall) {
      const IntrinsicInfo* info = find_intrinsic(e->name);
      costly |= info && (info->needs_math || info->name == std::string("sqrt") ||
                         info->name == std::string("rsqrt"));
    }
  });
  constexpr int kFreeLoads = 2;
  constexpr size_t kBuffersOfExpansion = 3;
  return costly || (expands ? buffers.size() > kBuffersOfExpansion : loads > kFreeLoads);
}

// Number of nodes of an expression as a tree, counted up to `limit`.
size_t tree_size(const PrimExpr& expr, size_t limit) {
  size_t size = 1;
  for (const PrimExpr& operand : expr->operands) {
    if (size >= limit) break;
    size += tree_size(operand, limit - size);
  }
  return size;
}

// Limits the size of inlined expressions: a chain of producers that are each read twice doubles at
// every step.
constexpr size_t kInlinedNodes = 500;

bool stays_moderate(const Stage& producer, const Stage& consumer) {
  size_t loads = loads_of(consumer, producer.out.get()).size();
  size_t added = loads * tree_size(producer.value, kInlinedNodes);
  if (!consumer.simple) return added < kInlinedNodes;
  size_t own = std::max(tree_size(consumer.value, kInlinedNodes),
                        tree_size(consumer.final_value, kInlinedNodes));
  return own + added < kInlinedNodes;
}

PrimExpr inline_into(const PrimExpr& expr, const Stage& producer) {
  if (!expr) return expr;
  return rewrite_expr(expr, [&](const PrimExpr& e) {
    if (!is_load_of(e, producer.out)) return PrimExpr();
    VarMap values;
    for (size_t i = 0; i < e->operands.size(); ++i) {
      if (producer.indices[i].is_var()) values[producer.indices[i].get()] = e.operand(i);
    }
    return tapml::substitute(producer.value, values);
  });
}

void inline_into(Stage& stage, const Stage& producer) {
  stage.value = inline_into(stage.value, producer);
  stage.init_value = inline_into(stage.init_value, producer);
  stage.final_value = inline_into(stage.final_value, producer);
  for (PrimExpr& index : stage.indices) index = inline_into(index, producer);
  for (PrimExpr& index : stage.final_indices) index = inline_into(index, producer);
  auto rewrite_stmt = [&](const Stmt& stmt) {
    return stmt ? rewrite(stmt, [&](const PrimExpr& e) { return inline_into(e, producer); }) : stmt;
  };
  stage.init = rewrite_stmt(stage.init);
  stage.body = rewrite_stmt(stage.body);
}

bool is_intermediate(const StagedProgram& program, const Buffer& buffer) {
  return std::find(program.intermediates.begin(), program.intermediates.end(), buffer) !=
         program.intermediates.end();
}

bool writes(const Stage& stage, const BufferNode* buffer) {
  if (stage.simple) return stage.out.get() == buffer || stage.final_out.get() == buffer;
  return stored_buffers(stage.body).contains(buffer) ||
         (stage.init && stored_buffers(stage.init).contains(buffer));
}

std::set<const BufferNode*> buffers_read(const Stage& stage) {
  std::set<const BufferNode*> result;
  auto scan = [&](const PrimExpr& root) {
    if (!root) return;
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() == ExprKind::kLoad) result.insert(load_buffer(e).get());
    });
  };
  visit(stage.body, {}, scan);
  if (stage.init) visit(stage.init, {}, scan);
  if (stage.simple) {
    for (const PrimExpr& e : {stage.value, stage.init_value, stage.final_value}) scan(e);
    for (const PrimExpr& index : stage.final_indices) scan(index);
  }
  return result;
}

// Whether a stage in [begin, end) writes what `reader` reads, so that its reads cannot move there.
bool is_overwritten(const StagedProgram& program, const Stage& reader, size_t begin, size_t end) {
  for (const BufferNode* buffer : buffers_read(reader)) {
    for (size_t s = begin; s < end; ++s) {
      if (writes(program.stages[s], buffer)) return true;
    }
  }
  return false;
}

void remove_stage(StagedProgram& program, size_t index, const Buffer& dead) {
  program.stages.erase(program.stages.begin() + static_cast<std::ptrdiff_t>(index));
  std::erase(program.intermediates, dead);
}

}  // namespace

namespace {

// Whether the consumer has as many points as the producer: what each point reads once is then
// computed no more often than before.
bool have_as_many_points(const Stage& a, const Stage& b) {
  PrimExpr sides[2] = {1, 1};
  for (const BlockIter& iter : a.spatial) sides[0] = sides[0] * iter.extent;
  for (const BlockIter& iter : b.spatial) sides[1] = sides[1] * iter.extent;
  return arith::Analyzer().prove_equal(sides[0], sides[1]);
}

// One pass over the producers; returns whether anything changed.
bool inline_each(StagedProgram& program) {
  bool changed = false;
  for (size_t p = 0; p < program.stages.size();) {
    const Stage producer = program.stages[p];
    bool can = producer.simple && !producer.reduces() && is_intermediate(program, producer.out) &&
               indices_are_iterators(producer, producer.indices, producer.out);
    int writers = 0;
    std::vector<size_t> consumers;
    for (size_t c = 0; can && c < program.stages.size(); ++c) {
      const Stage& stage = program.stages[c];
      if (stage.simple ? stage.final_out == producer.out || stage.out == producer.out
                       : stored_buffers(stage.body).contains(producer.out.get())) {
        ++writers;
      }
      if (c != p && !loads_of(stage, producer.out.get()).empty()) consumers.push_back(c);
    }
    can = can && writers == 1 && !consumers.empty() && consumers.front() > p &&
          !is_overwritten(program, producer, p + 1, consumers.back() + 1);
    if (can && is_costly(producer.value)) {
      // Profitable only if each element is read once, by a pointwise consumer.
      const Stage& consumer = program.stages[consumers.front()];
      can = consumers.size() == 1 && !consumer.reduces();
      auto loads = loads_of(consumer, producer.out.get());
      for (const PrimExpr& load : loads) {
        can = can && same_expr(load, loads.front()) &&
              (indices_are_iterators(consumer, load->operands, producer.out) ||
               (consumer.simple && have_as_many_points(consumer, producer)));
      }
    }
    for (size_t c : consumers) can = can && stays_moderate(producer, program.stages[c]);
    if (!can) {
      ++p;
      continue;
    }
    for (size_t c : consumers) inline_into(program.stages[c], producer);
    remove_stage(program, p, producer.out);
    changed = true;
  }
  return changed;
}

}  // namespace

void inline_producers(StagedProgram& program) {
  // A costly value with several readers may end up with one reader after they are inlined
  // themselves.
  while (inline_each(program)) {
  }
}

void fold_epilogues(StagedProgram& program) {
  for (size_t r = 0; r < program.stages.size(); ++r) {
    while (true) {
      const Stage reduction = program.stages[r];
      Buffer result = reduction.final_out;
      if (!reduction.simple || !reduction.reduces() || !is_intermediate(program, result) ||
          !indices_are_iterators(reduction, reduction.final_indices, result)) {
        break;
      }
      std::vector<size_t> consumers;
      for (size_t c = 0; c < program.stages.size(); ++c) {
        if (c != r && !loads_of(program.stages[c], result.get()).empty()) consumers.push_back(c);
      }
      if (consumers.size() != 1 || consumers[0] < r) break;
      const Stage consumer = program.stages[consumers[0]];
      if (!consumer.simple || consumer.reduces()) break;
      // Express the consumer's iterators through the reduction's, using the element that it reads.
      VarMap values;
      bool pointwise = true;
      arith::Analyzer analyzer;
      for (const PrimExpr& load : loads_of(consumer, result.get())) {
        pointwise &= indices_are_iterators(consumer, load->operands, result);
        for (size_t i = 0; pointwise && i < load->operands.size(); ++i) {
          if (load.operand(i).is_int()) continue;  // a dimension of extent 1
          auto [it, is_new] = values.emplace(load.operand(i).get(), reduction.final_indices[i]);
          pointwise &= is_new || it->second.same_as(reduction.final_indices[i]);
        }
      }
      pointwise &= values.size() == consumer.spatial.size();
      for (const BlockIter& iter : consumer.spatial) {
        auto it = values.find(iter.var.get());
        if (it == values.end()) {
          pointwise = false;
          break;
        }
        for (const BlockIter& own : reduction.spatial) {
          if (own.var.same_as(it->second)) {
            pointwise &= analyzer.prove_equal(own.extent, iter.extent);
          }
        }
      }
      // What the epilogue reads must be available before the reduction runs.
      for (size_t between = r + 1; pointwise && between < consumers[0]; ++between) {
        const Stage& stage = program.stages[between];
        if (!stage.simple || !loads_of(consumer, stage.final_out.get()).empty()) pointwise = false;
      }
      // What it writes must not be read earlier, nor by the reduction at other points.
      for (size_t s = r; pointwise && s < consumers[0]; ++s) {
        pointwise = !buffers_read(program.stages[s]).contains(consumer.out.get()) &&
                    !writes(program.stages[s], consumer.out.get());
      }
      if (!pointwise) break;
      Stage& merged = program.stages[r];
      PrimExpr own_value = reduction.final_value;
      PrimExpr value = rewrite_expr(
          tapml::substitute(consumer.value, values),
          [&](const PrimExpr& e) { return is_load_of(e, result) ? own_value : PrimExpr(); });
      merged.final_value = value;
      merged.final_out = consumer.out;
      merged.final_indices = substitute_each(consumer.indices, values);
      if (result != reduction.out) std::erase(program.intermediates, result);
      remove_stage(program, consumers[0], result);
      if (consumers[0] < r) --r;
    }
  }
}

}  // namespace tapml::schedule
