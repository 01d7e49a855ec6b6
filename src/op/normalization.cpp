// Operators that shift and scale elements by statistics of the group that they belong to.
#include "op/reference/normalization.h"

#include "op/dtypes.h"
#include "op/families.h"
#include "op/reduce.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_rms_norm(const CallView& call) {
  expect_float(call, 0);
  expect_float(call, 1);
  expect_min_ndim(call, 0, 1);
  expect_ndim(call, 1, 1);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1);
  if (x.shape && weight.shape) {
    expect_same_dim(call, x.shape->back(), weight.shape->back(), "x.-1 and weight.0");
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_rms_norm(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& weight = lowering.arg(1);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  Dims rows(x->shape.begin(), x->shape.end() - 1);
  tir::Buffer squares = lowering.workspace("squares", rows, compute);
  const PrimExpr& extent = x->shape.back();
  lowering.add(tir::reduce("rms_norm_squares", squares, {extent}, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> index(i);
                             index.push_back(r[0]);
                             PrimExpr value = load_wide(x, index);
                             return value * value;
                           }));
  PrimExpr count = extent.is_int() ? number(static_cast<double>(extent->int_value), compute)
                                   : cast(compute, extent);
  PrimExpr epsilon = number(call.number("epsilon"), compute);
  lowering.add(tir::compute("rms_norm", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> row(i.begin(), i.end() - 1);
    PrimExpr mean = fdiv(tir::load(squares, row), count);
    PrimExpr scale = make_call("rsqrt", compute, {mean + epsilon});
    PrimExpr value = load_wide(x, i) * scale * cast(compute, tir::load(weight, {i.back()}));
    return cast(out->dtype, value);
  }));
  return lowering.finish();
}

// The location of a group's elements, and the factor and summand of each element.
struct Groups {
  Dims shape;    // of the groups
  Dims extents;  // of the elements of each
  // Index of element r of group i; group and parameter of the element at index i.
  std::function<std::vector<PrimExpr>(const std::vector<Var>&, const std::vector<Var>&)> element;
  std::function<std::vector<PrimExpr>(const std::vector<Var>&)> group_of;
  std::function<std::vector<PrimExpr>(const std::vector<Var>&)> parameter_of;
};

std::vector<PrimExpr> joined_index(const std::vector<Var>& i, const std::vector<Var>& r) {
  std::vector<PrimExpr> index(i.begin(), i.end());
  index.insert(index.end(), r.begin(), r.end());
  return index;
}

// (x - mean) * rsqrt(variance + epsilon) * weight + bias, in two passes for the statistics.
tir::PrimFuncRef normalized(const CallView& call, const Groups& groups) {
  Lowering lowering(call);
  const tir::Buffer &x = lowering.arg(0), &weight = lowering.arg(1), &bias = lowering.arg(2);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  PrimExpr zero = number(0, compute), count = count_of(product(groups.extents), compute);
  PrimExpr epsilon = number(call.number("epsilon"), compute);
  std::string name = call.info.name;
  tir::Buffer mean = lowering.workspace("mean", groups.shape, compute);
  add_reduction(
      lowering, name + "_mean", mean, compute, groups.extents, zero, sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return load_wide(x, groups.element(i, r));
      },
      [&](PrimExpr total) { return fdiv(std::move(total), count); });
  tir::Buffer scale = lowering.workspace("scale", groups.shape, compute);
  add_reduction(
      lowering, name + "_scale", scale, compute, groups.extents, zero, sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        Var d = make_var("d", compute);
        PrimExpr distance = load_wide(x, groups.element(i, r)) -
                            tir::load(mean, std::vector<PrimExpr>(i.begin(), i.end()));
        return let(d, distance, d * d);
      },
      [&](PrimExpr total) {
        return make_call("rsqrt", compute, {fdiv(std::move(total), count) + epsilon});
      });
  lowering.add(tir::compute(name, out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> group = groups.group_of(i), parameter = groups.parameter_of(i);
    PrimExpr value = (load_wide(x, i) - tir::load(mean, group)) * tir::load(scale, group);
    return cast(out->dtype, value * cast(compute, tir::load(weight, parameter)) +
                                cast(compute, tir::load(bias, parameter)));
  }));
  return lowering.finish();
}

void expect_floats(const CallView& call) {
  for (size_t i = 0; i < call.args.size(); ++i) expect_float(call, i);
}

