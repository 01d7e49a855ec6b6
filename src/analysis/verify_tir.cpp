// Invariants T1 to T15; T16 to T18 are in files of their own.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "analysis/verifier_impl.h"
#include "arith/analyzer.h"
#include "ir/queries.h"
#include "text/printer.h"
#include "tir/scalar_ranges.h"
#include "tir/subgroup.h"
#include "tir/unrolled.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

class PrimFuncVerifier {
 public:
  PrimFuncVerifier(const PrimFunc& func, Report& report)
      : func_(func), report_(report), matrix_(report) {}

  void run() {
    for (const Var& var : func_.scalars) {
      bind(var, "a scalar parameter");
      scalars_.insert(var.get());
    }
    for (const Param& param : func_.params) {
      if (!param.buffer) {
        report_.add("T10", "a parameter has no buffer");
        return;
      }
      report_.at("parameter " + param.buffer->name);
      if (param.buffer->scope == Scope::kFragment) {
        report_.add("T15", "the parameter '" + param.buffer->name + "' is a fragment");
      }
      bind_buffer(param.buffer);
      modes_[param.buffer.get()] = param.mode;
    }
    report_.at("");
    if (func_.requirements) requirements(*func_.requirements);
    stmt(func_.body);
    // No statement shows what a library routine writes.
    if (!func_.facts.library.empty()) return;
    for (const Param& param : func_.params) {
      if (param.mode != AccessMode::kOut || stored_.contains(param.buffer.get())) continue;
      report_.at("parameter " + param.buffer->name);
      report_.add("T7", "the out parameter is never stored to");
    }
  }

 private:
  void requirements(const Requirements& all) {
    report_.at("requirements");
    if (all.workspace) {
      bool loads = false;
      visit_expr(all.workspace, [&](const PrimExpr& e) { loads |= e.kind() == ExprKind::kLoad; });
      use_vars(all.workspace);
      if (loads || !is_integer(all.workspace.dtype())) {
        report_.add("T13", "the bytes of the workspace are " + text::print(all.workspace));
      } else {
        verify_expr(all.workspace, report_);
      }
    }
    auto is = [&](int32_t number, AccessMode mode) {
      return number >= 0 && static_cast<size_t>(number) < func_.params.size() &&
             func_.params[static_cast<size_t>(number)].mode == mode;
    };
    for (const Requirements::InPlace& pair : all.in_place) {
      if (is(pair.input, AccessMode::kIn) && is(pair.output, AccessMode::kOut)) continue;
      report_.add("T13", "in_place names parameters " + std::to_string(pair.input) + " and " +
                             std::to_string(pair.output) +
                             ", which are not an input and an output");
    }
    if (all.prepared) {
      for (int32_t source : all.prepared->sources) {
        if (is(source, AccessMode::kIn)) continue;
        report_.add("T13", "data is prepared from parameter " + std::to_string(source) +
                               ", which is not an input");
      }
      if (all.prepared->bytes < 0) {
        report_.add("T13",
                    "the prepared data has " + std::to_string(all.prepared->bytes) + " bytes");
      }
    }
    report_.at("");
  }

  void bind(const Var& var, const char* what) {
    if (!var || !var.is_var()) return report_.add("T4", std::string(what) + " is not a variable");
    if (!known_.insert(var.get()).second) {
      report_.add("T4", "the variable '" + var->name + "' is bound twice");
    }
    visible_.insert(var.get());
  }
  void unbind(const Var& var) { visible_.erase(var.get()); }

  void bind_buffer(const Buffer& bound) {
    const BufferNode& buffer = *bound;
    if (!known_buffers_.insert(&buffer).second) {
      report_.add("T1", "the buffer '" + buffer.name + "' is bound twice");
    }
    for (const PrimExpr& dim : buffer.shape) {
      if (!value(dim, "T10", "a dimension is missing")) continue;
      if (!is_integer(dim.dtype())) {
        report_.add("T2", "the dimension " + text::print(dim) + " is not an integer");
      }
      const bool fits = buffer.scope == Scope::kGlobal || dim.is_int() ||
                        (buffer.scope == Scope::kShared && of_scalars(dim));
      if (fits || buffer.scope == Scope::kFragment) continue;
      report_.add("T8",
                  "the " + std::string(scope_name(buffer.scope)) + " buffer '" + buffer.name +
                      "' has the dimension " + text::print(dim) +
                      (buffer.scope == Scope::kShared ? ", which uses more than scalar parameters"
                                                      : ", which is not constant"));
    }
    if (!buffer.strides.empty()) strides(bound);
    live_.insert(&buffer);
  }

