#include "codegen/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <map>
#include <set>

#include "codegen/llvm/scalar.h"
#include "codegen/llvm/transpose.h"
#include "codegen/lower/data.h"
#include "codegen/lower/index_signs.h"
#include "ir/exceptions.h"
#include "ir/queries.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

Lacks lacks_of(const llvm::Module& module) {
  const bool wasm = llvm::Triple(module.getTargetTriple()).isWasm();
  return {.f16 = wasm, .fma = wasm, .narrow_shift = wasm};
}

// Emits statements, memory accesses and control flow; in memory bool is i8. See scalar.h for
// operations.
class Emitter {
 public:
  Emitter(llvm::Module& module, const DeviceFunc& function)
      : module_(module),
        context_(module.getContext()),
        builder_(context_),
        ops_(builder_, lacks_of(module)),
        function_(function),
        signs_(function),
        lanes_first_(llvm::Triple(module.getTargetTriple()).isWasm()),
        halves_are_cheap_(llvm::Triple(module.getTargetTriple()).isX86()) {}

  void run() {
    llvm::Function* body = declare_body();
    emit_entry(body);
    auto* start = llvm::BasicBlock::Create(context_, "start", body);
    builder_.SetInsertPoint(start);
    size_t arg = 0;
    for (const Param& param : function_.buffers) {
      buffers_[param.buffer.get()] = body->getArg(arg);
      bool written = param.mode != AccessMode::kIn && param.mode != AccessMode::kPrepared;
      body->addParamAttr(arg, llvm::Attribute::NoAlias);
      if (!written) body->addParamAttr(arg, llvm::Attribute::ReadOnly);
      ++arg;
    }
    for (const Var& scalar : function_.scalars) vars_[scalar.get()] = body->getArg(arg++);
    llvm::Value* begin = body->getArg(arg);
    llvm::Value* end = body->getArg(arg + 1);
    if (function_.thread) throw_internal("the cpu does not support work groups", function_.entry);
    loop(function_.item, begin, end, false, function_.body);
    builder_.CreateRetVoid();
  }

 private:
  // ---- functions

