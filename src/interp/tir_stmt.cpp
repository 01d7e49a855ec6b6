// Statements of tensor programs, and running a program on host tensors.
#include <algorithm>
#include <cmath>
#include <set>

#include "interp/interpreter.h"
#include "interp/shared_errors.h"
#include "interp/tir_code.h"
#include "ir/exceptions.h"
#include "tir/subgroup.h"

namespace tapml::interp {

namespace {

// Runs the frames of equal `key` together. Each `together` neighbors must have the same key; all
// frames, if it is 0.
void run_equal(std::vector<Frame>& frames, size_t together, const char* what,
               const std::function<int64_t(Frame&)>& key,
               const std::function<void(std::vector<Frame>&, int64_t)>& run) {
  std::vector<int64_t> keys;
  keys.reserve(frames.size());
  for (Frame& frame : frames) keys.push_back(key(frame));
  if (std::ranges::all_of(keys, [&](int64_t one) { return one == keys[0]; })) {
    return run(frames, keys[0]);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (together != 0 && keys[i] == keys[i - i % together]) continue;
    throw_internal(std::string(what) + " differs between invocations");
  }
  for (int64_t one : std::set<int64_t>(keys.begin(), keys.end())) {
    std::vector<Frame> some;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == one) some.push_back(std::move(frames[i]));
    }
    run(some, one);
    auto next = some.begin();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == one) frames[i] = std::move(*next++);
    }
  }
}

struct SeqCode final : StmtCode {
  explicit SeqCode(std::vector<StmtPtr> list) : stmts(std::move(list)) {
    for (const StmtPtr& stmt : stmts) contains(*stmt);
  }
  void run(Frame& frame) const override {
    for (const StmtPtr& stmt : stmts) stmt->run(frame);
  }
  void run_group(std::vector<Frame>& frames) const override {
    if (!has_barrier) return StmtCode::run_group(frames);
    for (const StmtPtr& stmt : stmts) stmt->run_group(frames);
  }
  std::vector<StmtPtr> stmts;
};

struct ForCode final : StmtCode {
  void run(Frame& frame) const override {
    int64_t count = extent->run(frame);
    if (is_thread && body->has_barrier) return run_threads(frame, count);
    if (reduces && count <= 0) {
      // A sum of no terms is its initial value.
      ++frame.init_only;
      frame.ints[slot] = 0;
      body->run(frame);
      --frame.init_only;
      return;
    }
    if (reduces && frame.init_only > 0) count = 1;
    for (int64_t i = 0; i < count; ++i) {
      frame.step();
      frame.ints[slot] = i;
      body->run(frame);
      if (is_thread) frame.copies = {};  // they belong to the thread
    }
  }

  void run_threads(Frame& frame, int64_t count) const {
    std::vector<Frame> frames(static_cast<size_t>(count), frame);
    for (int64_t i = 0; i < count; ++i) frames[static_cast<size_t>(i)].ints[slot] = i;
    body->run_group(frames);
  }

  // Every invocation of the group takes the same steps around a barrier.
  void run_group(std::vector<Frame>& frames) const override {
    if (!has_barrier || frames.empty()) return StmtCode::run_group(frames);
    run_equal(
        frames, together, "a loop around a barrier",
        [&](Frame& frame) { return extent->run(frame); },
        [&](std::vector<Frame>& some, int64_t count) {
          for (int64_t i = 0; i < count; ++i) {
            some[0].step();
            for (Frame& frame : some) frame.ints[slot] = i;
            body->run_group(some);
          }
        });
  }

  size_t slot = 0;
  IntPtr extent;
  StmtPtr body;
  bool is_thread = false;
  bool reduces = false;  // whether it is the loop of a reduction iterator of a block with init
};