  // Whether the expression has the same value in a whole launch.
  bool of_scalars(const PrimExpr& e) const {
    return !has_load(e) && std::ranges::all_of(free_vars(e), [&](const Var& v) {
      return scalars_.contains(v.get());
    });
  }

  void strides(const Buffer& buffer) {
    const std::string name = "'" + buffer->name + "'";
    if (buffer->scope != Scope::kShared && buffer->scope != Scope::kLocal) {
      return report_.add("T14", "the " + std::string(scope_name(buffer->scope)) + " buffer " +
                                    name + " has strides");
    }
    if (buffer->strides.size() != buffer->shape.size()) {
      return report_.add("T14", name + " has " + std::to_string(buffer->strides.size()) +
                                    " strides for " + std::to_string(buffer->shape.size()) +
                                    " dimensions");
    }
    for (const PrimExpr& stride : buffer->strides) {
      if (!value(stride, "T10", "a stride is missing")) return;
      const bool constant = stride.is_int();
      if (is_integer(stride.dtype()) &&
          (constant || (buffer->scope == Scope::kShared && of_scalars(stride)))) {
        continue;
      }
      return report_.add("T14", name + " has the stride " + text::print(stride) +
                                    (buffer->scope == Scope::kShared
                                         ? ", which is not an integer over scalar parameters"
                                         : ", which is not a constant integer"));
    }
    if (!report_.clean()) return;
    arith::Analyzer analyzer;
    bind_scalars(func_, analyzer);
    PrimExpr least = 1;  // elements between neighbors, at least
    for (size_t d = buffer->strides.size(); d-- > 0;) {
      const PrimExpr& stride = buffer->strides[d];
      if (!analyzer.prove_less_equal(least, stride)) {
        return report_.add("T14", name + " has the stride " + text::print(stride) +
                                      ", which is not proved to be at least " + text::print(least));
      }
      least = analyzer.simplify(stride * buffer->shape[d]);
    }
  }

  void fragment(const BufferNode& buffer) {
    const std::string name = "the fragment '" + buffer.name + "'";
    if (threads_ == 0) report_.add("T15", name + " is allocated outside a loop over threads");
    if (buffer.shape.size() != 2 || fragment_rows(buffer) < 1 || fragment_columns(buffer) < 1) {
      report_.add("T15", name + " does not have two constant positive dimensions");
    }
  }

  // A plain access.
  void use_elements(const BufferNode& buffer) {
    use_buffer(buffer);
    if (buffer.scope != Scope::kFragment) return;
    report_.add("T15", "the fragment '" + buffer.name +
                           "' is accessed by something other than a matrix operation");
  }

  void use_buffer(const BufferNode& buffer) {
    if (!live_.contains(&buffer)) {
      report_.add("T1", "the buffer '" + buffer.name + "' is used where it is not bound");
    }
  }

  void use_vars(const PrimExpr& e) {
    if (!e) return;
    if (e.kind() == ExprKind::kLet && e->operands.size() == 3 && e.operand(0)) {
      use_vars(e.operand(1));
      bind(e.operand(0), "the variable of a let");
      inner_.insert(e.operand(0).get());
      use_vars(e.operand(2));
      inner_.erase(e.operand(0).get());
      unbind(e.operand(0));
      return;
    }
    if (e.is_var()) {
      if (!visible_.contains(e.get())) {
        report_.add("T4", "the variable '" + e->name + "' is used where it is not bound");
      } else if (in_block_ && !scalars_.contains(e.get()) && !inner_.contains(e.get())) {
        report_.add("T5",
                    "the body uses '" + e->name +
                        "', which is neither an iterator of the block nor a scalar parameter");
      }
    }
    if (!e.same_as(joint_) && as_subgroup_call(e)) {
      report_.add("T11", text::print(e) + " is not the whole value of a store");
    }
    if (e.kind() == ExprKind::kLoad && e->object) {
      use_elements(static_cast<const BufferNode&>(*e->object));
    }
    for (const PrimExpr& operand : e->operands) use_vars(operand);
  }

