#include "models/draw.h"

#include "build/block_builder.h"
#include "ir/symbol.h"
#include "models/graph.h"
#include "text/parser.h"

namespace tapml::models {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

constexpr const char* kProgram = "draw_token";

// Implements "Sampling" in docs/interface.md, for sorted rows. `weights` is llm::exp_nonpositive:
// an inexact product that is an operand of a sum is written as fma(a, b, -0.0), which every
// platform rounds separately; otherwise it might be contracted. Every sum and comparison that
// decides the result is made once for each token, in order: bisection would compare running sums
// that are equal but for rounding, which no reference could distinguish. Every index is bounded at
// its use, so that the program does not need a separate process.
constexpr const char* kText = R"(
module

prim def draw_token(logits: Buffer((b, v), f32), indices: Buffer((b, v), i32), parameters: Buffer((b, 3), f64), inout state: Buffer((b, 2), i64), out tokens: Buffer((b,), i32), b: i64, v: i64) {
  alloc weights: Buffer((b, v), f64)
  alloc sums: Buffer((b, v), f64)
  for i in parallel(b) {
    for j in serial(v) {
      block "weights" (vi: spatial(b) = i, vj: spatial(v) = j) {
        reads logits[vi, vj], logits[vi, 0], parameters[vi, 0]
        writes weights[vi, vj]
        weights[vi, vj] =
          let x: f64 = (cast(f64, logits[vi, vj]) - cast(f64, logits[vi, 0])) / parameters[vi, 0] in
          select(f64(-700.0) <= x,
            let n: f64 = floor(fma(x, f64(1.4426950408889634), f64(-0.0)) + f64(0.5)) in
            let r: f64 = x - n * f64(0.6931471803691238) - fma(n, f64(1.9082149292705877e-10), f64(-0.0)) in
            let s12: f64 = (fma(r, f64(0.07692307692307693), f64(-0.0)) + f64(1.0)) / f64(12.0) in
            let s11: f64 = (fma(r, s12, f64(-0.0)) + f64(1.0)) / f64(11.0) in
            let s10: f64 = (fma(r, s11, f64(-0.0)) + f64(1.0)) / f64(10.0) in
            let s9: f64 = (fma(r, s10, f64(-0.0)) + f64(1.0)) / f64(9.0) in
            let s8: f64 = (fma(r, s9, f64(-0.0)) + f64(1.0)) / f64(8.0) in
            let s7: f64 = (fma(r, s8, f64(-0.0)) + f64(1.0)) / f64(7.0) in
            let s6: f64 = (fma(r, s7, f64(-0.0)) + f64(1.0)) / f64(6.0) in
            let s5: f64 = (fma(r, s6, f64(-0.0)) + f64(1.0)) / f64(5.0) in
            let s4: f64 = (fma(r, s5, f64(-0.0)) + f64(1.0)) / f64(4.0) in
            let s3: f64 = (fma(r, s4, f64(-0.0)) + f64(1.0)) / f64(3.0) in
            let s2: f64 = (fma(r, s3, f64(-0.0)) + f64(1.0)) / f64(2.0) in
            let e: f64 = r + fma(fma(r, r, f64(-0.0)), s2, f64(-0.0)) + f64(1.0) in
            e * reinterpret(f64, shift_left(cast(i64, n) + 1023, 52)),
            f64(0.0))
      }
    }
  }
  for i in parallel(b) {
    block "draw" (vi: spatial(b) = i) {
      reads logits[vi, 0], indices[vi, 0 +: v], parameters[vi, 0 +: 3], state[vi, 0 +: 2], weights[vi, 0 +: v], sums[vi, 0 +: v]
      writes sums[vi, 0 +: v], tokens[vi], state[vi, 1]
      alloc words: Buffer((4,), u32, local)
      alloc next: Buffer((4,), u32, local)
      alloc uniform: Buffer((1,), f64, local)
      alloc sum: Buffer((1,), f64, local)
      alloc kept: Buffer((1,), f64, local)
      alloc bound: Buffer((1,), f64, local)
      alloc most: Buffer((1,), i64, local)
      alloc place: Buffer((1,), i64, local)
      words[0] = cast(u32, shift_right(shift_left(cast(u64, state[vi, 1]), u64(1)), u64(2)))
      words[1] = cast(u32, shift_right(shift_left(cast(u64, state[vi, 1]), u64(1)), u64(34)))
      words[2] = u32(0)
      words[3] = u32(0)
      for round in serial(10) {
        next[0] = bit_xor(bit_xor(mul_high(words[2], u32(3449720151)), words[1]), cast(u32, state[vi, 0]) + cast(u32, round) * u32(2654435769))
        next[1] = words[2] * u32(3449720151)
        next[2] = bit_xor(bit_xor(mul_high(words[0], u32(3528531795)), words[3]), cast(u32, shift_right(cast(u64, state[vi, 0]), u64(32))) + cast(u32, round) * u32(3144134277))
        next[3] = words[0] * u32(3528531795)
        for w in serial(4) {
          words[w] = next[w]
        }
      }
      uniform[0] =
        let odd: bool = state[vi, 1] % 2 == 1 in
        let high: u64 = shift_left(cast(u64, select(odd, words[2], words[0])), u64(32)) in
        let low: u64 = cast(u64, select(odd, words[3], words[1])) in
        cast(f64, cast(i64, shift_right(bit_or(high, low), u64(11)))) * f64(1.1102230246251565e-16)
      most[0] = let k: i64 = cast(i64, parameters[vi, 2]) in select(k < 1 or v < k, v, k)
      sum[0] = f64(0.0)
      for j in serial(v) {
        if j < most[0] {
          sum[0] = sum[0] + weights[vi, j]
          sums[vi, j] = sum[0]
        }
      }
      bound[0] = parameters[vi, 1] * sum[0]
      kept[0] = f64(0.0)
      for j in serial(v) {
        if j < most[0] {
          kept[0] = select(kept[0] < bound[0], sums[vi, j], kept[0])
        }
      }
      bound[0] = uniform[0] * kept[0]
      place[0] = 0
      for j in serial(v) {
        if j < most[0] {
          if sums[vi, j] <= bound[0] {
            place[0] = place[0] + 1
          }
        }
      }
      tokens[vi] = select(0 < v and isfinite(bool, logits[vi, 0]), indices[vi, max(0, min(min(place[0], most[0] - 1), v - 1))], i32(-1))
      state[vi, 1] = state[vi, 1] + cast(i64, 0 < v and isfinite(bool, logits[vi, 0]))
    }
  }
}
)";

}  // namespace

