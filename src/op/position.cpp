// Position encodings.
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_rope(const CallView& call) {
  expect_ndim(call, 0, 4);
  expect_ndim(call, 1, 1);
  expect_ndim(call, 2, 1);
  expect_float(call, 0);
  expect_dtype(call, 1, DType::kI32);
  expect_dtype(call, 2, DType::kF32);
  Known x = known_tensor(call, 0), lengths = known_tensor(call, 1), freq = known_tensor(call, 2);
  if (x.shape) {
    const PrimExpr& width = x.shape->back();
    if (width.is_int() && width->int_value % 2 != 0) {
      call.error("the last dimension is odd", "an even number", to_string(width));
    }
    if (freq.shape) {
      expect_same_dim(call, width, freq.shape->front() * 2, "x.3 and twice inv_freq.0");
    }
    if (lengths.shape) {
      expect_same_dim(call, x.shape->front(), lengths.shape->front(), "x.0 and lengths.0");
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_rope(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& lengths = lowering.arg(1);
  const tir::Buffer& inv_freq = lowering.arg(2);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  const PrimExpr& half = inv_freq->shape[0];
  lowering.add(tir::compute("rope", out, [&](const std::vector<Var>& i) {
    const Var &b = i[0], &token = i[1], &head = i[2], &d = i[3];
    PrimExpr first = lt(d, half);
    PrimExpr position = load_index(lengths, {b}) + token;
    PrimExpr frequency = tir::load(inv_freq, {select(first, d, d - half)});
    PrimExpr angle = cast(DType::kF32, position) * frequency;
    PrimExpr cosine = cast(compute, make_call("cos", DType::kF32, {angle}));
    PrimExpr sine = cast(compute, make_call("sin", DType::kF32, {angle}));
    PrimExpr partner = select(first, number(0, compute) - load_wide(x, {b, token, head, d + half}),
                              load_wide(x, {b, token, head, d - half}));
    return cast(out->dtype, load_wide(x, i) * cosine + partner * sine);
  }));
  return lowering.finish();
}

bool generate_rope(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  shape[3] += shape[3] % 2;
  GeneratedTensor lengths{DType::kI32, {shape[0]}, 0, 40};
  GeneratedTensor inv_freq{DType::kF32, {shape[3] / 2}, 0.0001, 1};
  call.args.push_back({{lengths}, {}});
  call.args.push_back({{inv_freq}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> position_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "rope",
       .doc = "Rotary position embedding with the two halves of a head as the pairs (the layout of "
              "Hugging Face's Llama): token i of batch b has position lengths[b] + i; for j < d/2 "
              "the pair (x[j], x[j + d/2]) is rotated by position * inv_freq[j] radians, an angle "
              "that is computed in f32.",
       .args = {{"x", ArgumentKind::kTensor, "[b, n, h, d], float, d even"},
                {"lengths", ArgumentKind::kTensor, "i32[b], tokens in the cache before this call"},
                {"inv_freq", ArgumentKind::kTensor, "f32[d/2], radians per position"}},
       .attrs = {},
       .inout = {},
       .deduce = deduce_rope,
       .legalize = legalize_rope,
       .reference = reference::rope,
       .generator = {{4}, float_dtypes(), -2, 2, generate_rope}},
  };
  return kOperators;
}

}  // namespace tapml::op
