#include "codegen/llvm/byte_dot.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsWebAssembly.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <string>

namespace tapml::codegen {

namespace {

constexpr const char* kName = "tapml_dot4";
constexpr unsigned kWidths[] = {4, 8, 16};

std::string name_of(unsigned lanes) { return std::string(kName) + "_" + std::to_string(lanes); }

llvm::Type* words(llvm::LLVMContext& context, unsigned lanes) {
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  return lanes == 1 ? word : llvm::FixedVectorType::get(word, lanes);
}

llvm::Function* declare(llvm::Module& module, const std::string& name, unsigned lanes) {
  llvm::Type* type = words(module.getContext(), lanes);
  auto* function = llvm::cast<llvm::Function>(
      module.getOrInsertFunction(name, llvm::FunctionType::get(type, {type, type, type}, false))
          .getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->addFnAttr(llvm::Attribute::Speculatable);
  return function;
}

// Emits dot4 of several lanes by the instructions of a processor.
class ByteDots {
 public:
  ByteDots(llvm::IRBuilder<>& builder, const llvm::TargetMachine& machine)
      : builder_(builder), triple_(machine.getTargetTriple()), machine_(machine) {}

  // Vectors are cut into those that have an instruction.
  llvm::Value* emit(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    if (!type) return expanded(a, b, c);
    const unsigned lanes = type->getNumElements(), width = std::min(lanes, widest());
    if (lanes == width) return one(a, b, c, width);
    std::vector<llvm::Value*> parts;
    for (unsigned first = 0; first < lanes; first += width) {
      const auto part = [&](llvm::Value* whole) {
        std::vector<int> picked(width);
        for (unsigned i = 0; i < width; ++i) picked[i] = static_cast<int>(first + i);
        return builder_.CreateShuffleVector(whole, picked);
      };
      parts.push_back(one(part(a), part(b), part(c), width));
    }
    for (unsigned count = lanes / width, each = width; count > 1; count /= 2, each *= 2) {
      std::vector<int> both(2 * each);
      for (unsigned i = 0; i < 2 * each; ++i) both[i] = static_cast<int>(i);
      for (unsigned i = 0; i < count / 2; ++i) {
        parts[i] = builder_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], both);
      }
    }
    return parts[0];
  }

 private:
  bool has(const char* feature) const {
    return machine_.getMCSubtargetInfo()->checkFeatures(std::string("+") + feature);
  }
  bool is_x86() const { return triple_.isX86(); }

  unsigned widest() const {
    if (!is_x86()) return 4;
    if (has("avx512bw")) return 16;
    return has("avx2") ? 8 : 4;
  }

  llvm::Value* one(llvm::Value* a, llvm::Value* b, llvm::Value* c, unsigned lanes) {
    if (is_x86()) {
      // The instructions of 4 and 8 lanes are those of avx512vl.
      if (has("avx512vnni") && has("avx512vl")) return vnni(a, b, c, lanes);
      if (has("avx2") && has_small_bytes(a)) {
        return builder_.CreateAdd(c, of_small_bytes(a, b, lanes));
      }
      return builder_.CreateAdd(c, of_halves(a, b, lanes));
    }
    if (triple_.isAArch64() && lanes == 4 && has("i8mm")) {
      return arm(llvm::Intrinsic::aarch64_neon_usdot, a, b, c);
    }
    if (triple_.isAArch64() && lanes == 4 && has("dotprod")) return of_signed(a, b, c);
    if (triple_.isWasm() && lanes == 4 && has("simd128"))
      return builder_.CreateAdd(c, of_halves(a, b, lanes));
    return expanded(a, b, c);
  }

  llvm::Value* vnni(llvm::Value* a, llvm::Value* b, llvm::Value* c, unsigned lanes) {
    const llvm::Intrinsic::ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                   : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    return builder_.CreateIntrinsic(id, {}, {c, a, b});
  }

  llvm::Value* arm(llvm::Intrinsic::ID id, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    auto* bytes = llvm::FixedVectorType::get(builder_.getInt8Ty(), 16);
    return builder_.CreateIntrinsic(
        id, {c->getType(), bytes},
        {c, builder_.CreateBitCast(a, bytes), builder_.CreateBitCast(b, bytes)});
  }

  // With products of signed bytes alone: (a - 128) * b + 128 * b.
  llvm::Value* of_signed(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    const auto bytes_of = [&](uint32_t word) { return llvm::ConstantInt::get(a->getType(), word); };
    constexpr llvm::Intrinsic::ID kDot = llvm::Intrinsic::aarch64_neon_sdot;
    if (has_small_bytes(a)) return arm(kDot, a, b, c);
    llvm::Value* total = arm(kDot, bytes_of(0x01010101), b, bytes_of(0));
    llvm::Value* near = arm(kDot, builder_.CreateXor(a, bytes_of(0x80808080)), b, c);
    return builder_.CreateAdd(near, builder_.CreateShl(total, 7));
  }