void add_draw(Module& module, int64_t vocabulary) {
  module.functions[kProgram] = text::parse(kText, kProgram).functions.at(kProgram);
  build::FunctionBuilder builder(module);
  Var b = make_size("b");
  const Annotation tokens = tensor_annotation({b}, DType::kI32),
                   states = tensor_annotation({b, 2}, DType::kI64);
  Variable logits = builder.param("logits", tensor_annotation({b, vocabulary}, DType::kF32));
  Variable parameters = builder.param("parameters", tensor_annotation({b, 3}, DType::kF64));
  Variable state = builder.param("state", states);
  builder.begin_dataflow();
  builder.set_origin(origin_at("draw"));
  Variable sorted = builder.emit_op("topk", {logits}, {{"k", vocabulary}}, "sorted");
  Variable values = builder.emit(make_get_item(sorted, 0), "values");
  Variable indices = builder.emit(make_get_item(sorted, 1), "indices");
  Variable drawn = builder.emit(
      make_op_call("call_tir_inplace",
                   {make_global(kProgram), make_tuple({values, indices, parameters, state})},
                   {{"inout_indices", std::vector<int64_t>{-1, 3}}}, {tokens, states}),
      "drawn");
  Variable token = builder.emit(make_get_item(drawn, 0), "token", true);
  Variable advanced = builder.emit(make_get_item(drawn, 1), "advanced", true);
  module.functions["draw"] = builder.finish(make_tuple({token, advanced}), {{"optional", true}});
}

}  // namespace tapml::models
