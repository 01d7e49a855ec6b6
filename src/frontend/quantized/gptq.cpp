// GPTQ (Frantar et al. 2022) as AutoGPTQ and GPTQModel write it. A matrix [outputs, inputs] is
//   qweight i32[inputs * bits / 32, outputs]: a column of words has the codes of one output
//   qzeros  i32[groups, outputs * bits / 32]: a row of words has the zeros of one group, minus one
//           except in the format gptq_v2
//   scales  float[groups, outputs]
//   g_idx   i32[inputs]: the group of each input; absent where they follow one another
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

#include "base/rounding.h"
#include "frontend/quantized/group_order.h"
#include "frontend/quantized/methods.h"
#include "frontend/quantized/number_reader.h"
#include "frontend/quantized/packed_words.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

struct GptqConfig {
  int bits = 4;
  int64_t group = 0;  // 0: one group
  bool zeros_minus_one = true;
};

class GptqReader {
 public:
  explicit GptqReader(const GptqConfig& config) : config_(config) {}

  CodedMatrix operator()(LayerTensors& tensors) const {
    const int bits = config_.bits;
    const HostTensor weight = tensors.take(".qweight", {"I32", "U32"}).tensor;
    const Shape shape = weight.shape();
    if (shape.size() != 2 || shape[0] * kWordBits % bits != 0 || weight.size() == 0) {
      tensors.refuse(".qweight", "does not consist of whole integers",
                     "[inputs * " + std::to_string(bits) + " / 32, outputs]",
                     shape_to_string(shape));
    }
    const int64_t inputs = shape[0] * kWordBits / bits, outputs = shape[1];
    const int64_t group = config_.group == 0 ? inputs : std::min(config_.group, inputs);
    const int64_t groups = ceil_div(inputs, group);
    if (outputs * bits % kWordBits != 0) {
      tensors.refuse(
          ".qweight", "has a number of outputs whose zeros are not whole words",
          "a multiple of " + std::to_string(kWordBits / std::gcd(kWordBits, int64_t{bits})),
          std::to_string(outputs));
    }
    const HostTensor zeros =
        tensors.take(".qzeros", {"I32", "U32"}, {groups, outputs * bits / kWordBits}).tensor;
    const auto scales = std::make_shared<const NumberReader>(
        tensors.take(".scales", {"F16", "BF16", "F32"}, {groups, outputs}));
    CodedMatrix matrix{.type = "GPTQ of " + std::to_string(bits) + " bits",
                       .shape = {outputs, inputs},
                       .bits = bits,
                       .group = group,
                       .scales = scales->dtype(),
                       .stored = {weight, zeros, scales->tensor()}};
    std::vector<int32_t> order;
    if (tensors.has(".g_idx")) order = read_group_order(tensors, ".g_idx", inputs, group);
    if (!order.empty()) {
      matrix.stored.push_back(
          HostTensor::from(DType::kI32, {inputs}, std::span<const int32_t>(order)));
    }
    matrix.codes = codes_of(weight, inputs, outputs, order);
    const int bias = config_.zeros_minus_one ? 1 : 0, mask = (1 << bits) - 1;
    const int64_t words = zeros.shape()[1];
    matrix.zero = [zeros, words, bits, bias, mask](int64_t row, int64_t at) {
      const uint32_t* of_group = zeros.values<uint32_t>().data() + at * words;
      return static_cast<int>(packed_at(of_group, 1, row, bits) + bias) & mask;
    };
    matrix.scale = [scales, outputs](int64_t row, int64_t at) {
      return (*scales)[at * outputs + row];
    };
    matrix.order = std::move(order);
    return matrix;
  }

 private:
  // Columns of words become rows; `order` has the input of each column, or is empty.
  std::function<void(int64_t, int64_t, uint8_t*)> codes_of(const HostTensor& weight, int64_t inputs,
                                                           int64_t outputs,
                                                           std::vector<int32_t> order) const {
    return [weight, inputs, outputs, order = std::move(order), bits = config_.bits](
               int64_t first, int64_t count, uint8_t* codes) {
      const uint32_t* words = weight.values<uint32_t>().data() + first;
      for (int64_t column = 0; column < inputs; ++column) {
        const int64_t input = order.empty() ? column : order[static_cast<size_t>(column)];
        for (int64_t row = 0; row < count; ++row) {
          codes[row * inputs + column] =
              static_cast<uint8_t>(packed_at(words + row, outputs, input, bits));
        }
      }
    };
  }

  GptqConfig config_;
};

}  // namespace

std::vector<QuantizedLayers> parse_gptq(const JsonObjectReader& config) {
  GptqConfig own;
  constexpr int64_t kBits[] = {2, 3, 4, 8};
  const int64_t bits = unwrap(config.required_int("bits"));
  if (std::ranges::count(kBits, bits) == 0) {
    throw_error(config.field_error("bits", "is not supported by GPTQ", "2, 3, 4 or 8"));
  }
  own.bits = static_cast<int>(bits);
  const int64_t group = unwrap(config.int_or("group_size", 128, -1, int64_t{1} << 24));
  own.group = std::max<int64_t>(group, 0);
  const std::string_view formats[] = {"gptq", "gptq_v2"};
  if (config.has("checkpoint_format")) {
    own.zeros_minus_one =
        unwrap(config.required_choice("checkpoint_format", formats)) == formats[0];
  }
  if (const auto dynamic = unwrap(config.optional_object("dynamic"))) {
    for (const auto& [pattern, value] : dynamic->json().members()) {
      if (pattern.starts_with("-:")) continue;  // layers that are not quantized
      throw_error(config.field_error("dynamic", "gives layers bits or groups of their own",
                                     "the same for all quantized layers"));
    }
  }
  return {{".qweight", ".weight", GptqReader(own)}};
}

}  // namespace tapml::frontend
