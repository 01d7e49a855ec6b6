#include "codegen/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <map>

#include "ir/exceptions.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Values in registers: bool is i1, bf16 is its bits in i16, the rest is LLVM's own type. In memory
// bool is i8.
class Emitter {
 public:
  Emitter(llvm::Module& module, const DeviceFunc& function)
      : module_(module), context_(module.getContext()), builder_(context_), function_(function) {}

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
    if (function_.thread) throw_internal("work groups are not for the cpu", function_.entry);
    loop(function_.item, begin, end, false, [&] { stmt(function_.body); });
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
    configure(body);
    body->addFnAttr(llvm::Attribute::NoInline);
    return body;
  }

  void configure(llvm::Function* function) {
    function->addFnAttr("prefer-vector-width", "512");
    function->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void emit_entry(llvm::Function* body) {
    auto* pointer = builder_.getPtrTy();
    auto* i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, i64, i64}, false);
    auto* entry =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, function_.entry, module_);
    configure(entry);
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

  llvm::Type* register_type(DType dtype) {
    switch (dtype) {
      case DType::kBool:
        return builder_.getInt1Ty();
      case DType::kF16:
        return builder_.getHalfTy();
      case DType::kBF16:
        return builder_.getInt16Ty();
      case DType::kF32:
        return builder_.getFloatTy();
      case DType::kF64:
        return builder_.getDoubleTy();
      default:
        return builder_.getIntNTy(dtype_bits(dtype));
    }
  }

  llvm::Type* memory_type(DType dtype) {
    return dtype == DType::kBool ? builder_.getInt8Ty() : register_type(dtype);
  }

  // ---- control flow

  llvm::Function* current() { return builder_.GetInsertBlock()->getParent(); }
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(context_, name, current());
  }

  template <class F>
  void loop(const Var& var, llvm::Value* begin, llvm::Value* end, bool vectorized, F&& body) {
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
    body();
    vectorized_ = outer;
    auto* next = builder_.CreateNSWAdd(index, builder_.getInt64(1));
    index->addIncoming(next, builder_.GetInsertBlock());
    auto* branch = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), head, exit);
    if (vectorized) branch->setMetadata("llvm.loop", vectorize_metadata());
    builder_.SetInsertPoint(exit);
  }

  llvm::MDNode* vectorize_metadata() {
    auto* enable =
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.enable"),
                                     llvm::ConstantAsMetadata::get(builder_.getTrue())});
    auto temporary = llvm::MDNode::getTemporary(context_, {});
    auto* node = llvm::MDNode::getDistinct(context_, {temporary.get(), enable});
    node->replaceOperandWith(0, node);
    return node;
  }

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto& node = as<ForNode>(s);
        if (node.for_kind == ForKind::kUnrolled && node.extent.is_int()) {
          for (int64_t i = 0; i < node.extent->int_value; ++i) {
            vars_[node.var.get()] = builder_.getInt64(i);
            stmt(node.body);
          }
          return;
        }
        loop(node.var, builder_.getInt64(0), expr(node.extent),
             node.for_kind == ForKind::kVectorized, [&] { stmt(node.body); });
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
        int64_t elements = 1;
        for (const PrimExpr& dim : node.buffer->shape) {
          if (!dim.is_int()) throw_internal("local buffer of symbolic size", node.buffer->name);
          elements *= dim->int_value;
        }
        llvm::IRBuilder<> top(&current()->getEntryBlock(), current()->getEntryBlock().begin());
        auto* memory = top.CreateAlloca(memory_type(node.buffer->dtype), top.getInt64(elements),
                                        node.buffer->name);
        memory->setAlignment(llvm::Align(64));
        buffers_[node.buffer.get()] = memory;
        stmt(node.body);
        return;
      }
      case StmtKind::kBarrier:
        return;  // one invocation
      case StmtKind::kBlock:
        throw_internal("a block reached code generation", function_.entry);
    }
  }

  // ---- memory

  llvm::Value* address(const Buffer& buffer, const std::vector<PrimExpr>& indices) {
    auto it = buffers_.find(buffer.get());
    if (it == buffers_.end()) throw_internal("unknown buffer " + buffer->name, function_.entry);
    llvm::Value* index = builder_.getInt64(0);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i > 0) index = builder_.CreateNSWMul(index, expr(buffer->shape[i]));
      index = builder_.CreateNSWAdd(index, expr(indices[i]));
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

  // buffer[i] = buffer[i] + ... (or min, max): a sum whose order is free in a vectorized loop.
  bool is_accumulation(const StoreNode& node) {
    ExprKind kind = node.value.kind();
    if (kind != ExprKind::kAdd && kind != ExprKind::kMax && kind != ExprKind::kMin) return false;
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
        return llvm::ConstantInt::get(register_type(e.dtype()), e->int_value, true);
      case ExprKind::kFloat:
        if (e.dtype() == DType::kBF16) {
          return builder_.getInt16(f32_to_bf16(static_cast<float>(e->float_value)));
        }
        return llvm::ConstantFP::get(register_type(e.dtype()), e->float_value);
      case ExprKind::kVar: {
        auto it = vars_.find(e.get());
        if (it == vars_.end()) throw_internal("unbound variable " + e->name, function_.entry);
        return it->second;
      }
      case ExprKind::kLet:
        vars_[e.operand(0).get()] = expr(e.operand(1));
        return expr(e.operand(2));
      case ExprKind::kLoad:
        return load(e);
      case ExprKind::kCast:
        return convert(expr(e.operand(0)), e.operand(0).dtype(), e.dtype());
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

  // Whether evaluating `e` where its value is not wanted may trap: loads, integer divisions.
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

  // Both sides are evaluated where that is safe, else only the chosen one.
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
    // The second condition only counts, and is only evaluated, where the first leaves it open.
    if (e.kind() == ExprKind::kAnd && may_trap(y)) {
      return select(tapml::select(x, y, make_bool(false)));
    }
    if (e.kind() == ExprKind::kOr && may_trap(y)) {
      return select(tapml::select(x, make_bool(true), y));
    }
    DType dtype = x.dtype();
    bool accumulate = accumulating_;
    accumulating_ = false;
    auto* a = expr(x);
    auto* b = expr(y);
    if (dtype == DType::kBF16 || dtype == DType::kF16) {
      auto* value = float_binary(e.kind(), convert(a, dtype, DType::kF32),
                                 convert(b, dtype, DType::kF32), accumulate);
      return is_comparison(e.kind()) ? value : convert(value, DType::kF32, dtype);
    }
    return is_float(dtype) ? float_binary(e.kind(), a, b, accumulate)
                           : int_binary(e.kind(), dtype, a, b);
  }

  llvm::Value* float_binary(ExprKind kind, llvm::Value* a, llvm::Value* b, bool accumulate) {
    llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    if (accumulate) {
      flags.setAllowReassoc();
      flags.setNoSignedZeros();
      if (kind != ExprKind::kAdd) flags.setNoNaNs();
    }
    builder_.setFastMathFlags(flags);
    switch (kind) {
      case ExprKind::kAdd:
        return builder_.CreateFAdd(a, b);
      case ExprKind::kSub:
        return builder_.CreateFSub(a, b);
      case ExprKind::kMul:
        return builder_.CreateFMul(a, b);
      case ExprKind::kDiv:
        return builder_.CreateFDiv(a, b);
      // The first side where they are equal or not comparable, on every platform.
      case ExprKind::kMin:
        return builder_.CreateSelect(builder_.CreateFCmpOLT(b, a), b, a);
      case ExprKind::kMax:
        return builder_.CreateSelect(builder_.CreateFCmpOGT(b, a), b, a);
      case ExprKind::kEq:
        return builder_.CreateFCmpOEQ(a, b);
      case ExprKind::kNe:
        return builder_.CreateFCmpUNE(a, b);
      case ExprKind::kLt:
        return builder_.CreateFCmpOLT(a, b);
      case ExprKind::kLe:
        return builder_.CreateFCmpOLE(a, b);
      default:
        throw_internal("operation that floats do not have", function_.entry);
    }
  }

  llvm::Value* int_binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b) {
    bool is_signed = is_signed_integer(dtype);
    bool index = dtype == DType::kI64;
    switch (kind) {
      case ExprKind::kAdd:
        return builder_.CreateAdd(a, b, "", false, index);
      case ExprKind::kSub:
        return builder_.CreateSub(a, b, "", false, index);
      case ExprKind::kMul:
        return builder_.CreateMul(a, b, "", false, index);
      case ExprKind::kFloorDiv:
        return is_signed ? floor_division(a, b, true) : builder_.CreateUDiv(a, b);
      case ExprKind::kFloorMod:
        return is_signed ? floor_division(a, b, false) : builder_.CreateURem(a, b);
      case ExprKind::kMin:
        return builder_.CreateSelect(
            is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b), a, b);
      case ExprKind::kMax:
        return builder_.CreateSelect(
            is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b), a, b);
      case ExprKind::kEq:
        return builder_.CreateICmpEQ(a, b);
      case ExprKind::kNe:
        return builder_.CreateICmpNE(a, b);
      case ExprKind::kLt:
        return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
      case ExprKind::kLe:
        return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
      case ExprKind::kAnd:
        return builder_.CreateAnd(a, b);
      case ExprKind::kOr:
        return builder_.CreateOr(a, b);
      default:
        throw_internal("operation that integers do not have", function_.entry);
    }
  }

  // Quotient or remainder that rounds toward minus infinity.
  llvm::Value* floor_division(llvm::Value* a, llvm::Value* b, bool quotient) {
    auto* zero = llvm::ConstantInt::get(a->getType(), 0);
    auto* q = builder_.CreateSDiv(a, b);
    auto* r = builder_.CreateSRem(a, b);
    auto* inexact = builder_.CreateICmpNE(r, zero);
    auto* opposite = builder_.CreateICmpSLT(builder_.CreateXor(r, b), zero);
    auto* adjust = builder_.CreateAnd(inexact, opposite);
    if (quotient) {
      return builder_.CreateSelect(
          adjust, builder_.CreateSub(q, llvm::ConstantInt::get(a->getType(), 1)), q);
    }
    return builder_.CreateSelect(adjust, builder_.CreateAdd(r, b), r);
  }

  llvm::Value* convert(llvm::Value* value, DType from, DType to) {
    if (from == to) return value;
    if (from == DType::kBF16) {
      auto* bits = builder_.CreateShl(builder_.CreateZExt(value, builder_.getInt32Ty()), 16);
      return convert(builder_.CreateBitCast(bits, builder_.getFloatTy()), DType::kF32, to);
    }
    if (to == DType::kBF16) return round_to_bf16(convert(value, from, DType::kF32));
    auto* type = register_type(to);
    if (to == DType::kBool) {
      return is_float(from)
                 ? builder_.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0))
                 : builder_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
    }
    bool from_signed = is_signed_integer(from);
    if (is_float(from) && is_float(to)) return builder_.CreateFPCast(value, type);
    if (is_float(to)) {
      return from_signed ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
    }
    if (is_float(from)) {
      // Saturating, NaN to 0: the same on every platform.
      auto id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
      return builder_.CreateIntrinsic(id, {type, value->getType()}, {value});
    }
    return builder_.CreateIntCast(value, type, from_signed);
  }

  // Round to nearest even on the bits; NaN stays a quiet NaN.
  llvm::Value* round_to_bf16(llvm::Value* value) {
    auto* bits = builder_.CreateBitCast(value, builder_.getInt32Ty());
    auto* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), builder_.getInt32(1));
    auto* rounded = builder_.CreateAdd(bits, builder_.CreateAdd(odd, builder_.getInt32(0x7fff)));
    auto* quiet = builder_.CreateOr(bits, builder_.getInt32(0x400000));
    auto* nan = builder_.CreateFCmpUNO(value, value);
    auto* high = builder_.CreateLShr(builder_.CreateSelect(nan, quiet, rounded), 16);
    return builder_.CreateTrunc(high, builder_.getInt16Ty());
  }

  llvm::Value* call(const PrimExpr& e) {
    std::vector<llvm::Value*> args;
    for (const PrimExpr& operand : e->operands) args.push_back(expr(operand));
    const std::string& name = e->name;
    if (name == "isnan") {
      auto* value = convert(args[0], e.operand(0).dtype(), DType::kF32);
      if (e.operand(0).dtype() == DType::kF64) value = args[0];
      return builder_.CreateFCmpUNO(value, value);
    }
    if (name == "reinterpret") return builder_.CreateBitCast(args[0], register_type(e.dtype()));
    // Narrow floats are computed in f32.
    bool narrow = e.dtype() == DType::kBF16 || e.dtype() == DType::kF16;
    if (!narrow) return intrinsic(e, args, e.dtype());
    for (llvm::Value*& arg : args) arg = convert(arg, e.dtype(), DType::kF32);
    return convert(intrinsic(e, args, DType::kF32), DType::kF32, e.dtype());
  }

  llvm::Value* intrinsic(const PrimExpr& e, const std::vector<llvm::Value*>& args, DType dtype) {
    const std::string& name = e->name;
    auto unary = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, args[0]); };
    if (name == "sqrt") return unary(llvm::Intrinsic::sqrt);
    if (name == "rsqrt") {
      return builder_.CreateFDiv(llvm::ConstantFP::get(args[0]->getType(), 1),
                                 unary(llvm::Intrinsic::sqrt));
    }
    if (name == "fma") {
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, args);
    }
    if (name == "floor") return unary(llvm::Intrinsic::floor);
    if (name == "trunc") return unary(llvm::Intrinsic::trunc);
    if (name == "round") return unary(llvm::Intrinsic::rint);
    if (name == "abs") {
      if (is_float(dtype)) return unary(llvm::Intrinsic::fabs);
      return builder_.CreateIntrinsic(llvm::Intrinsic::abs, {args[0]->getType()},
                                      {args[0], builder_.getFalse()});
    }
    if (name == "shift_left") return builder_.CreateShl(args[0], args[1]);
    if (name == "shift_right") {
      return is_signed_integer(dtype) ? builder_.CreateAShr(args[0], args[1])
                                      : builder_.CreateLShr(args[0], args[1]);
    }
    if (name == "bit_and") return builder_.CreateAnd(args[0], args[1]);
    if (name == "bit_or") return builder_.CreateOr(args[0], args[1]);
    if (name == "bit_xor") return builder_.CreateXor(args[0], args[1]);
    throw_internal("intrinsic " + name + " has no machine code (lower_math replaces it)",
                   function_.entry);
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  const DeviceFunc& function_;
  std::map<const ExprNode*, llvm::Value*> vars_;
  std::map<const BufferNode*, llvm::Value*> buffers_;
  bool vectorized_ = false;
  bool accumulating_ = false;
};

}  // namespace

void emit_function(llvm::Module& module, const DeviceFunc& function) {
  Emitter(module, function).run();
}

}  // namespace tapml::codegen