struct StoreCode final : StmtCode {
  void run(Frame& frame) const override {
    if (with_bounds) {
      reference(frame);
    } else {
      store(frame);
    }
  }
  void reference(Frame& frame) const {
    // Before the store: the value may read the element.
    Shadow next = shadow && frame.skipping == 0 ? shadow->run(frame) : Shadow();
    if (frame.doubtful > 0 || (doubt && doubt->run(frame))) next = Shadow::unknown(next.value);
    Shadow& kept = frame.buffers[slot].shadows[offset->run(frame)];
    if (frame.skipping > 0) {
      kept.moved = next.moved;
    } else {
      store(frame);
      kept = next;
    }
  }
  void store(Frame& frame) const {
    if (floating) {
      double element = floating->run(frame);
      int64_t at = offset->run(frame);
      store_float(dtype, frame.buffers[slot].data, at, element);
    } else {
      int64_t element = integer->run(frame);
      int64_t at = offset->run(frame);
      store_integer(dtype, frame.buffers[slot].data, at, element);
    }
  }
  DType dtype = DType::kF32;
  size_t slot = 0;
  IntPtr offset, integer;
  FloatPtr floating;
  bool with_bounds = false;
  ShadowPtr shadow;  // for floats
  DoubtPtr doubt;    // about the indices, and about an integer
};

struct IfCode final : StmtCode {
  void run(Frame& frame) const override {
    bool first = condition->run(frame) != 0;
    const StmtPtr& taken = first ? then_body : else_body;
    const StmtPtr& other = first ? else_body : then_body;
    if (!doubt || !doubt->run(frame)) {
      if (taken) taken->run(frame);
      return;
    }
    ++frame.doubtful;
    if (taken) taken->run(frame);
    ++frame.skipping;
    if (other) other->run(frame);
    --frame.skipping;
    --frame.doubtful;
  }
  void run_group(std::vector<Frame>& frames) const override {
    if (!has_barrier || frames.empty()) return StmtCode::run_group(frames);
    run_equal(
        frames, together, "a branch around a barrier",
        [&](Frame& frame) -> int64_t { return condition->run(frame) != 0 ? 1 : 0; },
        [&](std::vector<Frame>& some, int64_t taken) {
          if (taken != 0) {
            then_body->run_group(some);
          } else if (else_body) {
            else_body->run_group(some);
          }
        });
  }
  IntPtr condition;
  DoubtPtr doubt;  // with bounds, and only if a float decides
  StmtPtr then_body, else_body;
};

struct AllocCode final : StmtCode {
  struct Memory {
    std::vector<std::byte> bytes;
    std::vector<Shadow> shadows;
  };
  // New memory holds NaN (or -1), so that reads of unwritten elements become visible.
  Memory allocate(Frame& frame) const {
    BufferSlot& buffer = frame.buffers[slot];
    buffer.dims.clear();
    buffer.strides.clear();
    for (const IntPtr& dim : dims) buffer.dims.push_back(dim->run(frame));
    for (const IntPtr& stride : strides) buffer.strides.push_back(stride->run(frame));
    Result<int64_t> bytes = checked_byte_count(
        dtype, buffer.strides.empty() ? buffer.dims
                                      : std::vector<int64_t>{buffer.dims[0], buffer.strides[0]});
    Memory memory;
    memory.bytes.assign(static_cast<size_t>(unwrap(std::move(bytes))) + 1, std::byte{0xff});
    buffer.data = memory.bytes.data();
    if (with_bounds) {
      memory.shadows.assign(static_cast<size_t>(reserved_elements(buffer)),
                            Shadow::unknown(std::nan("")));
      buffer.shadows = memory.shadows.data();
    }
    return memory;
  }
  void run(Frame& frame) const override {
    Memory memory = allocate(frame);
    body->run(frame);
    check_copies(frame, frame.buffers[slot], name);
  }
  void run_group(std::vector<Frame>& frames) const override {
    if (!has_barrier) return StmtCode::run_group(frames);
    std::vector<Memory> memory;
    for (Frame& frame : frames) {
      if (shared && !memory.empty()) {
        frame.buffers[slot] = frames[0].buffers[slot];
      } else {
        memory.push_back(allocate(frame));
      }
    }
    body->run_group(frames);
    for (const Frame& frame : frames) check_copies(frame, frame.buffers[slot], name);
  }
  DType dtype = DType::kF32;
  size_t slot = 0;
  bool shared = false;
  bool with_bounds = false;
  std::string name;
  std::vector<IntPtr> dims, strides;
  StmtPtr body;
};

