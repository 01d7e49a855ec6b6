// Random valid calls of operators from the table, for tests and program generators.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/attributes.h"
#include "base/rng.h"
#include "tensor/host_tensor.h"

namespace tapml::op {

struct OperatorInfo;

// A concrete tensor: its type and the range of useful elements. Integers are uniform in [low,
// high], both included; floats in [low, high]; bool is 0 or 1.
struct GeneratedTensor {
  DType dtype = DType::kF32;
  Shape shape;
  double low = -2, high = 2;
  enum class Order : uint8_t {
    kFree,
    kAscending,  // along the last axis
    kDistinct,   // integers: distinct values; the range is large enough
  } order = Order::kFree;
};

// One argument: tensors of a kTensor (one) or kTensors argument, or integers of a kShape or kPrim
// argument.
struct GeneratedArg {
  std::vector<GeneratedTensor> tensors;
  std::vector<int64_t> ints;
};

struct GeneratedCall {
  std::vector<GeneratedArg> args;
  AttrMap attrs;
};

// Completes `call`, whose args[0] is given (absent if the first argument is no tensor), to a valid
// call; draws all sizes and attributes from `rng`. If no valid call has this first argument, the
// rule may replace it (a caller that needs the original compares it). False if it finds no valid
// call; another draw may succeed. The total number of elements stays moderate.
using GenerateRule = bool (*)(GeneratedCall& call, RandomStream& rng);

// Draws a first argument of `dtype` with dims from `extents` if the operator takes a tensor first,
// then applies the operator's rule, or the default: further tensors of the first's dtype and shape,
// no attributes. False if the operator has no such call.
bool generate_call(const OperatorInfo& info, DType dtype, const std::vector<int64_t>& extents,
                   RandomStream& rng, GeneratedCall& call);
// Applies the rule to a given first argument; also false if the rule replaced it.
bool generate_call_of(const OperatorInfo& info, const GeneratedTensor& first, RandomStream& rng,
                      GeneratedCall& call);

// A tensor filled with useful values: element i of a stream named by the seed.
HostTensor random_tensor(const GeneratedTensor& type, RandomStream& rng);

// Helpers of rules.
// A shape that broadcasts with `shape`: some dimensions 1, leading ones dropped.
Shape broadcast_partner(const Shape& shape, RandomStream& rng);
// A random axis of a tensor of rank `ndim` >= 1, counted from the front or the back with equal
// probability.
int64_t random_axis(size_t ndim, RandomStream& rng);
// Indices into an axis of `extent`, of either index dtype; some are negative and a few out of
// range.
GeneratedTensor random_indices(Shape shape, int64_t extent, RandomStream& rng);
// Halves the largest dimensions until there are at most `limit` elements.
void keep_moderate(Shape& shape, int64_t limit);
template <class T>
const T& pick(const std::vector<T>& choices, RandomStream& rng) {
  return choices[rng.below(static_cast<uint32_t>(choices.size()))];
}

}  // namespace tapml::op
