// Tensor programs.
#include "text/literals.h"
#include "text/normal_form.h"
#include "text/printer_impl.h"

namespace tapml::text {

using namespace tir;  // NOLINT: every name below is one of tir's

void Printer::buffer_type(const BufferNode& buffer) {
  out_ += "Buffer(";
  dims(buffer.shape);
  out_ += std::string(", ") + dtype_name(buffer.dtype);
  if (buffer.scope != Scope::kGlobal) out_ += std::string(", ") + scope_name(buffer.scope);
  if (!buffer.strides.empty()) {
    out_ += ", strides=";
    dims(buffer.strides);
  }
  out_ += ')';
}

void Printer::buffer_access(const BufferNode& buffer, const std::vector<PrimExpr>& indices) {
  name_of(&buffer, buffer.name);
  out_ += '[';
  scalars(indices);
  out_ += ']';
}

void Printer::region(const Region& region) {
  name_of(region.buffer.get(), region.buffer->name);
  out_ += '[';
  for (size_t i = 0; i < region.begins.size(); ++i) {
    if (i) out_ += ", ";
    scalar(region.begins[i]);
    const PrimExpr& extent = region.extents[i];
    if (extent.is_int(1) && extent.dtype() == DType::kI64) continue;
    out_ += " +: ";
    scalar(extent);
  }
  out_ += ']';
}

void Printer::regions(const char* keyword, const std::vector<Region>& regions) {
  if (regions.empty()) return;
  start_line();
  out_ += keyword;
  for (size_t r = 0; r < regions.size(); ++r) {
    out_ += r ? ", " : " ";
    region(regions[r]);
  }
  out_ += '\n';
}

void Printer::block(const BlockNode& block) {
  out_ += "block " + format_string(block.name) + " (";
  names_.push();
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const BlockIter& iter = block.iters[i];
    if (i) out_ += ", ";
    define(iter.var.get(), iter.var->name);
    out_ += ": ";
    if (iter.var.dtype() != DType::kI64) out_ += std::string(dtype_name(iter.var.dtype())) + " ";
    out_ += iter.type == IterType::kSpatial ? "spatial(" : "reduce(";
    scalar(iter.extent);
    out_ += ") = ";
    scalar(iter.binding);
  }
  out_ += ") {\n";
  ++indent_;
  if (block.predicate) {
    start_line();
    out_ += "where ";
    scalar(block.predicate);
    out_ += '\n';
  }
  regions("reads", block.reads);
  regions("writes", block.writes);
  if (block.init) {
    start_line();
    out_ += "init ";
    braced(block.init);
    out_ += '\n';
  }
  stmts(block.body);
  --indent_;
  start_line();
  out_ += '}';
  names_.pop();
}

void Printer::loop(const ForNode& loop) {
  names_.push();
  out_ += "for ";
  define(loop.var.get(), loop.var->name);
  if (loop.var.dtype() != DType::kI64) {
    out_ += std::string(": ") + dtype_name(loop.var.dtype());
  }
  out_ += std::string(" in ") + for_kind_name(loop.for_kind) + "(";
  scalar(loop.extent);
  out_ += ") ";
  braced(loop.body);
  names_.pop();
}

void Printer::braced(const Stmt& stmt) {
  out_ += "{\n";
  names_.push();
  ++indent_;
  stmts(stmt);
  --indent_;
  names_.pop();
  start_line();
  out_ += '}';
}