  llvm::Function* declare_body() {
    auto* pointer = builder_.getPtrTy();
    std::vector<llvm::Type*> types(function_.buffers.size(), pointer);
    types.insert(types.end(), function_.scalars.size() + 2, builder_.getInt64Ty());
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
    auto* body = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                        function_.entry + ".body", module_);
    body->addFnAttr(llvm::Attribute::NoUnwind);
    body->addFnAttr(llvm::Attribute::NoInline);
    return body;
  }

  void emit_entry(llvm::Function* body) {
    auto* pointer = builder_.getPtrTy();
    auto* i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, i64, i64}, false);
    auto* entry =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, function_.entry, module_);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "start", entry));
    std::vector<llvm::Value*> args;
    for (size_t i = 0; i < function_.buffers.size(); ++i) {
      args.push_back(builder_.CreateLoad(
          pointer, builder_.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), i)));
    }
    for (size_t i = 0; i < function_.scalars.size(); ++i) {
      args.push_back(
          builder_.CreateLoad(i64, builder_.CreateConstInBoundsGEP1_64(i64, entry->getArg(1), i)));
    }
    args.push_back(entry->getArg(2));
    args.push_back(entry->getArg(3));
    builder_.CreateCall(body, args);
    builder_.CreateRetVoid();
  }

  // ---- types

  llvm::Type* memory_type(DType dtype) {
    return dtype == DType::kBool ? builder_.getInt8Ty() : ops_.register_type(dtype);
  }

  // ---- control flow

  llvm::Function* current() { return builder_.GetInsertBlock()->getParent(); }
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(context_, name, current());
  }

  void loop(const Var& var, llvm::Value* begin, llvm::Value* end, bool vectorized,
            const Stmt& body) {
    const auto divided_outside = divided_;
    const bool lanes = divide_in_front(var, body);
    auto* before = builder_.GetInsertBlock();
    auto* head = new_block("loop");
    auto* exit = new_block("exit");
    auto* enter = builder_.CreateICmpSLT(begin, end);
    builder_.CreateCondBr(enter, head, exit);
    builder_.SetInsertPoint(head);
    auto* index = builder_.CreatePHI(builder_.getInt64Ty(), 2, var->name);
    index->addIncoming(begin, before);
    vars_[var.get()] = index;
    bool outer = vectorized_;
    vectorized_ = vectorized;
    stmt(body);
    vectorized_ = outer;
    divided_ = divided_outside;
    auto* next = builder_.CreateNSWAdd(index, builder_.getInt64(1));
    index->addIncoming(next, builder_.GetInsertBlock());
    auto* branch = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), head, exit);
    if (!lanes) {
      branch->setMetadata("llvm.loop", scalar_metadata());
    } else if (vectorized) {
      branch->setMetadata("llvm.loop", vectorize_metadata(instructions_from(head), end, head));
    }
    builder_.SetInsertPoint(exit);
  }

  // Of this block and those after it.
  size_t instructions_from(llvm::BasicBlock* block) {
    size_t count = 0;
    for (auto at = block->getIterator(); at != current()->end(); ++at) count += at->size();
    return count;
  }

  // Whether this block or one after it converts f16 from or to f32.
  bool converts_halves(llvm::BasicBlock* block) {
    for (auto at = block->getIterator(); at != current()->end(); ++at) {
      for (const llvm::Instruction& one : *at) {
        if (llvm::isa<llvm::FPExtInst>(one) && one.getOperand(0)->getType()->isHalfTy())
          return true;
        if (llvm::isa<llvm::FPTruncInst>(one) && one.getType()->isHalfTy()) return true;
      }
    }
    return false;
  }

  // Vectorize first: otherwise a short loop would be unrolled before the vectorizer sees it, and
  // the loop around it vectorized instead. The remainder is then unrolled, so that sums stay in
  // registers; not where that would make long blocks, for which LLVM's selection of WebAssembly's
  // instructions takes time that grows with the third power of their length.
  llvm::MDNode* vectorize_metadata(size_t instructions, llvm::Value* end, llvm::BasicBlock* head) {
    constexpr uint64_t kMostUnrolled = 4096;
    constexpr uint32_t kLanesOfHalves = 16;  // a vector of f32 in AVX-512, two in AVX2
    auto* extent = llvm::dyn_cast<llvm::ConstantInt>(end);
    const bool is_short = !extent || extent->getZExtValue() * instructions <= kMostUnrolled;
    auto text = [&](const char* name) { return llvm::MDString::get(context_, name); };
    auto* enable = llvm::MDNode::get(context_, {text("llvm.loop.vectorize.enable"),
                                                llvm::ConstantAsMetadata::get(builder_.getTrue())});
    auto temporary = llvm::MDNode::getTemporary(context_, {});
    std::vector<llvm::Metadata*> hints = {temporary.get(), enable};
    // LLVM takes conversions of f16 on x86-64 for more costly than they are, and would use vectors
    // of four elements.
    if (halves_are_cheap_ && converts_halves(head)) {
      hints.push_back(llvm::MDNode::get(
          context_, {text("llvm.loop.vectorize.width"),
                     llvm::ConstantAsMetadata::get(builder_.getInt32(kLanesOfHalves))}));
    }
    if (lanes_first_) {
      hints.push_back(llvm::MDNode::get(context_, {text("llvm.loop.unroll.disable")}));
      auto* unroll = llvm::MDNode::get(
          context_, {text(is_short ? "llvm.loop.unroll.enable" : "llvm.loop.unroll.disable")});
      hints.push_back(
          llvm::MDNode::get(context_, {text("llvm.loop.vectorize.followup_all"), unroll}));
    }
    auto* node = llvm::MDNode::getDistinct(context_, hints);
    node->replaceOperandWith(0, node);
    return node;
  }

  llvm::MDNode* scalar_metadata() {
    auto* enable =
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.enable"),
                                     llvm::ConstantAsMetadata::get(builder_.getFalse())});
    auto temporary = llvm::MDNode::getTemporary(context_, {});
    auto* node = llvm::MDNode::getDistinct(context_, {temporary.get(), enable});
    node->replaceOperandWith(0, node);
    return node;
  }

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto& node = as<ForNode>(s);
        if (auto tile = find_transposition(node)) {
          transpose(*tile);
          return;
        }
        if (node.for_kind == ForKind::kUnrolled && node.extent.is_int()) {
          for (int64_t i = 0; i < node.extent->int_value; ++i) {
            vars_[node.var.get()] = builder_.getInt64(i);
            stmt(node.body);
          }
          return;
        }
        loop(node.var, builder_.getInt64(0), expr(node.extent),
             node.for_kind == ForKind::kVectorized, node.body);
        return;
      }
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) stmt(part);
        return;
      case StmtKind::kStore:
        store(as<StoreNode>(s));
        return;
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        auto* condition = expr(node.condition);
        auto* yes = new_block("then");
        auto* no = node.else_body ? new_block("else") : nullptr;
        auto* after = new_block("endif");
        builder_.CreateCondBr(condition, yes, no ? no : after);
        builder_.SetInsertPoint(yes);
        stmt(node.then_body);
        builder_.CreateBr(after);
        if (no) {
          builder_.SetInsertPoint(no);
          stmt(node.else_body);
          builder_.CreateBr(after);
        }
        builder_.SetInsertPoint(after);
        return;
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(s);
        const std::optional<int64_t> elements = constant_size(node.buffer);
        if (!elements) throw_internal("local buffer of symbolic size", node.buffer->name);
        llvm::IRBuilder<> top(&current()->getEntryBlock(), current()->getEntryBlock().begin());
        auto* memory = top.CreateAlloca(memory_type(node.buffer->dtype), top.getInt64(*elements),
                                        node.buffer->name);
        memory->setAlignment(llvm::Align(64));
        buffers_[node.buffer.get()] = memory;
        stmt(node.body);
        return;
      }
      case StmtKind::kBarrier:
        return;  // a single invocation
      case StmtKind::kBlock:
        throw_internal("a block reached code generation", function_.entry);
      case StmtKind::kMatrix:
      case StmtKind::kCopyAsync:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        throw_internal("a matrix operation or an asynchronous copy reached code generation",
                       function_.entry);
    }
  }

  // ---- memory

  llvm::Value* address(const Buffer& buffer, const std::vector<PrimExpr>& indices) {
    auto it = buffers_.find(buffer.get());
    if (it == buffers_.end()) throw_internal("unknown buffer " + buffer->name, function_.entry);
    llvm::Value* index = builder_.getInt64(0);
    for (size_t i = 0; i < indices.size(); ++i) {
      llvm::Value* step = expr(indices[i]);
      if (!buffer->strides.empty()) {
        step = builder_.CreateNSWMul(step, expr(buffer->strides[i]));
      } else if (i > 0) {
        index = builder_.CreateNSWMul(index, expr(buffer->shape[i]));
      }
      index = builder_.CreateNSWAdd(index, step);
    }
    return builder_.CreateInBoundsGEP(memory_type(buffer->dtype), it->second, index);
  }

  llvm::Value* load(const PrimExpr& e) {
    Buffer buffer = load_buffer(e);
    auto* value = builder_.CreateAlignedLoad(memory_type(buffer->dtype),
                                             address(buffer, e->operands), natural(buffer->dtype));
    return buffer->dtype == DType::kBool ? builder_.CreateICmpNE(value, builder_.getInt8(0))
                                         : static_cast<llvm::Value*>(value);
  }

  void store(const StoreNode& node) {
    llvm::Value* value;
    if (vectorized_ && is_accumulation(node)) {
      accumulating_ = true;
      value = expr(node.value);
      accumulating_ = false;
    } else {
      value = expr(node.value);
    }
    if (node.buffer->dtype == DType::kBool)
      value = builder_.CreateZExt(value, builder_.getInt8Ty());
    builder_.CreateAlignedStore(value, address(node.buffer, node.indices),
                                natural(node.buffer->dtype));
  }

  // Reads all rows before writing any; the two buffers are distinct.
  void transpose(const Transposition& tile) {
    const StoreNode& node = *tile.store;
    const DType dtype = node.buffer->dtype;
    auto* type = llvm::FixedVectorType::get(memory_type(dtype), static_cast<unsigned>(tile.size));
    auto at = [&](int64_t row, int64_t column) {
      vars_[tile.row.get()] = builder_.getInt64(static_cast<uint64_t>(row));
      vars_[tile.column.get()] = builder_.getInt64(static_cast<uint64_t>(column));
    };
    std::vector<llvm::Value*> vectors;
    for (int64_t i = 0; i < tile.size; ++i) {
      at(i, 0);
      llvm::Value* from = address(load_buffer(node.value), node.value->operands);
      vectors.push_back(builder_.CreateAlignedLoad(type, from, natural(dtype)));
    }
    vectors = transposed(builder_, std::move(vectors));
    for (int64_t i = 0; i < tile.size; ++i) {
      at(0, i);
      builder_.CreateAlignedStore(vectors[static_cast<size_t>(i)],
                                  address(node.buffer, node.indices), natural(dtype));
    }
  }

  // buffer[i] = buffer[i] + ...: a sum that may be reordered in a vectorized loop.
  bool is_accumulation(const StoreNode& node) {
    if (node.value.kind() != ExprKind::kAdd) return false;
    for (const PrimExpr& side : node.value->operands) {
      if (side.kind() == ExprKind::kLoad && load_buffer(side) == node.buffer) return true;
    }
    return false;
  }

  llvm::Align natural(DType dtype) { return llvm::Align(dtype_bytes(dtype)); }

  // ---- expressions

  llvm::Value* expr(const PrimExpr& e) {
    switch (e.kind()) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
        return ops_.constant(e);
      case ExprKind::kVar: {
        auto it = vars_.find(e.get());
        if (it == vars_.end()) throw_internal("unbound variable " + e->name, function_.entry);
        return it->second;
      }
      case ExprKind::kLet:
        vars_[e.operand(0).get()] = expr(e.operand(1));
        if (is_data(e.operand(1))) data_vars_.insert(e.operand(0).get());
        return expr(e.operand(2));
      case ExprKind::kLoad:
        return load(e);
      case ExprKind::kCast:
        return ops_.convert(expr(e.operand(0)), e.operand(0).dtype(), e.dtype());
      case ExprKind::kNot:
        return builder_.CreateNot(expr(e.operand(0)));
      case ExprKind::kSelect:
        return select(e);
      case ExprKind::kCall:
        return call(e);
      default:
        return binary(e);
    }
  }

  // Whether evaluating `e` speculatively may trap (loads) or is expensive (divisions).
  static bool may_trap(const PrimExpr& e) {
    bool trap = false;
    visit_expr(e, [&](const PrimExpr& part) {
      trap |= part.kind() == ExprKind::kLoad;
      if (part.kind() == ExprKind::kFloorDiv || part.kind() == ExprKind::kFloorMod) {
        trap |= !part.operand(1).is_int();
      }
    });
    return trap;
  }

  // LLVM's vectorizer, which also takes loops that no schedule marks, takes the address of a masked
  // load from the first lane. A division in it that only chosen lanes execute, because it might
  // trap, has no value there if that lane is not chosen (LLVM 19). The index divisions in branches
  // that are the same in all lanes of a loop are therefore executed in front of it, by 1 where they
  // would divide by 0. Returns false if there is one that cannot be, because it depends on what the
  // loop loads or binds: such a loop must not be vectorized.
  bool divide_in_front(const Var& var, const Stmt& body) {
    std::set<const ExprNode*> bound = {var.get()}, varying = {var.get()};
    std::vector<PrimExpr> divisions;
    const auto find_divisions = [&](const PrimExpr& part) {
      visit_expr(part, [&](const PrimExpr& e) {
        if (divides_indices(e)) divisions.push_back(e);
      });
    };
    const auto look = [&](const PrimExpr& e) {
      if (e.kind() == ExprKind::kLet) {
        bound.insert(e.operand(0).get());
        if (uses_any(e.operand(1), varying)) varying.insert(e.operand(0).get());
      }
      const bool chooses =
          e.kind() == ExprKind::kSelect || e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
      if (chooses) find_divisions(e);
    };
    tir::visit(
        body,
        [&](const Stmt& s) {
          if (s->kind == StmtKind::kFor) bound.insert(as<ForNode>(s).var.get());
          if (s->kind != StmtKind::kIf) return;
          const auto& choice = as<IfNode>(s);
          for (const Stmt& branch : {choice.then_body, choice.else_body}) {
            if (branch) tir::visit(branch, [](const Stmt&) {}, find_divisions);
          }
        },
        [&](const PrimExpr& e) { visit_expr(e, look); });
    bool all = true;
    for (const PrimExpr& e : divisions) {
      if (uses_any(e, varying) || divided_.contains(e.get())) continue;
      if (is_known_outside(e, bound)) {
        divided_[e.get()] = safe_division(e);
      } else {
        all = false;
      }
    }
    return all;
  }

  bool divides_indices(const PrimExpr& e) const {
    const bool divides = e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kFloorMod;
    return divides && !e.operand(1).is_int() && e.dtype() == DType::kI64;
  }

  static bool is_known_outside(const PrimExpr& e, const std::set<const ExprNode*>& bound) {
    bool known = true;
    visit_expr(e, [&](const PrimExpr& part) {
      known &= part.kind() != ExprKind::kLoad && part.kind() != ExprKind::kCall &&
               !bound.contains(part.get());
    });
    return known;
  }

  // Quotient or remainder of indices; the divisor is 1 in place of 0.
  llvm::Value* safe_division(const PrimExpr& e) {
    ScalarOps::Freedom freedom;
    freedom.index = !is_data(e);
    freedom.plain = freedom.index && signs_.divides_plainly(e);
    auto* a = expr(e.operand(0));
    auto* b = expr(e.operand(1));
    auto* none = builder_.CreateICmpEQ(b, builder_.getInt64(0));
    b = builder_.CreateSelect(none, builder_.getInt64(1), b);
    return ops_.binary(e.kind(), e.dtype(), a, b, freedom);
  }

  // Evaluates both branches if that is safe, otherwise only the chosen one.
  llvm::Value* select(const PrimExpr& e) {
    auto* condition = expr(e.operand(0));
    if (!may_trap(e.operand(1)) && !may_trap(e.operand(2))) {
      auto* a = expr(e.operand(1));
      return builder_.CreateSelect(condition, a, expr(e.operand(2)));
    }
    auto* yes = new_block("chosen");
    auto* no = new_block("other");
    auto* after = new_block("selected");
    builder_.CreateCondBr(condition, yes, no);
    builder_.SetInsertPoint(yes);
    auto* a = expr(e.operand(1));
    auto* yes_end = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(no);
    auto* b = expr(e.operand(2));
    auto* no_end = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    auto* phi = builder_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, yes_end);
    phi->addIncoming(b, no_end);
    return phi;
  }

  llvm::Value* binary(const PrimExpr& e) {
    const PrimExpr &x = e.operand(0), &y = e.operand(1);
    // The second condition matters, and is evaluated, only if the first does not decide the result.
    if ((e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr) && may_trap(y)) {
      const PrimExpr chosen = e.kind() == ExprKind::kAnd ? tapml::select(x, y, make_bool(false))
                                                         : tapml::select(x, make_bool(true), y);
      // A constant condition has made the choice.
      return chosen.kind() == ExprKind::kSelect ? select(chosen) : expr(chosen);
    }
    if (auto known = divided_.find(e.get()); known != divided_.end()) return known->second;
    ScalarOps::Freedom freedom;
    freedom.accumulate = accumulating_;
    freedom.index = x.dtype() == DType::kI64 && !is_data(e);
    freedom.plain = freedom.index && signs_.divides_plainly(e);
    accumulating_ = false;
    auto* a = expr(x);
    return ops_.binary(e.kind(), x.dtype(), a, expr(y), freedom);
  }

  // Whether a value comes from a buffer or from floats; otherwise it is index arithmetic.
  bool is_data(const PrimExpr& e) {
    return codegen::is_data(e,
                            [this](const PrimExpr& var) { return data_vars_.contains(var.get()); });
  }

  llvm::Value* call(const PrimExpr& e) {
    std::vector<llvm::Value*> args;
    for (const PrimExpr& operand : e->operands) args.push_back(expr(operand));
    llvm::Value* value = ops_.call(e->name, args, e.operand(0).dtype(), e.dtype());
    if (!value) {
      throw_internal("intrinsic " + e->name + " has no machine code (lower_math replaces it)",
                     function_.entry);
    }
    return value;
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  ScalarOps ops_;
  const DeviceFunc& function_;
  const IndexSigns signs_;
  const bool lanes_first_, halves_are_cheap_;
  std::map<const ExprNode*, llvm::Value*> vars_;
  std::map<const BufferNode*, llvm::Value*> buffers_;
  std::set<const ExprNode*> data_vars_;
  std::map<const ExprNode*, llvm::Value*> divided_;  // in front of a vectorized loop
  bool vectorized_ = false;
  bool accumulating_ = false;
};

}  // namespace

void emit_function(llvm::Module& module, const DeviceFunc& function) {
  Emitter(module, function).run();
}

}  // namespace tapml::codegen
