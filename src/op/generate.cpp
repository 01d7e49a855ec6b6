#include "op/generate.h"

#include <algorithm>
#include <cmath>

#include "op/operator.h"

namespace tapml::op {

namespace {

bool takes_tensor_first(const OperatorInfo& info) {
  return !info.args.empty() && (info.args[0].kind == ArgumentKind::kTensor ||
                                info.args[0].kind == ArgumentKind::kTensors);
}

// Adds further tensors like the first; other arguments need a rule.
bool complete(const OperatorInfo& info, GeneratedCall& call, RandomStream& rng) {
  if (info.generator.rule) return info.generator.rule(call, rng);
  for (size_t i = call.args.size(); i < info.args.size(); ++i) {
    if (info.args[i].kind != ArgumentKind::kTensor) return false;
    call.args.push_back(call.args[0]);
  }
  return std::none_of(info.attrs.begin(), info.attrs.end(),
                      [](const AttributeSpec& attr) { return attr.required; });
}

bool listed(const OperatorInfo& info, DType dtype, size_t rank) {
  const GeneratorInfo& known = info.generator;
  return std::find(known.dtypes.begin(), known.dtypes.end(), dtype) != known.dtypes.end() &&
         std::find(known.ranks.begin(), known.ranks.end(), static_cast<int>(rank)) !=
             known.ranks.end();
}

}  // namespace

bool generate_call(const OperatorInfo& info, DType dtype, const std::vector<int64_t>& extents,
                   RandomStream& rng, GeneratedCall& call) {
  call = {};
  if (takes_tensor_first(info)) {
    GeneratedTensor first{dtype, {}, info.generator.low, info.generator.high};
    int rank = pick(info.generator.ranks, rng);
    for (int d = 0; d < rank; ++d) first.shape.push_back(pick(extents, rng));
    keep_moderate(first.shape, 1 << 16);
    if (!listed(info, dtype, first.shape.size())) return false;
    call.args.push_back({{first}, {}});
  }
  return complete(info, call, rng);
}

bool generate_call_of(const OperatorInfo& info, const GeneratedTensor& first, RandomStream& rng,
                      GeneratedCall& call) {
  call = {};
  if (!takes_tensor_first(info) || !listed(info, first.dtype, first.shape.size())) return false;
  call.args.push_back({{first}, {}});
  if (!complete(info, call, rng)) return false;
  const std::vector<GeneratedTensor>& kept = call.args[0].tensors;
  return !kept.empty() && kept[0].dtype == first.dtype && kept[0].shape == first.shape &&
         kept[0].order == first.order;
}

namespace {

void sort_rows(HostTensor& tensor) {
  int64_t extent = tensor.shape().empty() ? 1 : tensor.shape().back();
  std::vector<double> row(static_cast<size_t>(extent));
  for (int64_t start = 0; start < tensor.size(); start += extent) {
    for (int64_t k = 0; k < extent; ++k) row[static_cast<size_t>(k)] = tensor.at_f64(start + k);
    std::sort(row.begin(), row.end());
    for (int64_t k = 0; k < extent; ++k) tensor.set_f64(start + k, row[static_cast<size_t>(k)]);
  }
}

// The first elements of a random permutation of the range.
void fill_distinct(HostTensor& tensor, const GeneratedTensor& type, RandomStream& rng) {
  std::vector<int64_t> values;
  for (auto v = static_cast<int64_t>(type.low); v <= static_cast<int64_t>(type.high); ++v) {
    values.push_back(v);
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    auto left = static_cast<uint32_t>(values.size()) - static_cast<uint32_t>(i);
    std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(i) + rng.below(left)]);
    tensor.set_f64(i, static_cast<double>(values[static_cast<size_t>(i)]));
  }
}

}  // namespace

HostTensor random_tensor(const GeneratedTensor& type, RandomStream& rng) {
  HostTensor tensor = HostTensor::zeros(type.dtype, type.shape);
  if (type.order == GeneratedTensor::Order::kDistinct) {
    fill_distinct(tensor, type, rng);
    return tensor;
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = 0;
    if (is_float(type.dtype)) {
      value = type.low + (type.high - type.low) * rng.unit();
    } else if (type.dtype == DType::kBool) {
      value = rng.chance(0.5) ? 1 : 0;
    } else {
      double low = is_unsigned_integer(type.dtype) ? std::max(0.0, type.low) : type.low;
      value = static_cast<double>(rng.between(static_cast<int64_t>(std::ceil(low)),
                                              static_cast<int64_t>(std::floor(type.high))));
    }
    tensor.set_f64(i, value);
  }
  if (type.order == GeneratedTensor::Order::kAscending) sort_rows(tensor);
  return tensor;
}

Shape broadcast_partner(const Shape& shape, RandomStream& rng) {
  Shape partner = shape;
  for (int64_t& dim : partner) {
    if (rng.chance(0.25)) dim = 1;
  }
  size_t dropped = rng.chance(0.3) ? rng.below(static_cast<uint32_t>(partner.size()) + 1) : 0;
  partner.erase(partner.begin(), partner.begin() + static_cast<std::ptrdiff_t>(dropped));
  return partner;
}

void keep_moderate(Shape& shape, int64_t limit) {
  while (element_count(shape) > limit) {
    int64_t& largest = *std::max_element(shape.begin(), shape.end());
    largest = (largest + 1) / 2;
  }
}

int64_t random_axis(size_t ndim, RandomStream& rng) {
  auto rank = static_cast<int64_t>(ndim);
  return rng.between(-rank, rank - 1);
}

GeneratedTensor random_indices(Shape shape, int64_t extent, RandomStream& rng) {
  DType dtype = rng.chance(0.5) ? DType::kI32 : DType::kI64;
  auto reach = static_cast<double>(extent + (rng.chance(0.3) ? 2 : 0));
  return {dtype, std::move(shape), -reach, std::max(-reach, reach - 1)};
}

}  // namespace tapml::op
