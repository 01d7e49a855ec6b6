#include "tir/visit.h"

#include "ir/queries.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::tir {

void visit(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const PrimExpr&)>& on_expr) {
  if (!stmt) return;
  if (on_stmt) on_stmt(stmt);
  auto expr = [&](const PrimExpr& e) {
    if (on_expr && e) on_expr(e);
  };
  switch (stmt->kind) {
    case StmtKind::kFor: {
      const auto& node = as<ForNode>(stmt);
      expr(node.extent);
      visit(node.body, on_stmt, on_expr);
      break;
    }
    case StmtKind::kSeq:
      for (const Stmt& s : as<SeqNode>(stmt).stmts) visit(s, on_stmt, on_expr);
      break;
    case StmtKind::kStore: {
      const auto& node = as<StoreNode>(stmt);
      for (const PrimExpr& index : node.indices) expr(index);
      expr(node.value);
      break;
    }
    case StmtKind::kIf: {
      const auto& node = as<IfNode>(stmt);
      expr(node.condition);
      visit(node.then_body, on_stmt, on_expr);
      visit(node.else_body, on_stmt, on_expr);
      break;
    }
    case StmtKind::kAlloc: {
      const auto& node = as<AllocNode>(stmt);
      for (const PrimExpr& dim : node.buffer->shape) expr(dim);
      for (const PrimExpr& stride : node.buffer->strides) expr(stride);
      visit(node.body, on_stmt, on_expr);
      break;
    }
    case StmtKind::kBlock: {
      const auto& node = as<BlockNode>(stmt);
      for (const BlockIter& iter : node.iters) {
        expr(iter.extent);
        expr(iter.binding);
      }
      expr(node.predicate);
      visit(node.init, on_stmt, on_expr);
      visit(node.body, on_stmt, on_expr);
      break;
    }
    case StmtKind::kMatrix: {
      const auto& node = as<MatrixNode>(stmt);
      expr(node.value);
      for (const PrimExpr& index : node.indices) expr(index);
      expr(node.leading);
      break;
    }
    case StmtKind::kCopyAsync:
      for (const Region* region : {&as<CopyAsyncNode>(stmt).to, &as<CopyAsyncNode>(stmt).from}) {
        for (const PrimExpr& begin : region->begins) expr(begin);
        for (const PrimExpr& extent : region->extents) expr(extent);
      }
      break;
    case StmtKind::kBarrier:
    case StmtKind::kCommitCopies:
    case StmtKind::kWaitCopies:
      break;
  }
}

namespace {

class Rewriter {
 public:
  Rewriter(const std::function<PrimExpr(const PrimExpr&)>& on_expr,
           const std::function<Stmt(const Stmt&)>& on_stmt)
      : on_expr_(on_expr), on_stmt_(on_stmt) {}

  Stmt operator()(const Stmt& stmt) {
    if (!stmt) return stmt;
    Stmt current = parts(stmt);
    if (!on_stmt_) return current;
    Stmt replaced = on_stmt_(current);
    return replaced ? replaced : current;
  }

 private:
  PrimExpr expr(const PrimExpr& e, bool& changed) {
    if (!e || !on_expr_) return e;
    PrimExpr result = on_expr_(e);
    if (!result) return e;
    changed |= !result.same_as(e);
    return result;
  }

  std::vector<PrimExpr> exprs(const std::vector<PrimExpr>& list, bool& changed) {
    std::vector<PrimExpr> result;
    result.reserve(list.size());
    for (const PrimExpr& e : list) result.push_back(expr(e, changed));
    return result;
  }

  Stmt sub(const Stmt& stmt, bool& changed) {
    Stmt result = (*this)(stmt);
    changed |= result != stmt;
    return result;
  }

  Region region(const Region& one, bool& changed) {
    return {one.buffer, exprs(one.begins, changed), exprs(one.extents, changed)};
  }

