// compressed-tensors, which LLM Compressor writes. Layers are of one of these kinds:
//   weight_packed i32[outputs, inputs * bits / 32]: integers plus 2^(bits - 1), packed along rows;
//     weight_zero_point, if there is one, packed along columns
//   weight I8 or F8 [outputs, inputs]
//   weight_packed u8[outputs, inputs / 2]: NVFP4 with weight_global_scale, else MXFP4
// each with weight_scale. The shapes say how many bits and which groups a layer has. Activations
// are not quantized, whatever the configuration says of them.
#include <algorithm>
#include <memory>
#include <span>

#include "base/strings.h"
#include "frontend/quantized/float4.h"
#include "frontend/quantized/group_order.h"
#include "frontend/quantized/methods.h"
#include "frontend/quantized/number_reader.h"
#include "frontend/quantized/nvfp4.h"
#include "frontend/quantized/packed_words.h"
#include "frontend/quantized/scaled_bytes.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int kMostBits = 8;

int64_t words_of(int64_t count, int bits) { return (count * bits + kWordBits - 1) / kWordBits; }

// What the layers of a configuration have in common.
struct CompressedConfig {
  std::optional<ScaleBlock> block;
  int bits = 0;       // of integers; 0: not the same for all
  int64_t group = 0;  // of columns; 0: none, or not the same for all
};

void skip_others(LayerTensors& tensors) {
  for (const char* suffix : {".input_scale", ".input_zero_point", ".input_global_scale",
                             ".output_scale", ".output_zero_point"}) {
    tensors.skip(suffix);
  }
}

class PackedReader {
 public:
  PackedReader(LayerTensors& tensors, const CompressedConfig& config)
      : tensors_(tensors), config_(config) {}

  CodedMatrix read() {
    const HostTensor weight = tensors_.take(".weight_packed", {"I32"}).tensor;
    read_shape();
    const int64_t width = weight.shape().size() == 2 ? weight.shape()[1] : 0;
    int bits = config_.bits == 0 ? 2 : config_.bits;
    while (config_.bits == 0 && bits < kMostBits && words_of(columns_, bits) < width) ++bits;
    if (weight.shape() != Shape{rows_, words_of(columns_, bits)}) {
      tensors_.refuse(".weight_packed", "has another shape than its layer's weight_shape implies",
                      shape_to_string({{rows_, words_of(columns_, bits)}}),
                      shape_to_string(weight.shape()));
    }
    const auto scales = std::make_shared<const NumberReader>(
        tensors_.take(".weight_scale", {"F32", "F16", "BF16"}));
    const int64_t groups = groups_of(scales->tensor());
    CodedMatrix matrix{
        .type = "compressed-tensors of " + std::to_string(bits) + " bits",
        .shape = {rows_, columns_},
        .bits = bits,
        .group = config_.group > 0 && groups > 1 ? config_.group : columns_ / groups,
        .scales = scales->dtype(),
        .scale = [scales, groups](int64_t row,
                                  int64_t group) { return (*scales)[row * groups + group]; },
        .stored = {weight, scales->tensor()}};
    if (scales->tensor().size() == 1) {
      matrix.scale = [scales](int64_t, int64_t) { return (*scales)[0]; };
    }
    if (tensors_.has(".weight_zero_point")) read_zeros(matrix, groups);
    if (tensors_.has(".weight_g_idx")) {
      matrix.order = read_group_order(tensors_, ".weight_g_idx", columns_, matrix.group);
      if (!matrix.order.empty()) {
        matrix.stored.push_back(
            HostTensor::from(DType::kI32, {columns_}, std::span<const int32_t>(matrix.order)));
      }
    }
    matrix.codes = [weight, columns = columns_, width, bits, order = matrix.order](
                       int64_t first, int64_t count, uint8_t* codes) {
      for (int64_t row = 0; row < count; ++row, codes += columns) {
        const uint32_t* words = weight.values<uint32_t>().data() + (first + row) * width;
        for (int64_t column = 0; column < columns; ++column) {
          const int64_t input = order.empty() ? column : order[static_cast<size_t>(column)];
          codes[column] = static_cast<uint8_t>(packed_at(words, 1, input, bits));
        }
      }
    };
    skip_others(tensors_);
    return matrix;
  }

 private:
  void read_shape() {
    const HostTensor shape = tensors_.take(".weight_shape", {"I64", "I32"}, {2}).tensor;
    constexpr double kMost = 1 << 30;
    const double rows = shape.at_f64(0), columns = shape.at_f64(1);
    if (rows < 1 || columns < 1 || rows > kMost || columns > kMost) {
      tensors_.refuse(".weight_shape", "is not the shape of a matrix", "two sizes from 1 on",
                      "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]");
    }
    rows_ = static_cast<int64_t>(rows);
    columns_ = static_cast<int64_t>(columns);
  }

  // Scales of a row.
  int64_t groups_of(const HostTensor& scales) {
    const Shape& shape = scales.shape();
    if (scales.size() == 1) return 1;
    const int64_t groups = shape.size() == 2 ? shape[1] : 1;
    const bool is_by_row = (shape.size() == 1 || shape.size() == 2) && shape[0] == rows_;
    const bool fits = config_.group > 0 && groups > 1
                          ? groups == (columns_ + config_.group - 1) / config_.group
                          : groups > 0 && columns_ % groups == 0;
    if (is_by_row && fits) return groups;
    tensors_.refuse(".weight_scale", "does not have a scale for each group of a row",
                    "[" + std::to_string(rows_) + ", inputs / group]", shape_to_string(shape));
  }