  // Returns false if the expression is missing.
  bool value(const PrimExpr& e, const char* invariant, const char* message) {
    if (!e) {
      report_.add(invariant, message);
      return false;
    }
    verify_expr(e, report_);
    use_vars(e);
    return true;
  }

  void condition(const PrimExpr& e, const char* what) {
    if (value(e, "T10", "a condition is missing") && e.dtype() != DType::kBool) {
      report_.add("T9", std::string(what) + " is not a bool");
    }
  }

  void integer(const PrimExpr& e, const Var& var, const char* what) {
    if (!value(e, "T10", (std::string(what) + " is missing").c_str()) || !var) return;
    if (!is_integer(e.dtype()) || e.dtype() != var.dtype()) {
      report_.add("T9", std::string(what) + " has dtype " + dtype_name(e.dtype()) +
                            ", its variable '" + var->name + "' " + dtype_name(var.dtype()));
    }
  }

  void indices(const BufferNode& buffer, const std::vector<PrimExpr>& list) {
    if (list.size() != buffer.shape.size()) {
      report_.add("T2", "'" + buffer.name + "' is accessed with " + std::to_string(list.size()) +
                            " indices for " + std::to_string(buffer.shape.size()) + " dimensions");
    }
    for (const PrimExpr& index : list) {
      if (value(index, "T10", "an index is missing") && !is_integer(index.dtype())) {
        report_.add("T2",
                    "'" + buffer.name + "' has an index of dtype " + dtype_name(index.dtype()));
      }
    }
  }

  // Every iteration becomes separate code.
  void unrolled(int64_t extent) {
    if (extent > kMostUnrolled) {
      report_.add("T8", "an unrolled loop has " + std::to_string(extent) +
                            " iterations, of at most " + std::to_string(kMostUnrolled));
      return;
    }
    const bool counted = copies_ <= kMostUnrolledTogether;
    copies_ *= std::max<int64_t>(extent, 1);
    if (counted && copies_ > kMostUnrolledTogether) {
      report_.add("T8", "nested unrolled loops have " + std::to_string(copies_) +
                            " iterations together, of at most " +
                            std::to_string(kMostUnrolledTogether));
    }
    copies_ = std::min(copies_, kMostUnrolledTogether + 1);
  }

  void loop(const ForNode& node) {
    std::string outer = report_.place();
    report_.at("for " + (node.var ? node.var->name : ""));
    integer(node.extent, node.var, "the extent");
    bool outermost = node.for_kind == ForKind::kParallel || node.for_kind == ForKind::kWorkgroup;
    const bool is_group = node.for_kind == ForKind::kWorkgroup;
    const int dimension = std::exchange(dimension_, 0);  // of the grid; 0 for the first
    if (is_group && dimension == kGridDimensions) {
      report_.add("T8", "a work-group loop is a fourth dimension of the grid");
    } else if (outermost && in_parallel_ && !(is_group && dimension > 0)) {
      report_.add("T8", std::string("a ") + for_kind_name(node.for_kind) +
                            " loop is inside another parallel or work-group loop" +
                            (is_group ? ", and not directly inside a work-group loop" : ""));
    }
    bool constant = node.for_kind == ForKind::kUnrolled || node.for_kind == ForKind::kThread;
    if (constant && node.extent && !node.extent.is_int()) {
      report_.add("T8", std::string("the extent of a loop of kind ") +
                            for_kind_name(node.for_kind) +
                            " is not constant: " + text::print(node.extent));
    }
    const int64_t outer_copies = copies_;
    if (node.for_kind == ForKind::kUnrolled && node.extent && node.extent.is_int()) {
      unrolled(node.extent->int_value);
    }
    bool saved = in_parallel_;
    const int64_t outer_threads = threads_;
    in_parallel_ |= outermost;
    if (node.for_kind == ForKind::kThread && node.extent && node.extent.is_int()) {
      threads_ = node.extent->int_value;
    }
    bind(node.var, "the loop variable");
    if (in_block_) inner_.insert(node.var.get());
    if (is_group && node.body && node.body->kind == StmtKind::kFor) dimension_ = dimension + 1;
    stmt(node.body);
    dimension_ = 0;
    unbind(node.var);
    in_parallel_ = saved;
    threads_ = outer_threads;
    copies_ = outer_copies;
    report_.at(outer);
  }

