// oneDNN: f32 matrix products with bias and activation, softmax, layer norm, convolution.
#include <bit>

#include "build/pattern_builder.h"
#include "library/library.h"
#include "library/product.h"
#include "signatures.h"

namespace tapml::library {

namespace {

using Parameters = std::optional<std::vector<int64_t>>;

// The routines' numbers of activations.
int64_t activation_number(const relax::CallNode& call, const AttrMap& attrs) {
  const std::string& name = relax::as<relax::OperatorNode>(call.callee)->name;
  if (name == "relu") return 1;
  if (name == "gelu") return attr_or<std::string>(attrs, "approximate", "none") == "tanh" ? 3 : 2;
  if (name == "silu") return 4;
  if (name == "sigmoid") return 5;
  return name == "tanh" ? 6 : 0;
}

// Parameters: transpose_a, transpose_b, activation. `activated`: the last call is an activation.
Parameters product(const Matched& kernel, bool activated) {
  if (!all_of_dtype(kernel, DType::kF32)) return {};
  Parameters found;
  if (relax::as<relax::OperatorNode>(kernel.calls[0]->callee)->name == "linear") {
    if (kernel.inputs[0].dims.size() >= 2) found = {0, 1};
  } else {
    found = product_parameters(kernel);
  }
  if (!found) return {};
  // The library does not support products over an empty dimension.
  const Dims& b = kernel.inputs[1].dims;
  if (!is_at_least(b[b.size() - ((*found)[1] != 0 ? 1 : 2)], 1)) return {};
  const size_t last = kernel.calls.size() - 1;
  found->push_back(activated ? activation_number(*kernel.calls[last], kernel.attributes(last)) : 0);
  return found;
}

// Whether the bias of the addition is a row of the result.
bool has_row_bias(const Matched& kernel) {
  const Operand& bias = kernel.inputs[2];
  return bias.dims.size() == 1 && same_expr(bias.dims[0], kernel.output.dims.back()) &&
         kernel.inputs[0].dims.size() >= 2 && kernel.inputs[1].dims.size() >= 2;
}

Parameters plain(const Matched& kernel) { return product(kernel, false); }
Parameters activated(const Matched& kernel) { return product(kernel, true); }
Parameters biased(const Matched& kernel) {
  return has_row_bias(kernel) ? product(kernel, false) : Parameters();
}
Parameters biased_activated(const Matched& kernel) {
  return has_row_bias(kernel) ? product(kernel, true) : Parameters();
}

Parameters softmax(const Matched& kernel) {
  if (!all_of_dtype(kernel, DType::kF32)) return {};
  auto axis = attr_or<int64_t>(kernel.attributes(0), "axis", -1);
  auto rank = static_cast<int64_t>(kernel.output.dims.size());
  return std::vector<int64_t>{axis < 0 ? axis + rank : axis};
}

Parameters layer_norm(const Matched& kernel) {
  if (!all_of_dtype(kernel, DType::kF32)) return {};
  auto epsilon = static_cast<float>(attr_or<double>(kernel.attributes(0), "epsilon", 1e-5));
  return std::vector<int64_t>{std::bit_cast<uint32_t>(epsilon)};
}

Parameters convolution(const Matched& kernel) {
  if (!all_of_dtype(kernel, DType::kF32)) return {};
  for (size_t i : {0, 1}) {
    for (const PrimExpr& dim : kernel.inputs[i].dims) {
      if (i == 1 && !is_at_least(dim, 1)) return {};
    }
    if (!is_at_least(kernel.inputs[i].dims[1], 1)) return {};
  }
  const AttrMap attrs = kernel.attributes(0);
  const size_t spatial = kernel.inputs[0].dims.size() - 2;
  auto list = [&](const char* name, int64_t fallback) {
    auto values = attr_or<std::vector<int64_t>>(attrs, name, {});
    if (values.empty()) values.assign(spatial, fallback);
    return values;
  };
  std::vector<int64_t> result = {attr_or<int64_t>(attrs, "groups", 1)};
  std::vector<int64_t> padding = list("padding", 0);
  if (padding.size() == spatial) padding.insert(padding.end(), padding.begin(), padding.end());
  for (const auto& part : {list("strides", 1), padding, list("dilation", 1)}) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

// The cases that measured faster (docs/libraries.md); others did not, or only slightly.
bool large_batched_product(const Matched& kernel) {
  const Dims& a = kernel.inputs[0].dims;
  const Dims& out = kernel.output.dims;
  const size_t rank = out.size();
  return rank >= 3 && kernel.inputs[1].dims.size() >= 3 && is_at_least(out[rank - 2], 64) &&
         is_at_least(out[rank - 1], 128) && is_at_least(a[a.size() - 2], 64) &&
         is_at_least(a[a.size() - 1], 64);
}

bool dense_convolution(const Matched& kernel) {
  const Dims& data = kernel.inputs[0].dims;
  const Dims& filters = kernel.inputs[1].dims;
  return data.size() == 4 && is_at_least(filters[0], 64) && is_at_least(filters[1], 64) &&
         is_at_least(kernel.output.dims[2], 14) && is_at_least(kernel.output.dims[3], 14);
}

constexpr const char* kActivations = "relu|gelu|silu|sigmoid|tanh";

relax::FunctionRef matmul_activation() {
  build::PatternBuilder p;
  p.op(kActivations, {p.op("matmul", {p.any("a"), p.any("b")})});
  return p.finish();
}

relax::FunctionRef matmul_bias() {
  build::PatternBuilder p;
  p.op("add", {p.op("matmul", {p.any("a"), p.any("b")}), p.any("bias")});
  return p.finish();
}

relax::FunctionRef matmul_bias_activation() {
  build::PatternBuilder p;
  relax::Variable product = p.op("matmul", {p.any("a"), p.any("b")});
  p.op(kActivations, {p.op("add", {product, p.any("bias")})});
  return p.finish();
}

relax::FunctionRef linear_activation() {
  build::PatternBuilder p;
  p.op(kActivations, {p.op("linear", {p.any("x"), p.any("weight"), p.any("bias")})});
  return p.finish();
}

const Pattern kOneDnnPatterns[] = {
    {"matmul", [] { return one_call("matmul", 2); }, plain, large_batched_product},
    {"matmul", matmul_activation, activated, never},
    {"matmul", matmul_bias, biased, never},
    {"matmul", matmul_bias_activation, biased_activated, never},
    {"matmul", [] { return one_call("linear", 3); }, plain, never},
    {"matmul", linear_activation, activated, never},
    {"softmax", [] { return one_call("softmax", 1); }, softmax, never},
    {"layer_norm", [] { return one_call("layer_norm", 3); }, layer_norm, never},
    {"convolution", [] { return one_call("conv1d|conv2d|conv3d", 2); }, convolution,
     dense_convolution},
};

constexpr Routine kOneDnnRoutines[] = {{"matmul", onednn::kMatmul},
                                       {"softmax", onednn::kSoftmax},
                                       {"layer_norm", onednn::kLayerNorm},
                                       {"convolution", onednn::kConvolution}};

}  // namespace

std::span<const Pattern> onednn_patterns() { return kOneDnnPatterns; }
std::span<const Routine> onednn_signatures() { return kOneDnnRoutines; }

}  // namespace tapml::library
