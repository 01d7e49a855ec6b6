// bitsandbytes. Four bits (NF4, FP4): "weight" has two elements in a byte, the first in its high
// half, in the order of the rows; "weight.absmax" has a scale for each block of them, itself
// perhaps quantized to bytes ("double quantization"); "weight.quant_map" has the values of the
// codes, and "weight.quant_state.bitsandbytes__nf4" the shape and the sizes of blocks as JSON.
// Eight bits: "weight" I8 with "SCB", the largest magnitude of each row.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/rounding.h"
#include "base/strings.h"
#include "frontend/quantized/methods.h"
#include "frontend/quantized/number_reader.h"
#include "frontend/quantized/scaled_bytes.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr const char* kAbsmax = ".weight.absmax";
constexpr const char* kMap = ".weight.quant_map";
constexpr int64_t kMostElements = int64_t{1} << 40;

// What the JSON of a matrix says.
struct BlockState {
  std::string name;  // of the tensor
  Shape shape;
  int64_t block = 64;
  int64_t scale_block = 0;  // scales that share a scale; 0: scales are floats
  float offset = 0;         // of scales that are quantized
};

BlockState read_state(LayerTensors& tensors) {
  BlockState state;
  for (const char* kind : {"nf4", "fp4"}) {
    const std::string name = std::string(".weight.quant_state.bitsandbytes__") + kind;
    if (tensors.has(name)) state.name = name;
  }
  if (state.name.empty()) state.name = ".weight.quant_state.bitsandbytes__nf4";  // is refused
  const HostTensor bytes = tensors.take(state.name, {"U8"}).tensor;
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes().data()),
                              bytes.byte_size());
  const std::string source = tensors.path() + state.name;
  const Json json = unwrap(parse_json(text, source));
  const JsonObjectReader reader(json, source);
  unwrap(reader.check_object());
  state.shape = unwrap(reader.required_int_array("shape", 1, int64_t{1} << 30));
  state.block = unwrap(reader.required_int("blocksize", 1, int64_t{1} << 24));
  if (reader.has("nested_blocksize")) {
    state.scale_block = unwrap(reader.required_int("nested_blocksize", 1, int64_t{1} << 24));
    state.offset = static_cast<float>(unwrap(reader.required_float("nested_offset")));
  }
  return state;
}

// The scales of blocks, in order.
std::function<float(int64_t)> read_scales(LayerTensors& tensors, const BlockState& state,
                                          int64_t blocks, std::vector<HostTensor>& stored) {
  if (state.scale_block == 0) {
    const auto scales =
        std::make_shared<const NumberReader>(tensors.take(kAbsmax, {"F32"}, {blocks}));
    stored.push_back(scales->tensor());
    return [scales](int64_t block) { return (*scales)[block]; };
  }
  const HostTensor codes = tensors.take(kAbsmax, {"U8"}, {blocks}).tensor;
  const int64_t outer = (blocks + state.scale_block - 1) / state.scale_block;
  const HostTensor scales = tensors.take(".weight.nested_absmax", {"F32"}, {outer}).tensor;
  const HostTensor values = tensors.take(".weight.nested_quant_map", {"F32"}, {256}).tensor;
  for (const HostTensor& one : {codes, scales, values}) stored.push_back(one);
  return [codes, scales, values, state](int64_t block) {
    const uint8_t code = codes.values<uint8_t>()[static_cast<size_t>(block)];
    const float value = values.values<float>()[code] *
                        scales.values<float>()[static_cast<size_t>(block / state.scale_block)];
    return value + state.offset;
  };
}

CodedMatrix read_four_bits(LayerTensors& tensors) {
  const BlockState state = read_state(tensors);
  const bool is_matrix = state.shape.size() == 2 &&
                         state.shape[0] <= kMostElements / std::max<int64_t>(state.shape[1], 1);
  if (!is_matrix || state.shape[1] % 2 != 0) {
    tensors.refuse(state.name, "does not have the shape of a matrix of an even width",
                   "[outputs, inputs]", shape_to_string(state.shape));
  }
  const int64_t rows = state.shape[0], columns = state.shape[1], size = rows * columns;
  const HostTensor weight = tensors.take(".weight", {"U8"}).tensor;
  if (weight.size() != size / 2) {
    tensors.refuse(".weight", "has another size than its quantization state implies",
                   std::to_string(size / 2) + " bytes", std::to_string(weight.size()));
  }
  // A block that is longer than a row's rest goes on in the next one.
  const int64_t block = state.block;
  if (columns % block != 0 && block % columns != 0) {
    tensors.refuse(state.name, "has blocks that begin within a row and end in the next",
                   "blocks that divide rows of " + std::to_string(columns), std::to_string(block));
  }
  const HostTensor map = tensors.take(kMap, {"F32"}, {16}).tensor;
  CodedMatrix matrix{.type = "bitsandbytes of 4 bits",
                     .shape = state.shape,
                     .bits = 4,
                     .group = std::min(block, columns),
                     .codes =
                         [weight, columns](int64_t first, int64_t count, uint8_t* codes) {
                           const uint8_t* from =
                               weight.values<uint8_t>().data() + first * columns / 2;
                           for (int64_t i = 0; i < count * columns / 2; ++i) {
                             codes[2 * i] = from[i] >> 4;
                             codes[2 * i + 1] = from[i] & 15;
                           }
                         },
                     .stored = {weight, map}};
  const auto scales = read_scales(tensors, state, ceil_div(size, block), matrix.stored);
  matrix.scale = [scales, columns, block, group = matrix.group](int64_t row, int64_t at) {
    return scales((row * columns + at * group) / block);
  };
  const auto values = map.values<float>();
  matrix.values.assign(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    tensors.refuse(kMap, "has a value that is not finite", "16 finite values",
                   std::to_string(values[i]) + " at " + std::to_string(i));
  }
  return matrix;
}

CodedMatrix read_eight_bits(LayerTensors& tensors) {
  if (tensors.has(".weight_format")) {
    const HostTensor format = tensors.take(".weight_format", {"U8"}).tensor;
    if (format.size() != 1 || format.at_f64(0) != 0) {
      tensors.refuse(".weight_format", "names an order of elements that is not supported",
                     "0, the order of rows", "another number");
    }
  }
  CodedMatrix matrix =
      read_scaled_bytes(tensors, {.scale = ".SCB", .has_integers = true}, "bitsandbytes");
  matrix.scale = [largest = std::move(matrix.scale)](int64_t row, int64_t group) {
    return largest(row, group) * 7.874015718698502e-3f;  // 1 / 127, as the package has it
  };
  matrix.scales = DType::kF32;
  return matrix;
}

}  // namespace

std::vector<QuantizedLayers> parse_bitsandbytes(const JsonObjectReader&) {
  return {{kAbsmax, ".weight", read_four_bits}, {".SCB", ".weight", read_eight_bits}};
}

}  // namespace tapml::frontend