  void writes(const BufferNode& buffer) {
    stored_.insert(&buffer);
    auto mode = modes_.find(&buffer);
    if (mode == modes_.end() ||
        (mode->second != AccessMode::kIn && mode->second != AccessMode::kPrepared)) {
      return;
    }
    report_.add("T6", "the parameter '" + buffer.name + "' of mode " +
                          access_mode_name(mode->second) + " is stored to");
  }

  void store(const StoreNode& node) {
    if (!node.buffer) return report_.add("T10", "a store has no buffer");
    use_elements(*node.buffer);
    writes(*node.buffer);
    indices(*node.buffer, node.indices);
    if (auto call = as_subgroup_call(node.value)) subgroup(node.value, *call);
    joint_ = node.value;
    const bool is_there = value(node.value, "T10", "a store has no value");
    joint_ = {};
    if (is_there && node.value.dtype() != node.buffer->dtype) {
      report_.add("T3", "a value of dtype " + std::string(dtype_name(node.value.dtype())) +
                            " is stored to '" + node.buffer->name + "' of dtype " +
                            dtype_name(node.buffer->dtype));
    }
  }

  void subgroup(const PrimExpr& e, const SubgroupCall& call) {
    below_threads(text::print(e), call.width);
  }

  void below_threads(const std::string& what, int64_t width) {
    if (threads_ == 0) {
      report_.add("T11", what + " is outside a loop over threads");
    } else if (width < 1 || threads_ % width != 0) {
      report_.add("T11", what + " is below a loop over " + std::to_string(threads_) +
                             " threads, which is not a multiple of its width");
    }
  }

  void matrix(const MatrixNode& node) {
    const bool of_memory = node.op == MatrixOp::kLoad || node.op == MatrixOp::kStore;
    std::vector<Buffer> used = read_buffers(node);
    used.push_back(written_buffer(node));
    if (std::ranges::count(used, nullptr) > 0) {
      return report_.add("T10", "a matrix operation has no buffer");
    }
    for (const Buffer& buffer : used) use_buffer(*buffer);
    writes(*written_buffer(node));
    const std::string name = matrix_op_name(node.op);
    if (node.width < 2 || !std::has_single_bit(static_cast<uint64_t>(node.width))) {
      report_.add("T11", name + " has the width " + std::to_string(node.width) +
                             ", which is not a power of two of at least 2");
    } else {
      below_threads(name, node.width);
    }
    if (node.op == MatrixOp::kFill) value(node.value, "T10", "a fill has no value");
    if (of_memory) {
      indices(*node.memory, node.indices);
      value(node.leading, "T10", "a leading dimension is missing");
    }
    matrix_.check(node);
  }

  void copy(const CopyAsyncNode& node) {
    if (!node.to.buffer || !node.from.buffer) return report_.add("T10", "a copy has no buffer");
    async("copy_async");
    for (const Region* region : {&node.to, &node.from}) {
      use_elements(*region->buffer);
      indices(*region->buffer, region->begins);
      indices(*region->buffer, region->extents);
    }
    writes(*node.to.buffer);
    verify_copy(node, report_);
  }

  void async(const char* what) {
    if (threads_ == 0) {
      report_.add("T17", std::string(what) + " is outside a loop over threads");
    }
  }

