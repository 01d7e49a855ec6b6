#include "schedule/primitives/tensor_intrinsics.h"

#include <array>

#include "text/parser.h"

namespace tapml::schedule {

namespace {

constexpr std::array<TensorIntrinsic, 4> kIntrinsics = {{
    {"copy_16_f32", "16 adjacent elements as lanes; bit-identical",
     R"(prim def f(a: Buffer((16,), f32), out c: Buffer((16,), f32)) {
  for j in serial(16) {
    block "f" (vj: spatial(16) = j) {
      c[vj] = a[vj]
    }
  }
})",
     R"(prim def f(a: Buffer((16,), f32), out c: Buffer((16,), f32)) {
  for j in vectorized(16) {
    c[j] = a[j]
  }
})"},
    {"fma_4x16_f32",
     "c[4, 16] += a[4, 1] * b[1, 16]: four rows of 16 lanes, one rounding a step (fma)",
     R"(prim def f(a: Buffer((4, 1), f32), b: Buffer((1, 16), f32), inout c: Buffer((4, 16), f32)) {
  for i in serial(4) {
    for j in serial(16) {
      block "f" (vi: spatial(4) = i, vj: spatial(16) = j) {
        c[vi, vj] = c[vi, vj] + a[vi, 0] * b[0, vj]
      }
    }
  }
})",
     R"(prim def f(a: Buffer((4, 1), f32), b: Buffer((1, 16), f32), inout c: Buffer((4, 16), f32)) {
  for i in unrolled(4) {
    for j in vectorized(16) {
      c[i, j] = fma(a[i, 0], b[0, j], c[i, j])
    }
  }
})"},
    {"dot_4_i8_i32", "c += a[4] . b[4], bytes summed in 32 bits; bit-identical",
     R"(prim def f(a: Buffer((4,), i8), b: Buffer((4,), i8), inout c: Buffer((1,), i32)) {
  for r in serial(4) {
    block "f" (vr: reduce(4) = r) {
      c[0] = c[0] + cast(i32, a[vr]) * cast(i32, b[vr])
    }
  }
})",
     R"(prim def f(a: Buffer((4,), i8), b: Buffer((4,), i8), inout c: Buffer((1,), i32)) {
  c[0] = c[0] + (cast(i32, a[0]) * cast(i32, b[0]) + cast(i32, a[1]) * cast(i32, b[1]) + (cast(i32, a[2]) * cast(i32, b[2]) + cast(i32, a[3]) * cast(i32, b[3])))
})"},
    {"dot_16_f32", "c += a[16] . b[16]: lanes, summed in any order",
     R"(prim def f(a: Buffer((16,), f32), b: Buffer((16,), f32), inout c: Buffer((1,), f32)) {
  for r in serial(16) {
    block "f" (vr: reduce(16) = r) {
      c[0] = c[0] + a[vr] * b[vr]
    }
  }
})",
     R"(prim def f(a: Buffer((16,), f32), b: Buffer((16,), f32), inout c: Buffer((1,), f32)) {
  for r in vectorized(16) {
    c[0] = c[0] + a[r] * b[r]
  }
})"},
}};

}  // namespace

std::span<const TensorIntrinsic> tensor_intrinsics() { return kIntrinsics; }

const TensorIntrinsic* find_tensor_intrinsic(std::string_view name) {
  for (const TensorIntrinsic& intrinsic : kIntrinsics) {
    if (intrinsic.name == name) return &intrinsic;
  }
  return nullptr;
}

tir::PrimFuncRef parse_intrinsic(const char* text) {
  Module module = text::parse(text, "intrinsic");
  return std::static_pointer_cast<const tir::PrimFunc>(module.functions.at("f"));
}

}  // namespace tapml::schedule