void Printer::one_stmt(const Stmt& stmt, bool last) {
  if (stmt->kind == StmtKind::kAlloc) {
    // The memory lives to the end of the enclosing braces; unless last, it needs its own braces.
    if (!last) {
      start_line();
      braced(stmt);
      out_ += '\n';
      return;
    }
    start_line();
    const BufferNode& buffer = *as<AllocNode>(stmt).buffer;
    out_ += "alloc ";
    define(&buffer, buffer.name);
    out_ += ": ";
    buffer_type(buffer);
    out_ += '\n';
    stmts(as<AllocNode>(stmt).body);
    return;
  }
  start_line();
  switch (stmt->kind) {
    case StmtKind::kFor:
      loop(as<ForNode>(stmt));
      break;
    case StmtKind::kStore: {
      const auto& store = as<StoreNode>(stmt);
      buffer_access(*store.buffer, store.indices);
      out_ += " = ";
      scalar(store.value);
      break;
    }
    case StmtKind::kIf: {
      const auto& branch = as<IfNode>(stmt);
      out_ += "if ";
      scalar(branch.condition);
      out_ += ' ';
      braced(branch.then_body);
      if (branch.else_body) {
        out_ += " else ";
        braced(branch.else_body);
      }
      break;
    }
    case StmtKind::kBlock:
      block(as<BlockNode>(stmt));
      break;
    case StmtKind::kBarrier:
      out_ += "barrier";
      break;
    case StmtKind::kMatrix:
      matrix(as<MatrixNode>(stmt));
      break;
    case StmtKind::kCopyAsync:
    case StmtKind::kCommitCopies:
    case StmtKind::kWaitCopies:
      async(stmt);
      break;
    case StmtKind::kSeq:
    case StmtKind::kAlloc:
      break;
  }
  out_ += '\n';
}

void Printer::stmts(const Stmt& stmt) {
  Nest nest(*this, stmt_depth_);
  std::vector<Stmt> list;
  flatten(stmt, list);
  for (size_t i = 0; i < list.size(); ++i) one_stmt(list[i], i + 1 == list.size());
}

void Printer::requirements(const Requirements& requirements) {
  out_ += " requires {";
  bool first = true;
  auto part = [&](const char* name) {
    out_ += std::string(first ? "" : ", ") + name + ": ";
    first = false;
  };
  auto numbers = [&](const std::vector<int32_t>& list) {
    out_ += "[";
    for (size_t i = 0; i < list.size(); ++i) {
      out_ += (i == 0 ? "" : ", ") + std::to_string(list[i]);
    }
    out_ += "]";
  };
  if (requirements.workspace) {
    part("workspace");
    scalar(requirements.workspace);
  }
  if (!requirements.in_place.empty()) {
    part("in_place");
    std::vector<int32_t> list;
    for (const Requirements::InPlace& pair : requirements.in_place) {
      list.insert(list.end(), {pair.input, pair.output});
    }
    numbers(list);
  }
  if (requirements.prepared) {
    part("prepared");
    numbers(requirements.prepared->sources);
    part("bytes");
    out_ += std::to_string(requirements.prepared->bytes);
    part("digest");
    out_ += format_string(requirements.prepared->digest);
  }
  out_ += "}";
}

void Printer::prim_func(const PrimFunc& func, const std::string& name) {
  names_.push();
  out_ += "prim def " + format_free_name(name);
  std::vector<std::string> items;
  std::string kept;
  auto item = [&](auto&& body) {
    kept.swap(out_);
    out_.clear();
    body();
    items.push_back(std::move(out_));
    out_ = std::move(kept);
  };
  // The shapes of the buffers use the scalars, which follow them.
  for (const Var& var : func.scalars) names_.define(var.get(), var->name);
  for (const Param& param : func.params) {
    item([&] {
      if (param.mode != AccessMode::kIn) out_ += std::string(access_mode_name(param.mode)) + " ";
      define(param.buffer.get(), param.buffer->name);
      out_ += ": ";
      buffer_type(*param.buffer);
    });
  }
  for (const Var& var : func.scalars) {
    item([&] {
      define(var.get(), var->name);
      out_ += std::string(": ") + dtype_name(var.dtype());
    });
  }
  std::string tail;
  if (func.requirements) {
    kept.swap(out_);
    out_.clear();
    requirements(*func.requirements);
    tail = std::move(out_);
    out_ = std::move(kept);
  }
  if (const AttrMap all = func.all_attrs(); !all.empty()) tail += " " + format_attrs(all);
  parameter_list(items, tail);
  out_ += ' ';
  braced(func.body);
  out_ += '\n';
  names_.pop();
}

}  // namespace tapml::text
