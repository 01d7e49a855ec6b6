// AWQ (Lin et al. 2023) as AutoAWQ writes it for its GEMM kernels. A matrix [outputs, inputs] is
//   qweight i32[inputs, outputs / 8], qzeros i32[groups, outputs / 8], scales float[groups,
//   outputs]
// Nibble i of a word, from the lowest, belongs to output kOrder[i] of the word's eight.
#include <algorithm>
#include <array>
#include <memory>

#include "base/rounding.h"
#include "frontend/quantized/methods.h"
#include "frontend/quantized/number_reader.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kOutputsOfWord = 8;
// The inverse of the order 0, 2, 4, 6, 1, 3, 5, 7: the nibble of each output.
constexpr std::array<int, kOutputsOfWord> kNibbles = {0, 4, 1, 5, 2, 6, 3, 7};

int nibble_at(std::span<const uint32_t> words, int64_t row, int64_t width, int64_t output) {
  const uint32_t word = words[static_cast<size_t>(row * width + output / kOutputsOfWord)];
  return static_cast<int>(word >> (4 * kNibbles[static_cast<size_t>(output % kOutputsOfWord)])) &
         15;
}

CodedMatrix read_awq(LayerTensors& tensors, int64_t configured_group) {
  const HostTensor weight = tensors.take(".qweight", {"I32", "U32"}).tensor;
  if (weight.shape().size() != 2 || weight.size() == 0) {
    tensors.refuse(".qweight", "is not a matrix", "[inputs, outputs / 8]",
                   shape_to_string(weight.shape()));
  }
  const int64_t inputs = weight.shape()[0], width = weight.shape()[1];
  const int64_t outputs = width * kOutputsOfWord;
  const int64_t group = configured_group == 0 ? inputs : std::min(configured_group, inputs);
  const int64_t groups = ceil_div(inputs, group);
  const HostTensor zeros = tensors.take(".qzeros", {"I32", "U32"}, {groups, width}).tensor;
  const auto scales = std::make_shared<const NumberReader>(
      tensors.take(".scales", {"F16", "BF16", "F32"}, {groups, outputs}));
  return {
      .type = "AWQ of 4 bits",
      .shape = {outputs, inputs},
      .bits = 4,
      .group = group,
      .scales = scales->dtype(),
      .codes =
          [weight, inputs, width](int64_t first, int64_t count, uint8_t* codes) {
            const auto words = weight.values<uint32_t>();
            for (int64_t input = 0; input < inputs; ++input) {
              for (int64_t row = 0; row < count; ++row) {
                codes[row * inputs + input] =
                    static_cast<uint8_t>(nibble_at(words, input, width, first + row));
              }
            }
          },
      .scale = [scales, outputs](int64_t row, int64_t at) { return (*scales)[at * outputs + row]; },
      .zero = [zeros, width](
                  int64_t row,
                  int64_t at) { return nibble_at(zeros.values<uint32_t>(), at, width, row); },
      .stored = {weight, zeros, scales->tensor()}};
}

}  // namespace

std::vector<QuantizedLayers> parse_awq(const JsonObjectReader& config) {
  // Files of the first writers have other names.
  const char* bits = config.has("w_bit") ? "w_bit" : "bits";
  if (unwrap(config.int_or(bits, 4)) != 4) {
    throw_error(config.field_error(bits, "is not supported by AWQ", "4"));
  }
  for (const char* key : {"version", "format"}) {
    if (!config.has(key)) continue;
    std::string version = unwrap(config.required_string(key));
    for (char& c : version) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (version == "gemm" || version == "exllama") continue;
    throw_error(
        config.field_error(key, "names an order of elements that is not supported", "\"gemm\""));
  }
  const char* size = config.has("q_group_size") ? "q_group_size" : "group_size";
  const int64_t group =
      std::max<int64_t>(unwrap(config.int_or(size, 128, -1, int64_t{1} << 24)), 0);
  return {
      {".qweight", ".weight", [group](LayerTensors& tensors) { return read_awq(tensors, group); }}};
}

}  // namespace tapml::frontend
