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

// The order of a weight's rows: where each published one is stored.
struct RowOrder {
  GgufChange change = GgufChange::kNone;
  int64_t heads = 1, width = 0;  // rows of a head

  int64_t stored(int64_t row) const {
    if (width == 0) return row;
    const int64_t in_head = row % width;
    if (change == GgufChange::kByPart) {  // `row` is of head, part, element
      const int64_t head = row / width / 3, part = row / width % 3;
      return (part * heads + head) * width + in_head;
    }
    const int64_t head = row / width, half = width / 2;
    return head * width + in_head % half * 2 + in_head / half;
  }
};

// Tensors that the configuration is made of, and tables that follow from it.
bool is_of_configuration(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
         name == "rope_factors_short.weight" || name.ends_with(".attn_rot_embd");
}

class Expander {
 public:
  explicit Expander(const GgufFields& fields) : fields_(fields) {}

  HostTensor expand(const GgufTensor& tensor, GgufChange change) const {
    // Biases and norms have no rows to change.
    const bool is_vector = tensor.shape.size() == 1;
    if (change == GgufChange::kTransposed && is_vector) change = GgufChange::kNone;
    if (change == GgufChange::kPlusOne) return plus(tensor, -1);
    if (change == GgufChange::kTransposed) return transposed(tensor);
    if (change == GgufChange::kRow) {
      const HostTensor whole = expand(tensor, GgufChange::kNone);
      return is_vector ? whole.reshaped({1, whole.size()}) : whole;
    }
    const std::optional<DType> plain = tensor.type->plain;
    if (change == GgufChange::kNone && plain && is_aligned(tensor, *plain)) {
      return HostTensor::view(*plain, tensor.shape, tensor.bytes.data(), fields_.file().owner);
    }
    return in_order(tensor, order_of(tensor, change));
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

  RowOrder order_of(const GgufTensor& tensor, GgufChange change) const {
    if (change == GgufChange::kNone) return {};
    const int64_t queries = fields_.required_integer(".attention.head_count");
    const int64_t heads = change == GgufChange::kPairedKeys
                              ? fields_.integer(".attention.head_count_kv").value_or(queries)
                              : queries;
    const int64_t rows = tensor.shape[0], parts = change == GgufChange::kByPart ? 3 : 1;
    const bool is_whole = heads >= 1 && heads <= rows && rows % (heads * parts) == 0;
    if (!is_whole || rows / (heads * parts) % 2 != 0) {
      refuse(tensor, "does not consist of heads of an even width",
             "rows for " + std::to_string(heads) + " heads");
    }
    return {change, heads, rows / (heads * parts)};
  }

  // The rows of a weight, or the elements of a bias, in their published order.
  HostTensor in_order(const GgufTensor& tensor, const RowOrder& order) const {
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
      const std::byte* from = tensor.bytes.data() + static_cast<size_t>(order.stored(row)) * stored;
      if (is_plain) {
        std::memcpy(to, from, made);
      } else {
        dequantize_gguf(*tensor.type, from,
                        {reinterpret_cast<float*>(to), static_cast<size_t>(row_size)});
      }
    }
    return result;
  }

  HostTensor plus(const GgufTensor& tensor, float number) const {
    HostTensor result = HostTensor::zeros(DType::kF32, tensor.shape);
    std::span<float> values = result.mutable_values<float>();
    dequantize_gguf(*tensor.type, tensor.bytes.data(), values);
    for (float& value : values) value += number;
    return result;
  }

  HostTensor transposed(const GgufTensor& tensor) const {
    if (tensor.shape.size() != 2) refuse(tensor, "is not a matrix", "two dimensions");
    const HostTensor whole = expand(tensor, GgufChange::kNone);
    const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
    HostTensor result = HostTensor::zeros(whole.dtype(), {columns, rows});
    const size_t size = dtype_bytes(whole.dtype());
    const std::byte* from = whole.bytes().data();
    std::byte* to = result.mutable_bytes().data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column, from += size) {
        std::memcpy(to + static_cast<size_t>(column * rows + row) * size, from, size);
      }
    }
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
    if (is_of_configuration(tensor.name)) continue;
    const StoredName stored = split_name(tensor.name);
    const GgufName* rule = find_gguf_name(architecture, stored.pattern);
    const std::string name =
        rule ? fill_layer(rule->published, stored.layer) + stored.suffix : tensor.name;
    GgufChange change = rule ? rule->change : GgufChange::kNone;
    if (change == GgufChange::kPlusOne && stored.suffix != ".weight") change = GgufChange::kNone;
    files.tensors.insert_or_assign(name, expander.expand(tensor, change));
    files.file_of[name] = fields.source();
  }
  return files;
}

}  // namespace tapml::frontend