  void regions(const std::vector<Region>& list) {
    for (const Region& region : list) {
      if (!region.buffer) {
        report_.add("T10", "a region has no buffer");
        continue;
      }
      use_buffer(*region.buffer);
      indices(*region.buffer, region.begins);
      indices(*region.buffer, region.extents);
    }
  }

  void block(const BlockNode& node) {
    std::string outer_place = report_.place();
    report_.at("block \"" + node.name + "\"");
    for (const BlockIter& iter : node.iters) {
      integer(iter.extent, iter.var, "an iterator's extent");
      integer(iter.binding, iter.var, "an iterator's binding");
    }
    // The predicate excludes the extra points that a split of the enclosing loops adds.
    if (node.predicate) condition(node.predicate, "the predicate");
    bool was_in_block = in_block_;
    std::set<const tapml::ExprNode*> outer_inner = std::move(inner_);
    inner_.clear();
    in_block_ = true;
    for (const BlockIter& iter : node.iters) {
      bind(iter.var, "a block iterator");
      inner_.insert(iter.var.get());
    }
    regions(node.reads);
    regions(node.writes);
    if (node.init) stmt(node.init);
    stmt(node.body);
    for (const BlockIter& iter : node.iters) unbind(iter.var);
    in_block_ = was_in_block;
    inner_ = std::move(outer_inner);
    report_.at(outer_place);
  }

  void stmt(const Stmt& s) {
    if (!s) return report_.add("T10", "a body is missing");
    const void* outer = report_.enter(s.get());
    statement(s);
    report_.enter(outer);
  }

  void statement(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor:
        loop(as<ForNode>(s));
        break;
      case StmtKind::kSeq:
        for (const Stmt& inner : as<SeqNode>(s).stmts) stmt(inner);
        break;
      case StmtKind::kStore:
        store(as<StoreNode>(s));
        break;
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        condition(node.condition, "the condition of an if");
        stmt(node.then_body);
        if (node.else_body) stmt(node.else_body);
        break;
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(s);
        if (!node.buffer) return report_.add("T10", "an alloc has no buffer");
        bind_buffer(node.buffer);
        if (node.buffer->scope == Scope::kFragment) fragment(*node.buffer);
        stmt(node.body);
        live_.erase(node.buffer.get());
        break;
      }
      case StmtKind::kBlock:
        block(as<BlockNode>(s));
        break;
      case StmtKind::kBarrier:
        if (threads_ == 0) report_.add("T12", "a barrier is outside a loop over threads");
        break;
      case StmtKind::kMatrix:
        matrix(as<MatrixNode>(s));
        break;
      case StmtKind::kCopyAsync:
        copy(as<CopyAsyncNode>(s));
        break;
      case StmtKind::kCommitCopies:
        async("commit_copies");
        break;
      case StmtKind::kWaitCopies:
        async("wait_copies");
        if (as<WaitCopiesNode>(s).outstanding < 0) {
          report_.add("T17", "wait_copies has a negative number of groups");
        }
        break;
    }
  }

  const PrimFunc& func_;
  Report& report_;
  std::set<const tapml::ExprNode*> known_, visible_, scalars_;
  // Variables that the innermost block's body may use, in addition to scalar parameters.
  std::set<const tapml::ExprNode*> inner_;
  std::set<const BufferNode*> known_buffers_, live_, stored_;
  std::map<const BufferNode*, AccessMode> modes_;
  bool in_block_ = false;
  bool in_parallel_ = false;
  int dimension_ = 0;    // of the work-group loop that comes next, directly inside others
  int64_t copies_ = 1;   // of the current code, from the unrolled loops around it
  int64_t threads_ = 0;  // of the enclosing loop over threads; 0 if there is none
  PrimExpr joint_;       // the value of the store that is being verified
  MatrixVerifier matrix_;
};

}  // namespace

void verify_prim_func(const PrimFunc& func, Report& report) {
  PrimFuncVerifier(func, report).run();
  if (report.clean()) verify_async(func.body, report);
}

}  // namespace tapml::analysis