struct BlockCode final : StmtCode {
  struct Iter {
    size_t slot;
    bool reduce;
    IntPtr binding;
  };

  // Sets the iterators; returns whether the block runs. `first` is true in the first reduction
  // step.
  bool enter(Frame& frame, bool& first) const {
    first = true;
    for (const Iter& iter : iters) {
      int64_t value = iter.binding->run(frame);
      frame.ints[iter.slot] = value;
      if (iter.reduce && value != 0) first = false;
    }
    return !predicate || predicate->run(frame) != 0;
  }
  void run(Frame& frame) const override {
    bool first = false;
    if (!enter(frame, first)) return;
    if (init && first) init->run(frame);
    if (frame.init_only == 0) body->run(frame);
  }
  void run_group(std::vector<Frame>& frames) const override {
    if (!has_barrier) return StmtCode::run_group(frames);
    for (Frame& frame : frames) {
      bool first = false;
      if (!enter(frame, first)) throw_internal("a barrier inside a guarded block");
      if (init && first) init->run(frame);
    }
    body->run_group(frames);
  }
  std::vector<Iter> iters;
  IntPtr predicate;
  StmtPtr init, body;
};

struct BarrierCode final : StmtCode {
  BarrierCode() { has_barrier = true; }
  void run(Frame&) const override { throw_internal("a barrier outside a loop over threads"); }
  void run_group(std::vector<Frame>&) const override {}
};

// The block under `stmt` if only loops enclose it.
const tir::BlockNode* nested_block(const tir::Stmt& stmt) {
  const tir::StmtNode* node = stmt.get();
  while (node->kind == tir::StmtKind::kFor) {
    node = static_cast<const tir::ForNode*>(node)->body.get();
  }
  return node->kind == tir::StmtKind::kBlock ? static_cast<const tir::BlockNode*>(node) : nullptr;
}

bool loops_over_reduction(const tir::ForNode& loop) {
  const tir::BlockNode* block = nested_block(loop.body);
  if (!block || !block->init) return false;
  for (const tir::BlockIter& iter : block->iters) {
    if (iter.type == tir::IterType::kReduce && iter.binding.same_as(loop.var)) return true;
  }
  return false;
}

StmtPtr compile_for(ExprCompiler& compiler, const tir::ForNode& node) {
  auto code = std::make_unique<ForCode>();
  code->slot = compiler.slot(node.var);
  code->extent = compiler.integer(node.extent);
  code->body = compile_stmt(compiler, node.body);
  code->is_thread = node.for_kind == tir::ForKind::kThread;
  code->reduces = loops_over_reduction(node);
  // The loop over threads handles the barriers inside it.
  if (!code->is_thread) code->contains(*code->body);
  return code;
}

void store_with_bounds(ExprCompiler& compiler, const tir::StoreNode& node, StoreCode& code) {
  code.with_bounds = true;
  std::vector<PrimExpr> decided = node.indices;
  if (code.floating) {
    code.shadow = compile_shadow(compiler, node.value);
  } else {
    decided.push_back(node.value);
  }
  // One doubt covers all of them.
  code.doubt = compile_doubt(compiler, make_node(ExprKind::kAdd, DType::kI64, decided));
}

StmtPtr compile_store(ExprCompiler& compiler, const tir::StoreNode& node) {
  auto code = std::make_unique<StoreCode>();
  code->dtype = node.buffer->dtype;
  if (node.value.dtype() != code->dtype) {
    throw_internal("a store to buffer " + node.buffer->name + " of another dtype");
  }
  code->slot = compiler.buffer_slot(node.buffer);
  code->offset = compiler.offset(node.buffer, node.indices);
  if (is_float(code->dtype)) {
    code->floating = compiler.floating(node.value);
  } else {
    code->integer = compiler.integer(node.value);
  }
  if (compiler.with_bounds) store_with_bounds(compiler, node, *code);
  return code;
}

