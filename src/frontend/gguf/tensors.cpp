#include "frontend/gguf/tensors.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

// "blk.{}.attn_q" and "3" of "blk.3.attn_q.weight", and its suffix ".weight".
struct StoredName {
  std::string pattern, layer, suffix;
};

StoredName split_name(std::string_view name) {
  StoredName parts;
  const size_t dot = name.rfind('.');
  parts.suffix = dot == name.npos ? "" : name.substr(dot);
  if (parts.suffix != ".weight" && parts.suffix != ".bias") parts.suffix.clear();
  std::string_view stem = name.substr(0, name.size() - parts.suffix.size());
  constexpr std::string_view kBlock = "blk.";
  const size_t end = stem.find('.', kBlock.size());
  if (stem.starts_with(kBlock) && end != stem.npos) {
    parts.layer = stem.substr(kBlock.size(), end - kBlock.size());
    parts.pattern = std::string(kBlock) + "{}" + std::string(stem.substr(end));
  } else {
    parts.pattern = stem;
  }
  return parts;
}

std::string fill_layer(std::string_view pattern, const std::string& layer) {
  const size_t at = pattern.find("{}");
  if (at == pattern.npos) return std::string(pattern);
  return std::string(pattern.substr(0, at)) + layer + std::string(pattern.substr(at + 2));
}

// Where row `row` of a weight is stored whose heads of `width` rows have their pairs together.
int64_t paired_row(int64_t row, int64_t width) {
  const int64_t head = row / width, in_head = row % width, half = width / 2;
  return head * width + in_head % half * 2 + in_head / half;
}

class Expander {
 public:
  Expander(const GgufFields& fields) : fields_(fields) {}

  HostTensor expand(const GgufTensor& tensor, GgufChange change) const {
    const std::optional<DType> plain = tensor.type->plain;
    if (change == GgufChange::kNone && plain && is_aligned(tensor, *plain)) {
      return HostTensor::view(*plain, tensor.shape, tensor.bytes.data(), fields_.file().owner);
    }
    if (change == GgufChange::kPlusOne) return without_one(tensor);
    const int64_t width = head_width(tensor, change);
    return in_order(tensor, width);
  }

 private:
  static bool is_aligned(const GgufTensor& tensor, DType dtype) {
    return reinterpret_cast<uintptr_t>(tensor.bytes.data()) % dtype_bytes(dtype) == 0;
  }

  [[noreturn]] void refuse(const GgufTensor& tensor, const std::string& problem,
                           const std::string& expected) const {
    throw_user(fields_.source() + ": tensor " + in_quotes(tensor.name) + " " + problem,
               fields_.source(), expected, shape_to_string(tensor.shape));
  }

  // Rows of a head whose pairs are together; 0 if they are not.
  int64_t head_width(const GgufTensor& tensor, GgufChange change) const {
    if (change == GgufChange::kNone) return 0;
    const int64_t queries = fields_.required_integer(".attention.head_count");
    const int64_t heads = change == GgufChange::kPairedQueries
                              ? queries
                              : fields_.integer(".attention.head_count_kv").value_or(queries);
    const int64_t rows = tensor.shape[0];
    if (heads < 1 || rows % heads != 0 || rows / heads % 2 != 0) {
      refuse(tensor, "does not consist of heads of an even width",
             "rows for " + std::to_string(heads) + " heads");
    }
    return rows / heads;
  }

  // The rows of a weight, or the elements of a bias, in their published order.
  HostTensor in_order(const GgufTensor& tensor, int64_t width) const {
    const bool is_plain = tensor.type->plain.has_value();
    const DType dtype = tensor.type->plain.value_or(DType::kF32);
    HostTensor result = HostTensor::zeros(dtype, tensor.shape);
    const int64_t rows = tensor.shape[0];
    if (result.size() == 0) return result;
    const int64_t row_size = result.size() / rows;
    const size_t stored = tensor.bytes.size() / static_cast<size_t>(rows);
    const size_t made = result.byte_size() / static_cast<size_t>(rows);
    std::byte* to = result.mutable_bytes().data();
    for (int64_t row = 0; row < rows; ++row, to += made) {
      const int64_t from_row = width == 0 ? row : paired_row(row, width);
      const std::byte* from = tensor.bytes.data() + static_cast<size_t>(from_row) * stored;
      if (is_plain) {
        std::memcpy(to, from, made);
      } else {
        dequantize_gguf(*tensor.type, from,
                        {reinterpret_cast<float*>(to), static_cast<size_t>(row_size)});
      }
    }
    return result;
  }

  HostTensor without_one(const GgufTensor& tensor) const {
    HostTensor result = HostTensor::zeros(DType::kF32, tensor.shape);
    std::span<float> values = result.mutable_values<float>();
    dequantize_gguf(*tensor.type, tensor.bytes.data(), values);
    for (float& value : values) value -= 1;
    return result;
  }

  const GgufFields& fields_;
};

}  // namespace

WeightFiles gguf_weights(const GgufArchitecture& architecture, const GgufFields& fields) {
  WeightFiles files;
  files.folder = fields.source();
  const Expander expander(fields);
  for (const GgufTensor& tensor : fields.file().tensors) {
    const StoredName stored = split_name(tensor.name);
    const auto rule = std::ranges::find(architecture.names, stored.pattern, &GgufName::stored);
    const bool is_known = rule != architecture.names.end();
    const std::string name =
        is_known ? fill_layer(rule->published, stored.layer) + stored.suffix : tensor.name;
    files.tensors.insert_or_assign(
        name, expander.expand(tensor, is_known ? rule->change : GgufChange::kNone));
    files.file_of[name] = fields.source();
  }
  return files;
}

}  // namespace tapml::frontend