  void read_zeros(CodedMatrix& matrix, int64_t groups) {
    const int bits = matrix.bits;
    const StoredTensor zeros = tensors_.take(".weight_zero_point", {"I32", "I8"});
    const HostTensor& tensor = zeros.tensor;
    matrix.stored.push_back(tensor);
    if (zeros.dtype == "I32" && tensor.shape() == Shape{words_of(rows_, bits), groups}) {
      matrix.zero = [tensor, groups, bits](int64_t row, int64_t group) {
        return static_cast<int>(
            packed_at(tensor.values<uint32_t>().data() + group, groups, row, bits));
      };
      return;
    }
    if (zeros.dtype == "I8" && tensor.shape() == Shape{rows_, groups}) {
      matrix.zero = [tensor, groups, bits](int64_t row, int64_t group) {
        return tensor.values<int8_t>()[static_cast<size_t>(row * groups + group)] +
               (1 << (bits - 1));
      };
      return;
    }
    tensors_.refuse(".weight_zero_point", "does not have a zero for each scale",
                    "I32 " + shape_to_string({{words_of(rows_, bits), groups}}),
                    zeros.dtype + " " + shape_to_string(tensor.shape()));
  }

  LayerTensors& tensors_;
  const CompressedConfig& config_;
  int64_t rows_ = 0, columns_ = 0;
};

CodedMatrix read_packed_mxfp4(LayerTensors& tensors) {
  const HostTensor bytes = tensors.take(".weight_packed", {"U8"}).tensor;
  Shape shape = bytes.shape();
  if (shape.size() != 2 || bytes.size() == 0 || shape[1] * 2 % kMxfp4Group != 0) {
    tensors.refuse(".weight_packed", "does not consist of whole groups of 32",
                   "[outputs, inputs / 2]", shape_to_string(shape));
  }
  shape[1] *= 2;
  const HostTensor scales =
      tensors.take(".weight_scale", {"U8", "F8_E8M0"}, {shape[0], shape[1] / kMxfp4Group}).tensor;
  return mxfp4_matrix(bytes, std::move(shape), scales);
}

CodedMatrix read_packed(LayerTensors& tensors, const CompressedConfig& config) {
  tensors.skip(".weight_shape");
  if (tensors.has(".weight_global_scale")) {
    skip_others(tensors);
    return read_nvfp4(
        tensors, {.weight = ".weight_packed", .whole = ".weight_global_scale", .divides = true});
  }
  if (!tensors.has(".weight_shape")) {
    skip_others(tensors);
    return read_packed_mxfp4(tensors);
  }
  return PackedReader(tensors, config).read();
}

void check_format(const JsonObjectReader& json) {
  constexpr std::string_view kFormats[] = {
      "dense",           "pack-quantized",       "int-quantized",        "float-quantized",
      "naive-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mixed-precision"};
  if (json.has("format")) unwrap(json.required_choice("format", kFormats));
}

// A number that all groups of layers have, else `none`.
void merge(int64_t value, bool is_first, int64_t& common) {
  if (is_first) common = value;
  if (common != value) common = 0;
}

}  // namespace

std::vector<QuantizedLayers> parse_compressed_tensors(const JsonObjectReader& json) {
  check_format(json);
  constexpr std::string_view kStatus[] = {"compressed"};
  if (json.has("quantization_status")) {
    unwrap(json.required_choice("quantization_status", kStatus));
  }
  if (const auto sparsity = unwrap(json.optional_object("sparsity_config"))) {
    constexpr std::string_view kDense[] = {"dense"};
    if (sparsity->has("format")) unwrap(sparsity->required_choice("format", kDense));
  }
  CompressedConfig config;
  const auto groups = unwrap(json.optional_object("config_groups"));
  const Json none = Json::object();
  bool is_first = true;
  for (const auto& [name, value] : (groups ? groups->json() : none).members()) {
    const JsonObjectReader group(value, json.source(), "config_groups." + name);
    unwrap(group.check_object());
    check_format(group);
    const auto weights = unwrap(group.optional_object("weights"));
    if (!weights) continue;
    const bool is_integer = unwrap(weights->string_or("type", "int")) == "int";
    const int64_t bits = unwrap(weights->int_or("num_bits", kMostBits));
    if (bits < (is_integer ? 2 : 4) || bits > kMostBits) {
      throw_error(
          weights->field_error("num_bits", "is not supported", is_integer ? "2 to 8" : "4 or 8"));
    }
    int64_t common_bits = config.bits;
    merge(is_integer ? bits : 0, is_first, common_bits);
    config.bits = static_cast<int>(common_bits);
    const int64_t size = unwrap(weights->int_or("group_size", 0, -1, int64_t{1} << 24));
    merge(std::max<int64_t>(size, 0), is_first, config.group);
    if (weights->has("block_structure")) {
      const auto sizes =
          unwrap(weights->required_int_array("block_structure", 1, int64_t{1} << 24));
      if (sizes.size() != 2) {
        throw_error(weights->field_error("block_structure", "is not the size of a block",
                                         "[rows, columns]"));
      }
      config.block = ScaleBlock{sizes[0], sizes[1]};
    }
    is_first = false;
  }
  const auto read_bytes = [config](LayerTensors& tensors) {
    skip_others(tensors);
    const bool is_by_row = !config.block || tensors.has(".weight_zero_point");
    CodedMatrix matrix = read_scaled_bytes(tensors,
                                           {.has_integers = true,
                                            .zero = ".weight_zero_point",
                                            .block = is_by_row ? std::nullopt : config.block},
                                           "compressed-tensors");
    tensors.skip(".weight_zero_point");
    return matrix;
  };
  return {{".weight_packed", ".weight",
           [config](LayerTensors& tensors) { return read_packed(tensors, config); }},
          {".weight_scale", ".weight", read_bytes}};
}

}  // namespace tapml::frontend