  std::vector<Region> regions(const std::vector<Region>& list, bool& changed) {
    std::vector<Region> result;
    for (const Region& one : list) result.push_back(region(one, changed));
    return result;
  }

  Stmt parts(const Stmt& stmt) {
    bool changed = false;
    switch (stmt->kind) {
      case StmtKind::kFor: {
        auto node = std::make_shared<ForNode>(as<ForNode>(stmt));
        node->extent = expr(node->extent, changed);
        node->body = sub(node->body, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kSeq: {
        std::vector<Stmt> stmts;
        for (const Stmt& s : as<SeqNode>(stmt).stmts) stmts.push_back(sub(s, changed));
        return changed ? make_seq(std::move(stmts)) : stmt;
      }
      case StmtKind::kStore: {
        auto node = std::make_shared<StoreNode>(as<StoreNode>(stmt));
        node->indices = exprs(node->indices, changed);
        node->value = expr(node->value, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kIf: {
        auto node = std::make_shared<IfNode>(as<IfNode>(stmt));
        node->condition = expr(node->condition, changed);
        node->then_body = sub(node->then_body, changed);
        node->else_body = sub(node->else_body, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kAlloc: {
        auto node = std::make_shared<AllocNode>(as<AllocNode>(stmt));
        node->body = sub(node->body, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kBlock: {
        auto node = std::make_shared<BlockNode>(as<BlockNode>(stmt));
        for (BlockIter& iter : node->iters) {
          iter.extent = expr(iter.extent, changed);
          iter.binding = expr(iter.binding, changed);
        }
        node->predicate = expr(node->predicate, changed);
        node->reads = regions(node->reads, changed);
        node->writes = regions(node->writes, changed);
        node->init = sub(node->init, changed);
        node->body = sub(node->body, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kMatrix: {
        auto node = std::make_shared<MatrixNode>(as<MatrixNode>(stmt));
        node->value = expr(node->value, changed);
        node->indices = exprs(node->indices, changed);
        node->leading = expr(node->leading, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kCopyAsync: {
        auto node = std::make_shared<CopyAsyncNode>(as<CopyAsyncNode>(stmt));
        node->to = region(node->to, changed);
        node->from = region(node->from, changed);
        return changed ? node : stmt;
      }
      case StmtKind::kBarrier:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        return stmt;
    }
    return stmt;
  }

  const std::function<PrimExpr(const PrimExpr&)>& on_expr_;
  const std::function<Stmt(const Stmt&)>& on_stmt_;
};

Buffer mapped(const Buffer& buffer, const BufferMap& buffers) {
  auto it = buffer ? buffers.find(buffer.get()) : buffers.end();
  return it == buffers.end() ? buffer : it->second;
}

}  // namespace

Stmt rewrite(const Stmt& stmt, const std::function<PrimExpr(const PrimExpr&)>& on_expr,
             const std::function<Stmt(const Stmt&)>& on_stmt) {
  return Rewriter(on_expr, on_stmt)(stmt);
}

PrimExpr replace_buffers(const PrimExpr& expr, const BufferMap& buffers) {
  return rewrite_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad) return PrimExpr();
    Buffer buffer = load_buffer(e);
    Buffer replacement = mapped(buffer, buffers);
    return replacement == buffer ? PrimExpr() : load(replacement, e->operands);
  });
}

Stmt replace_buffers(const Stmt& stmt, const BufferMap& buffers) {
  return rewrite(
      stmt, [&](const PrimExpr& e) { return replace_buffers(e, buffers); },
      [&](const Stmt& s) -> Stmt {
        if (s->kind == StmtKind::kStore) {
          auto node = std::make_shared<StoreNode>(as<StoreNode>(s));
          node->buffer = mapped(node->buffer, buffers);
          return node;
        }
        if (s->kind == StmtKind::kAlloc) {
          auto node = std::make_shared<AllocNode>(as<AllocNode>(s));
          node->buffer = mapped(node->buffer, buffers);
          return node;
        }
        if (s->kind == StmtKind::kBlock) {
          auto node = std::make_shared<BlockNode>(as<BlockNode>(s));
          for (Region& r : node->reads) r.buffer = mapped(r.buffer, buffers);
          for (Region& r : node->writes) r.buffer = mapped(r.buffer, buffers);
          return node;
        }
        if (s->kind == StmtKind::kMatrix) {
          auto node = std::make_shared<MatrixNode>(as<MatrixNode>(s));
          for (Buffer* buffer :
               {&node->fragment, &node->memory, &node->left, &node->right, &node->accumulator}) {
            *buffer = mapped(*buffer, buffers);
          }
          return node;
        }
        if (s->kind == StmtKind::kCopyAsync) {
          auto node = std::make_shared<CopyAsyncNode>(as<CopyAsyncNode>(s));
          node->to.buffer = mapped(node->to.buffer, buffers);
          node->from.buffer = mapped(node->from.buffer, buffers);
          return node;
        }
        return nullptr;
      });
}

Stmt substitute(const Stmt& stmt, const VarMap& values) {
  if (values.empty()) return stmt;
  Stmt result = rewrite(stmt, [&](const PrimExpr& e) { return tapml::substitute(e, values); });
  // Shapes of buffers allocated inside may use the variables too.
  BufferMap buffers;
  visit(result, [&](const Stmt& s) {
    if (s->kind != StmtKind::kAlloc) return;
    const Buffer& buffer = as<AllocNode>(s).buffer;
    auto copy = std::make_shared<BufferNode>(*buffer);
    bool changed = false;
    for (Dims* dims : {&copy->shape, &copy->strides}) {
      for (PrimExpr& dim : *dims) {
        PrimExpr replaced = tapml::substitute(dim, values);
        changed |= !replaced.same_as(dim);
        dim = replaced;
      }
    }
    if (changed) buffers[buffer.get()] = copy;
  });
  return buffers.empty() ? result : replace_buffers(result, buffers);
}

std::set<const BufferNode*> loaded_buffers(const Stmt& stmt) {
  std::set<const BufferNode*> buffers;
  visit(
      stmt,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::kCopyAsync) {
          buffers.insert(as<CopyAsyncNode>(s).from.buffer.get());
        } else if (s->kind == StmtKind::kMatrix) {
          for (const Buffer& buffer : read_buffers(as<MatrixNode>(s))) buffers.insert(buffer.get());
        }
      },
      [&](const PrimExpr& root) {
        visit_expr(root, [&](const PrimExpr& e) {
          if (e.kind() == ExprKind::kLoad) buffers.insert(load_buffer(e).get());
        });
      });
  return buffers;
}

std::set<const BufferNode*> stored_buffers(const Stmt& stmt) {
  std::set<const BufferNode*> buffers;
  visit(stmt, [&](const Stmt& s) {
    if (s->kind == StmtKind::kStore) buffers.insert(as<StoreNode>(s).buffer.get());
    if (s->kind == StmtKind::kCopyAsync) buffers.insert(as<CopyAsyncNode>(s).to.buffer.get());
    if (s->kind == StmtKind::kMatrix) buffers.insert(written_buffer(as<MatrixNode>(s)).get());
  });
  return buffers;
}

Stmt refresh_vars(const Stmt& stmt) {
  VarMap vars;
  BufferMap buffers;
  auto fresh = [&](const Var& var) { vars[var.get()] = make_var(var->name, var.dtype()); };
  visit(
      stmt,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::kFor) fresh(as<ForNode>(s).var);
        if (s->kind == StmtKind::kBlock) {
          for (const BlockIter& iter : as<BlockNode>(s).iters) fresh(iter.var);
        }
        if (s->kind == StmtKind::kAlloc) {
          const Buffer& buffer = as<AllocNode>(s).buffer;
          buffers[buffer.get()] = std::make_shared<BufferNode>(*buffer);
        }
      },
      [&](const PrimExpr& root) {
        visit_expr(root, [&](const PrimExpr& e) {
          if (e.kind() == ExprKind::kLet) fresh(e.operand(0));
        });
      });
  Stmt result = substitute(replace_buffers(stmt, buffers), vars);
  return rewrite(result, {}, [&](const Stmt& s) -> Stmt {
    if (s->kind == StmtKind::kFor) {
      auto node = std::make_shared<ForNode>(as<ForNode>(s));
      node->var = vars.at(node->var.get());
      return node;
    }
    if (s->kind == StmtKind::kBlock) {
      auto node = std::make_shared<BlockNode>(as<BlockNode>(s));
      for (BlockIter& iter : node->iters) iter.var = vars.at(iter.var.get());
      return node;
    }
    return nullptr;
  });
}

namespace {

// Adds one region per access: a point if the indices are plain.
bool add_region(std::vector<Region>& regions, const Buffer& buffer,
                const std::vector<PrimExpr>& indices) {
  for (const Region& known : regions) {
    if (known.buffer != buffer) continue;
    bool same = true;
    for (size_t i = 0; i < indices.size(); ++i) same &= same_expr(known.begins[i], indices[i]);
    if (same) return false;
  }
  regions.push_back({buffer, indices, std::vector<PrimExpr>(indices.size(), PrimExpr(1))});
  return true;
}

}  // namespace

void infer_regions(BlockNode& block) {
  block.reads.clear();
  block.writes.clear();
  std::set<const ExprNode*> inner;
  std::set<const BufferNode*> local;
  auto scan = [&](const Stmt& body) {
    visit(body, [&](const Stmt& s) {
      if (s->kind == StmtKind::kFor) inner.insert(as<ForNode>(s).var.get());
      if (s->kind == StmtKind::kAlloc) local.insert(as<AllocNode>(s).buffer.get());
    });
  };
  scan(block.body);
  scan(block.init);
  auto access = [&](std::vector<Region>& regions, const Buffer& buffer,
                    const std::vector<PrimExpr>& indices) {
    if (local.contains(buffer.get())) return;
    if (!add_region(regions, buffer, indices)) return;
    Region& region = regions.back();
    for (size_t i = 0; i < indices.size(); ++i) {
      // Variables that are bound inside the body widen an index to the whole dimension.
      if (!has_load(region.begins[i]) && !uses_any(region.begins[i], inner)) continue;
      region.begins[i] = 0;
      region.extents[i] = buffer->shape[i];
    }
  };
  auto whole = [&](std::vector<Region>& regions, const Buffer& buffer) {
    if (local.contains(buffer.get())) return;
    std::erase_if(regions, [&](const Region& known) { return known.buffer == buffer; });
    regions.push_back(
        {buffer, std::vector<PrimExpr>(buffer->shape.size(), PrimExpr(0)), buffer->shape});
  };
  visit(
      block.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::kStore) {
          access(block.writes, as<StoreNode>(s).buffer, as<StoreNode>(s).indices);
        } else if (s->kind == StmtKind::kMatrix) {
          for (const Buffer& one : read_buffers(as<MatrixNode>(s))) whole(block.reads, one);
          whole(block.writes, written_buffer(as<MatrixNode>(s)));
        } else if (s->kind == StmtKind::kCopyAsync) {
          whole(block.reads, as<CopyAsyncNode>(s).from.buffer);
          whole(block.writes, as<CopyAsyncNode>(s).to.buffer);
        }
      },
      [&](const PrimExpr& root) {
        visit_expr(root, [&](const PrimExpr& e) {
          if (e.kind() == ExprKind::kLoad) access(block.reads, load_buffer(e), e->operands);
        });
      });
}

}  // namespace tapml::tir