StmtPtr compile_block(ExprCompiler& compiler, const tir::BlockNode& node) {
  auto code = std::make_unique<BlockCode>();
  for (const tir::BlockIter& iter : node.iters) {
    code->iters.push_back({compiler.slot(iter.var), iter.type == tir::IterType::kReduce,
                           compiler.integer(iter.binding)});
  }
  if (node.predicate) code->predicate = compiler.integer(node.predicate);
  if (node.init) code->init = compile_stmt(compiler, node.init);
  code->body = compile_stmt(compiler, node.body);
  code->contains(*code->body);
  return code;
}

}  // namespace

StmtPtr compile_stmt(ExprCompiler& compiler, const tir::Stmt& stmt) {
  switch (stmt->kind) {
    case tir::StmtKind::kFor:
      return compile_for(compiler, tir::as<tir::ForNode>(stmt));
    case tir::StmtKind::kSeq: {
      std::vector<StmtPtr> stmts;
      for (const tir::Stmt& inner : tir::as<tir::SeqNode>(stmt).stmts) {
        stmts.push_back(compile_stmt(compiler, inner));
      }
      return std::make_unique<SeqCode>(std::move(stmts));
    }
    case tir::StmtKind::kStore:
      return tir::joins_threads(stmt)
                 ? compile_subgroup_store(compiler, tir::as<tir::StoreNode>(stmt))
                 : compile_store(compiler, tir::as<tir::StoreNode>(stmt));
    case tir::StmtKind::kIf: {
      const auto& node = tir::as<tir::IfNode>(stmt);
      auto code = std::make_unique<IfCode>();
      code->condition = compiler.integer(node.condition);
      if (compiler.with_bounds) code->doubt = compile_doubt(compiler, node.condition);
      code->then_body = compile_stmt(compiler, node.then_body);
      if (node.else_body) code->else_body = compile_stmt(compiler, node.else_body);
      code->contains(*code->then_body);
      if (code->else_body) code->contains(*code->else_body);
      return code;
    }
    case tir::StmtKind::kAlloc: {
      const auto& node = tir::as<tir::AllocNode>(stmt);
      auto code = std::make_unique<AllocCode>();
      code->dtype = node.buffer->dtype;
      code->slot = compiler.buffer_slot(node.buffer, true);
      // The first thread of a subgroup has the memory of its fragment.
      code->shared =
          node.buffer->scope == tir::Scope::kGlobal || node.buffer->scope == tir::Scope::kShared;
      code->with_bounds = compiler.with_bounds;
      code->name = node.buffer->name;
      for (const PrimExpr& dim : node.buffer->shape) code->dims.push_back(compiler.integer(dim));
      for (const PrimExpr& stride : node.buffer->strides) {
        code->strides.push_back(compiler.integer(stride));
      }
      code->body = compile_stmt(compiler, node.body);
      code->contains(*code->body);
      return code;
    }
    case tir::StmtKind::kBlock:
      return compile_block(compiler, tir::as<tir::BlockNode>(stmt));
    case tir::StmtKind::kBarrier:
      return std::make_unique<BarrierCode>();
    case tir::StmtKind::kMatrix:
      return compile_matrix(compiler, tir::as<tir::MatrixNode>(stmt));
    case tir::StmtKind::kCopyAsync:
    case tir::StmtKind::kCommitCopies:
    case tir::StmtKind::kWaitCopies:
      return compile_async(compiler, stmt);
  }
  throw_internal("unknown statement");
}