// As many trailing dimensions of x as weight has form one group.
relax::Annotation deduce_layer_norm(const CallView& call) {
  expect_floats(call);
  expect_min_ndim(call, 1, 1);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1), bias = known_tensor(call, 2);
  if (weight.ndim != relax::kUnknownNdim) {
    expect_min_ndim(call, 0, weight.ndim);
    expect_ndim(call, 2, weight.ndim);
  }
  for (const auto& [name, side] : {std::pair{"weight", weight}, std::pair{"bias", bias}}) {
    for (size_t d = 1; x.shape && side.shape && d <= side.shape->size(); ++d) {
      expect_same_dim(call, (*x.shape)[x.shape->size() - d], (*side.shape)[side.shape->size() - d],
                      "x.-" + std::to_string(d) + " and " + name + ".-" + std::to_string(d));
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_layer_norm(const CallView& call) {
  Dims shape = call.shape(0);
  auto inner = static_cast<std::ptrdiff_t>(call.shape(1).size());
  return normalized(
      call,
      {Dims(shape.begin(), shape.end() - inner), Dims(shape.end() - inner, shape.end()),
       joined_index,
       [=](const std::vector<Var>& i) { return std::vector<PrimExpr>(i.begin(), i.end() - inner); },
       [=](const std::vector<Var>& i) { return std::vector<PrimExpr>(i.end() - inner, i.end()); }});
}

// Parameters of [c] for x of [n, c, ...].
relax::Annotation deduce_channels(const CallView& call) {
  expect_floats(call);
  expect_min_ndim(call, 0, 2);
  Known x = known_tensor(call, 0);
  for (size_t i = 1; i < call.args.size(); ++i) {
    expect_ndim(call, i, 1);
    Known side = known_tensor(call, i);
    if (x.shape && side.shape) {
      expect_same_dim(call, (*x.shape)[1], side.shape->front(),
                      "x.1 and " + std::string(call.info.args[i].name) + ".0");
    }
  }
  return tensor_result(x);
}

relax::Annotation deduce_group_norm(const CallView& call) {
  int64_t groups = call.integer("groups");
  if (groups < 1) call.error("there is no group", "1 or more", std::to_string(groups));
  relax::Annotation result = deduce_channels(call);
  if (Known x = known_tensor(call, 0); x.shape) {
    expect_multiple(call, (*x.shape)[1], groups, "the channels do not divide into the groups");
  }
  return result;
}

tir::PrimFuncRef legalize_group_norm(const CallView& call) {
  Dims shape = call.shape(0);
  int64_t count = call.integer("groups");
  PrimExpr width = simplified(floordiv(shape[1], count));
  Dims extents = {width};
  extents.insert(extents.end(), shape.begin() + 2, shape.end());
  return normalized(call, {{shape[0], count},
                           extents,
                           [=](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> index = {i[0], i[1] * width + r[0]};
                             index.insert(index.end(), r.begin() + 1, r.end());
                             return index;
                           },
                           [=](const std::vector<Var>& i) {
                             return std::vector<PrimExpr>{i[0], floordiv(i[1], width)};
                           },
                           [](const std::vector<Var>& i) { return std::vector<PrimExpr>{i[1]}; }});
}

relax::Annotation deduce_instance_norm(const CallView& call) {
  expect_min_ndim(call, 0, 3);
  return deduce_channels(call);
}

tir::PrimFuncRef legalize_instance_norm(const CallView& call) {
  Dims shape = call.shape(0);
  return normalized(call,
                    {{shape[0], shape[1]},
                     Dims(shape.begin() + 2, shape.end()),
                     joined_index,
                     [](const std::vector<Var>& i) { return std::vector<PrimExpr>{i[0], i[1]}; },
                     [](const std::vector<Var>& i) { return std::vector<PrimExpr>{i[1]}; }});
}

// The factor of each channel once, then (x - mean) * factor + bias.
tir::PrimFuncRef legalize_batch_norm(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  PrimExpr epsilon = number(call.number("epsilon"), compute);
  auto parameter = [&](size_t index, const PrimExpr& channel) {
    return cast(compute, tir::load(lowering.arg(index), {channel}));
  };
  tir::Buffer factor = lowering.workspace("factor", {x->shape[1]}, compute);
  lowering.add(tir::compute("batch_norm_factor", factor, [&](const std::vector<Var>& c) {
    return parameter(1, c[0]) * make_call("rsqrt", compute, {parameter(4, c[0]) + epsilon});
  }));
  lowering.add(tir::compute("batch_norm", out, [&](const std::vector<Var>& i) {
    PrimExpr distance = load_wide(x, i) - parameter(3, i[1]);
    return cast(out->dtype, distance * tir::load(factor, {i[1]}) + parameter(2, i[1]));
  }));
  return lowering.finish();
}

// Adds `parameters` tensors of x's dtype or f32 and of the given shape.
void add_parameters(GeneratedCall& call, RandomStream& rng, size_t parameters, const Shape& shape) {
  DType dtype = call.args[0].tensors[0].dtype;
  if (dtype != DType::kF64 && rng.chance(0.3)) dtype = DType::kF32;
  for (size_t i = 0; i < parameters; ++i) call.args.push_back({{{dtype, shape, 0.25, 2}}, {}});
}

bool generate_rms_norm(GeneratedCall& call, RandomStream& rng) {
  add_parameters(call, rng, 1, {call.args[0].tensors[0].shape.back()});
  return true;
}
bool generate_layer_norm(GeneratedCall& call, RandomStream& rng) {
  const Shape& shape = call.args[0].tensors[0].shape;
  auto inner = rng.between(1, std::min<int64_t>(2, static_cast<int64_t>(shape.size())));
  add_parameters(call, rng, 2, Shape(shape.end() - inner, shape.end()));
  return true;
}
bool generate_channels(GeneratedCall& call, RandomStream& rng) {
  add_parameters(call, rng, 2, {call.args[0].tensors[0].shape[1]});
  return true;
}
bool generate_group_norm(GeneratedCall& call, RandomStream& rng) {
  generate_channels(call, rng);
  int64_t channels = call.args[0].tensors[0].shape[1];
  int64_t groups = rng.between(1, 4);
  while (channels % groups != 0) --groups;
  call.attrs["groups"] = groups;
  return true;
}
bool generate_batch_norm(GeneratedCall& call, RandomStream& rng) {
  add_parameters(call, rng, 4, {call.args[0].tensors[0].shape[1]});
  return true;
}

OperatorInfo normalization_entry(const char* name, const char* doc, const char* accepts,
                                 std::vector<ArgumentSpec> parameters, DeduceRule deduce,
                                 LegalizeRule legalize, ReferenceRule reference,
                                 std::vector<int> ranks, GenerateRule rule) {
  OperatorInfo info{.name = name,
                    .doc = doc,
                    .args = {{"x", ArgumentKind::kTensor, accepts}},
                    .attrs = {{"epsilon", AttributeKind::kFloat, false, 1e-5, "added to the mean"}},
                    .inout = {},
                    .deduce = deduce,
                    .legalize = legalize,
                    .reference = reference,
                    .generator = {std::move(ranks), float_dtypes(), -2, 2, rule}};
  info.args.insert(info.args.end(), parameters.begin(), parameters.end());
  return info;
}

}  // namespace

std::span<const OperatorInfo> normalization_operators() {
  constexpr auto kTensor = ArgumentKind::kTensor;
  static const std::vector<OperatorInfo> kOperators = [] {
    const std::vector<ArgumentSpec> channels = {{"weight", kTensor, "[c], float of any width"},
                                                {"bias", kTensor, "[c], float of any width"}};
    std::vector<OperatorInfo> list = {
        normalization_entry(
            "rms_norm",
            "x * rsqrt(mean(x^2 over the last axis) + epsilon) * weight, computed in f32; the "
            "result has x's dtype.",
            "[..., d], float", {{"weight", kTensor, "[d], float of any width"}}, deduce_rms_norm,
            legalize_rms_norm, reference::rms_norm, {1, 2, 3}, generate_rms_norm),
        normalization_entry(
            "layer_norm",
            "(x - mean) * rsqrt(variance + epsilon) * weight + bias with mean and variance over "
            "the trailing dimensions, as many as weight has; computed in f32, the result has x's "
            "dtype.",
            "[..., d...], float",
            {{"weight", kTensor, "[d...], float of any width"},
             {"bias", kTensor, "[d...], float of any width"}},
            deduce_layer_norm, legalize_layer_norm, reference::layer_norm, {1, 2, 3, 4},
            generate_layer_norm),
        normalization_entry(
            "group_norm",
            "layer_norm's formula with mean and variance over the rest and over c / groups "
            "neighbouring channels; weight and bias are per channel.",
            "[n, c, ...], float", channels, deduce_group_norm, legalize_group_norm,
            reference::group_norm, {2, 3, 4}, generate_group_norm),
        normalization_entry(
            "instance_norm",
            "layer_norm's formula with mean and variance over all but the first two dimensions; "
            "weight and bias are per channel.",
            "[n, c, d...], float", channels, deduce_instance_norm, legalize_instance_norm,
            reference::instance_norm, {3, 4}, generate_channels),
        normalization_entry(
            "batch_norm",
            "(x - mean) * rsqrt(variance + epsilon) * weight + bias, all per channel and given "
            "(inference); computed in f32, the result has x's dtype.",
            "[n, c, ...], float",
            {channels[0],
             channels[1],
             {"mean", kTensor, "[c], float of any width"},
             {"variance", kTensor, "[c], float of any width"}},
            deduce_channels, legalize_batch_norm, reference::batch_norm, {2, 3, 4},
            generate_batch_norm),
    };
    list[2].attrs.push_back(
        {"groups", AttributeKind::kInt, true, {}, "number of groups, a divisor of c"});
    for (size_t i = 1; i < list.size(); ++i) list[i].attrs[0].doc = "added to the variance";
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
