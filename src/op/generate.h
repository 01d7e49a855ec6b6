// Random valid calls of operators: what tests and generators of programs draw from the table.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/attributes.h"
#include "base/rng.h"
#include "tensor/host_tensor.h"

namespace tapml::op {

struct OperatorInfo;

// A concrete tensor: the type, and the range that useful elements come from. Integers are uniform
// in [low, high], both included; floats in [low, high]; bool is 0 or 1.
struct GeneratedTensor {
  DType dtype = DType::kF32;
  Shape shape;
  double low = -2, high = 2;
  enum class Order : uint8_t {
    kFree,
    kAscending,  // along the last axis
    kDistinct,   // integers: no value twice; the range has room for all elements
  } order = Order::kFree;
};

// One argument: tensors of a kTensor (one) or kTensors argument, or integers of a kShape or kPrim.
struct GeneratedArg {
  std::vector<GeneratedTensor> tensors;
  std::vector<int64_t> ints;
};

struct GeneratedCall {
  std::vector<GeneratedArg> args;
  AttrMap attrs;
};

// Completes `call`, whose args[0] is given (for operators without a tensor in front: absent), to a
// valid call; all sizes and attributes are drawn from `rng`. Where no call has such a first
// argument, the rule may put another one in its place (a caller that needs the first compares it).
// False where nothing valid comes to mind; then another draw may succeed. Total elements stay
// moderate.
using GenerateRule = bool (*)(GeneratedCall& call, RandomStream& rng);

// Draws a first argument of `dtype` with dims from `extents` where the operator takes one, then
// applies the operator's rule, or the default: further tensors of the first's dtype and shape, no
// attributes. False where the operator has no such call.
bool generate_call(const OperatorInfo& info, DType dtype, const std::vector<int64_t>& extents,
                   RandomStream& rng, GeneratedCall& call);
// Applies the rule to a given first argument; false also where it was replaced.
bool generate_call_of(const OperatorInfo& info, const GeneratedTensor& first, RandomStream& rng,
                      GeneratedCall& call);

// A tensor filled with useful values: element i of a stream named by the seed.
HostTensor random_tensor(const GeneratedTensor& type, RandomStream& rng);

// What rules share.
// A shape that broadcasts with `shape`: some dimensions 1, leading ones dropped.
Shape broadcast_partner(const Shape& shape, RandomStream& rng);
// Some axis of a tensor of rank `ndim` >= 1, counted from the front or, as often, from the back.
int64_t random_axis(size_t ndim, RandomStream& rng);
// Indices into an axis of `extent`, of either index dtype: from the end too, and now and then
// outside.
GeneratedTensor random_indices(Shape shape, int64_t extent, RandomStream& rng);
// Halves the largest dimensions until there are at most `limit` elements.
void keep_moderate(Shape& shape, int64_t limit);
template <class T>
const T& pick(const std::vector<T>& choices, RandomStream& rng) {
  return choices[rng.below(static_cast<uint32_t>(choices.size()))];
}

}  // namespace tapml::op