namespace {

// `shadows` has one list per parameter, or is empty to run without bounds.
void run(const tir::PrimFunc& func, std::vector<HostTensor>& params,
         const std::vector<int64_t>& scalars, std::vector<std::vector<Shadow>>& shadows,
         const std::function<void()>& poll, const Allowances& allowed = {}) {
  if (params.size() != func.params.size() || scalars.size() != func.scalars.size()) {
    throw_internal("a tensor program with " + std::to_string(func.params.size()) +
                   " parameters and " + std::to_string(func.scalars.size()) + " scalars is given " +
                   std::to_string(params.size()) + " and " + std::to_string(scalars.size()));
  }
  ExprCompiler compiler;
  compiler.with_bounds = !shadows.empty();
  compiler.allowed = allowed;
  if (compiler.with_bounds) compiler.shared = shared_loads(func);
  std::vector<size_t> scalar_slots, buffer_slots;
  std::vector<std::vector<IntPtr>> shapes;
  for (const Var& var : func.scalars) scalar_slots.push_back(compiler.slot(var));
  for (const tir::Param& param : func.params) {
    buffer_slots.push_back(compiler.buffer_slot(param.buffer, true));
    shapes.emplace_back();
    for (const PrimExpr& dim : param.buffer->shape) shapes.back().push_back(compiler.integer(dim));
  }
  StmtPtr body = compile_stmt(compiler, func.body);
  Frame frame = compiler.make_frame();
  frame.shadows.resize(frame.floats.size());
  if (poll) frame.poll = &poll;
  for (size_t i = 0; i < scalars.size(); ++i) frame.ints[scalar_slots[i]] = scalars[i];
  for (size_t i = 0; i < params.size(); ++i) {
    const tir::BufferNode& buffer = *func.params[i].buffer;
    std::vector<int64_t> dims;
    for (const IntPtr& dim : shapes[i]) dims.push_back(dim->run(frame));
    if (params[i].dtype() != buffer.dtype || params[i].shape() != dims) {
      throw_internal("parameter " + buffer.name + " is " + dtype_name(buffer.dtype) +
                     shape_to_string(dims) + ", but is given " + dtype_name(params[i].dtype()) +
                     shape_to_string(params[i].shape()));
    }
    frame.buffers[buffer_slots[i]] = {
        params[i].mutable_bytes().data(), dims, {}, shadows.empty() ? nullptr : shadows[i].data()};
  }
  body->run(frame);
}

}  // namespace

void run_prim_func(const tir::PrimFunc& func, std::vector<HostTensor>& params,
                   const std::vector<int64_t>& scalars, const std::function<void()>& poll) {
  std::vector<std::vector<Shadow>> none;
  run(func, params, scalars, none, poll);
}

void evaluate_with_bounds(const tir::PrimFunc& func, std::vector<op::RefTensor>& params,
                          const std::vector<int64_t>& scalars, const std::function<void()>& poll,
                          const Allowances& allowed) {
  std::vector<HostTensor> host;
  std::vector<std::vector<Shadow>> shadows;
  for (const op::RefTensor& param : params) {
    host.push_back(param.to_host());
    shadows.emplace_back(param.values.size() + 1);  // never empty: a frame needs an address
    for (size_t i = 0; i < param.values.size(); ++i) {
      Shadow& shadow = shadows.back()[i];
      shadow = Shadow::exact(param.values[i]);
      shadow.moved = param.bound[i];
      shadow.magnitude += param.bound[i];
      shadow.systematic = param.systematic_at(i);
      shadow.variance = param.deviation[i] * param.deviation[i];
    }
  }
  run(func, host, scalars, shadows, poll, allowed);
  const bool shares_errors =
      has_recurrence(func) ||
      std::ranges::any_of(params, [](const op::RefTensor& param) { return param.correlated > 1; });
  for (size_t p = 0; p < params.size(); ++p) {
    if (func.params.at(p).mode == AccessMode::kIn) continue;
    op::RefTensor& out = params[p];
    op::RefTensor stored = op::RefTensor::from(host[p]);
    if (is_float(out.dtype)) {
      out.systematic.assign(out.values.size(), 0);
      out.deviation.assign(out.values.size(), 0);
      out.correlated = shares_errors ? std::max<size_t>(1, out.values.size()) : 1;
    }
    for (size_t i = 0; i < out.values.size(); ++i) {
      const Shadow& shadow = shadows[p][i];
      out.bound[i] = shadow.bound();
      if (is_float(out.dtype)) {
        out.values[i] = shadow.value;
        out.systematic.set(i, shadow.systematic_part());
        out.deviation.set(i, std::isfinite(out.bound[i]) ? std::sqrt(shadow.random()) : 0);
        continue;
      }
      out.set_integer(i, stored.integer(i));
      if (out.dtype == DType::kBool) out.bound[i] = std::min(out.bound[i], 1.0);
    }
  }
}

}  // namespace tapml::interp
