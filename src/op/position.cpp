// Position encodings.
#include "arith/analyzer.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_rope(const CallView& call) {
  expect_ndim(call, 0, 4);
  expect_ndim(call, 1, 1);
  Known freq = known_tensor(call, 2);
  if (freq.ndim != 2) expect_ndim(call, 2, 1);
  expect_float(call, 0);
  expect_dtype(call, 1, DType::kI32);
  expect_dtype(call, 2, DType::kF32);
  Known x = known_tensor(call, 0), lengths = known_tensor(call, 1);
  if (x.shape) {
    const PrimExpr& width = x.shape->back();
    if (freq.shape) {
      const bool of_each = freq.shape->size() == 2;
      expect_at_most(call, simplified(freq.shape->back() * 2), width,
                     of_each ? "twice inv_freq.1 and x.3" : "twice inv_freq.0 and x.3");
      if (of_each) {
        expect_same_dim(call, x.shape->front(), freq.shape->front(), "x.0 and inv_freq.0");
      }
    }
    if (lengths.shape) {
      expect_same_dim(call, x.shape->front(), lengths.shape->front(), "x.0 and lengths.0");
    }
  }
  return tensor_result(x);
}

// The element that x[i] is turned with, with the sign of its part.
PrimExpr partner_of(const tir::Buffer& x, const std::vector<Var>& i, const PrimExpr& half,
                    bool interleaved, DType compute) {
  const Var& d = i[3];
  const PrimExpr distance = interleaved ? PrimExpr(1) : half;
  const PrimExpr is_first = interleaved ? eq(floormod(d, PrimExpr(2)), PrimExpr(0)) : lt(d, half);
  return select(is_first, number(0, compute) - load_wide(x, {i[0], i[1], i[2], d + distance}),
                load_wide(x, {i[0], i[1], i[2], d - distance}));
}

tir::PrimFuncRef legalize_rope(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& lengths = lowering.arg(1);
  const tir::Buffer& inv_freq = lowering.arg(2);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  const PrimExpr& half = inv_freq->shape.back();
  const bool of_each = inv_freq->shape.size() == 2;
  const PrimExpr rotated = simplified(half * 2);
  const bool interleaved = call.flag("interleaved");
  const double scale = call.number("scale");
  const bool is_part = !arith::Analyzer().prove_equal(rotated, x->shape[3]);
  const auto turn = [&](const char* function, const PrimExpr& angle) {
    PrimExpr value = make_call(function, DType::kF32, {angle});
    if (scale != 1) value = value * number(scale, DType::kF32);
    return cast(compute, value);
  };
  lowering.add(tir::compute("rope", out, [&](const std::vector<Var>& i) {
    const Var &b = i[0], &token = i[1], &d = i[3];
    const PrimExpr pair = interleaved ? floordiv(d, PrimExpr(2)) : select(lt(d, half), d, d - half);
    const PrimExpr frequency =
        of_each ? tir::load(inv_freq, {b, pair}) : tir::load(inv_freq, {pair});
    const PrimExpr angle = cast(DType::kF32, load_index(lengths, {b}) + token) * frequency;
    const PrimExpr turned = load_wide(x, i) * turn("cos", angle) +
                            partner_of(x, i, half, interleaved, compute) * turn("sin", angle);
    return cast(out->dtype, is_part ? select(lt(d, rotated), turned, load_wide(x, i)) : turned);
  }));
  return lowering.finish();
}

bool generate_rope(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  shape[3] += shape[3] % 2;
  GeneratedTensor lengths{DType::kI32, {shape[0]}, 0, 40};
  const int64_t pairs = shape[3] / 2;
  const bool is_part = pairs > 1 && rng.between(0, 3) == 0;
  GeneratedTensor inv_freq{DType::kF32, {is_part ? rng.between(1, pairs - 1) : pairs}, 0.0001, 1};
  if (rng.between(0, 3) == 0) inv_freq.shape.insert(inv_freq.shape.begin(), shape[0]);
  if (rng.between(0, 2) == 0) call.attrs["interleaved"] = true;
  if (rng.between(0, 3) == 0) call.attrs["scale"] = 1.25;
  call.args.push_back({{lengths}, {}});
  call.args.push_back({{inv_freq}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> position_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "rope",
       .doc = "Rotary position embedding: token i of batch b has position lengths[b] + i; for "
              "j < m a pair of the first 2m elements of a head is rotated by "
              "position * inv_freq[j] radians, an angle that is computed in f32, and multiplied "
              "by `scale`. The pair is (x[j], x[j + m]), the layout of Hugging Face's Llama, or "
              "(x[2j], x[2j + 1]) if `interleaved`. Elements after the first 2m are unchanged.",
       .args = {{"x", ArgumentKind::kTensor, "[b, n, h, d], float"},
                {"lengths", ArgumentKind::kTensor, "i32[b], tokens in the cache before this call"},
                {"inv_freq", ArgumentKind::kTensor,
                 "f32[m] or f32[b, m], radians per position, 2m <= d"}},
       .attrs = {{"interleaved", AttributeKind::kBool, false, false,
                  "pairs are neighbors, not m apart"},
                 {"scale", AttributeKind::kFloat, false, 1.0, "factor of sine and cosine"}},
       .inout = {},
       .deduce = deduce_rope,
       .legalize = legalize_rope,
       .reference = reference::rope,
       .generator = {{4}, float_dtypes(), -2, 2, generate_rope}},
  };
  return kOperators;
}

}  // namespace tapml::op