  // Whether no byte of `a` is above 127.
  bool has_small_bytes(llvm::Value* a) const {
    const llvm::KnownBits known =
        llvm::computeKnownBits(a, builder_.GetInsertBlock()->getModule()->getDataLayout());
    return (known.Zero & 0x80808080U) == 0x80808080U;
  }

  // The sum of two products fits 16 bits then.
  llvm::Value* of_small_bytes(llvm::Value* a, llvm::Value* b, unsigned lanes) {
    auto* bytes = llvm::FixedVectorType::get(builder_.getInt8Ty(), 4 * lanes);
    auto* halves = llvm::FixedVectorType::get(builder_.getInt16Ty(), 2 * lanes);
    const llvm::Intrinsic::ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddubs_w_512
                                   : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_ub_sw
                                                : llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
    llvm::Value* sums = builder_.CreateIntrinsic(
        id, {}, {builder_.CreateBitCast(a, bytes), builder_.CreateBitCast(b, bytes)});
    return pairs(sums, llvm::ConstantInt::get(halves, 1), lanes);
  }

  // Bytes are widened to 16 bits, those at even places apart from those at odd ones.
  llvm::Value* of_halves(llvm::Value* a, llvm::Value* b, unsigned lanes) {
    auto* halves = llvm::FixedVectorType::get(builder_.getInt16Ty(), 2 * lanes);
    a = builder_.CreateBitCast(a, halves);
    b = builder_.CreateBitCast(b, halves);
    llvm::Value* even =
        pairs(builder_.CreateAnd(a, 255), builder_.CreateAShr(builder_.CreateShl(b, 8), 8), lanes);
    llvm::Value* odd = pairs(builder_.CreateLShr(a, 8), builder_.CreateAShr(b, 8), lanes);
    return builder_.CreateAdd(even, odd);
  }

  // a[2i] * b[2i] + a[2i + 1] * b[2i + 1] of signed 16-bit elements, in 32 bits.
  llvm::Value* pairs(llvm::Value* a, llvm::Value* b, unsigned lanes) {
    if (triple_.isWasm()) return builder_.CreateIntrinsic(llvm::Intrinsic::wasm_dot, {}, {a, b});
    const llvm::Intrinsic::ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                   : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                : llvm::Intrinsic::x86_sse2_pmadd_wd;
    return builder_.CreateIntrinsic(id, {}, {a, b});
  }

  llvm::Value* expanded(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      llvm::Value* left = builder_.CreateAnd(builder_.CreateLShr(a, shift), 255);
      llvm::Value* right = builder_.CreateAShr(builder_.CreateShl(b, 24 - shift), 24);
      c = builder_.CreateAdd(c, builder_.CreateMul(left, right));
    }
    return c;
  }

  llvm::IRBuilder<>& builder_;
  const llvm::Triple triple_;
  const llvm::TargetMachine& machine_;
};

}  // namespace

llvm::Value* call_byte_dot(llvm::IRBuilder<>& builder, const std::vector<llvm::Value*>& args) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const bool is_first = !module.getFunction(kName);
  llvm::Function* scalar = declare(module, kName, 1);
  std::string variants;
  for (const unsigned lanes : kWidths) {
    variants += (variants.empty() ? "" : ",") + ("_ZGV_LLVM_N" + std::to_string(lanes)) + "vvv_" +
                kName + "(" + name_of(lanes) + ")";
    // Nothing uses these before the vectorizer does.
    if (is_first) llvm::appendToCompilerUsed(module, {declare(module, name_of(lanes), lanes)});
  }
  llvm::CallInst* call = builder.CreateCall(scalar, args);
  call->addFnAttr(
      llvm::Attribute::get(module.getContext(), "vector-function-abi-variant", variants));
  return call;
}

bool lower_byte_dots(llvm::Module& module, const llvm::TargetMachine& machine) {
  if (!module.getFunction(kName) && !module.getFunction(name_of(kWidths[0]))) return false;
  if (auto* used = module.getNamedGlobal("llvm.compiler.used")) used->eraseFromParent();
  std::vector<std::string> names = {kName};
  for (const unsigned lanes : kWidths) names.push_back(name_of(lanes));
  bool found = false;
  for (const std::string& name : names) {
    llvm::Function* function = module.getFunction(name);
    if (!function) continue;
    function->removeDeadConstantUsers();  // the list of what the compiler uses
    for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> builder(call);
      ByteDots dots(builder, machine);
      call->replaceAllUsesWith(
          dots.emit(call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)));
      call->eraseFromParent();
      found = true;
    }
    function->eraseFromParent();
  }
  return found;
}

}  // namespace tapml::codegen
