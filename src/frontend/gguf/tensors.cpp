#include "frontend/gguf/tensors.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/strings.h"
#include "frontend/gguf/row_order.h"
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

// Tensors that the configuration is made of, and tables that follow from it.
bool is_of_configuration(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
         name == "rope_factors_short.weight" || name.ends_with(".attn_rot_embd");
}

// A tensor's rows in their published order. Kept beyond the file's description.
struct OrderedRows {
  GgufTensor tensor;
  std::shared_ptr<const void> owner;
  RowOrder order;

  int64_t rows() const { return tensor.size() / std::max<int64_t>(row_size(), 1); }
  int64_t row_size() const { return tensor.shape.back(); }
  size_t stored_size() const {
    return static_cast<size_t>(row_size() / tensor.type->elements) * tensor.type->block_bytes;
  }
  const std::byte* row(int64_t index) const {
    // Several matrices have the order of one each, which no converter changes.
    return tensor.bytes.data() + static_cast<size_t>(order.stored(index)) * stored_size();
  }
};

HostTensor expanded(const OrderedRows& rows) {
  HostTensor result = HostTensor::zeros(DType::kF32, rows.tensor.shape);
  std::span<float> to = result.mutable_values<float>();
  const auto size = static_cast<size_t>(rows.row_size());
  for (int64_t row = 0; row < rows.rows(); ++row) {
    dequantize_gguf(*rows.tensor.type, rows.row(row),
                    to.subspan(static_cast<size_t>(row) * size, size));
  }
  return result;
}

models::WeightLayout layout_of(const GgufType& type) {
  return {.bits = type.levels.bits,
          .group = type.levels.group,
          .scales = type.levels.scales,
          .has_minimums = type.levels.has_minimums};
}

// Writes the parts of blocks one after another.
class BlockPacker {
 public:
  BlockPacker(const GgufType& type, QuantizedWeight& weight)
      : type_(type),
        levels_(static_cast<size_t>(type.elements)),
        scales_(static_cast<size_t>(type.elements / type.levels.group)),
        minimums_(scales_.size()),
        weight_(weight),
        packed_(weight.packed.mutable_bytes().data()) {}

  void add(const std::byte* block) {
    type_.levels.unpack(block, levels_.data(), scales_.data(), minimums_.data());
    if (type_.levels.bits == 8) {
      std::memcpy(packed_, levels_.data(), levels_.size());
      packed_ += levels_.size();
    } else {
      const int zero = type_.levels.has_minimums ? 0 : 8;
      for (size_t i = 0; i < levels_.size(); i += 2) {
        const int low = levels_[i] + zero, high = levels_[i + 1] + zero;
        *packed_++ = static_cast<std::byte>(low | (high << 4));
      }
    }
    put(weight_.scales, scales_);
    if (weight_.minimums) put(*weight_.minimums, minimums_);
    group_ += scales_.size();
  }

 private:
  // Scales fit their dtype exactly.
  void put(HostTensor& tensor, std::span<const float> values) const {
    if (tensor.dtype() == DType::kF16) {
      std::span<uint16_t> to = tensor.mutable_values<uint16_t>().subspan(group_);
      std::ranges::transform(values, to.begin(), f32_to_f16);
    } else {
      std::ranges::copy(values, tensor.mutable_values<float>().subspan(group_).begin());
    }
  }

  const GgufType& type_;
  std::vector<int8_t> levels_;
  std::vector<float> scales_, minimums_;
  QuantizedWeight& weight_;
  std::byte* packed_;
  size_t group_ = 0;
};

QuantizedWeight packed(const OrderedRows& rows) {
  const GgufType& type = *rows.tensor.type;
  const models::WeightLayout layout = layout_of(type);
  Shape packed = rows.tensor.shape, groups = rows.tensor.shape;
  if (layout.bits == 4) packed.back() /= 2;
  groups.back() /= layout.group;
  QuantizedWeight weight{
      HostTensor::zeros(layout.bits == 4 ? DType::kU8 : DType::kI8, std::move(packed)),
      HostTensor::zeros(layout.scales, groups)};
  if (layout.has_minimums) weight.minimums = HostTensor::zeros(layout.scales, groups);
  BlockPacker packer(type, weight);
  for (int64_t row = 0; row < rows.rows(); ++row) {
    const std::byte* from = rows.row(row);
    for (size_t at = 0; at < rows.stored_size(); at += type.block_bytes) packer.add(from + at);
  }
  return weight;
}

class TensorReader {
 public:
  explicit TensorReader(const GgufFields& fields) : fields_(fields) {}

  // Adds a tensor under its published name.
  void add(const std::string& name, const GgufTensor& tensor, GgufChange change,
           WeightFiles& files) const {
    files.file_of[name] = fields_.source();
    const bool keeps_rows = change == GgufChange::kNone || change == GgufChange::kPairedQueries ||
                            change == GgufChange::kPairedKeys || change == GgufChange::kByPart;
    if (tensor.type->plain || !keeps_rows || tensor.shape.size() < 2 || tensor.size() == 0) {
      files.tensors.insert_or_assign(name, changed(tensor, change));
      return;
    }
    const auto rows = std::make_shared<const OrderedRows>(
        OrderedRows{tensor, fields_.file().owner, order_of(tensor, change)});
    BlockWeight weight{.shape = tensor.shape,
                       .type = std::string(tensor.type->name),
                       .stored = {HostTensor::view(DType::kU8, {std::ssize(tensor.bytes)},
                                                   tensor.bytes.data(), fields_.file().owner)},
                       .layout = layout_of(*tensor.type),
                       .packed = [rows] { return packed(*rows); },
                       .expanded = [rows] { return expanded(*rows); }};
    files.blocks.insert_or_assign(name, std::make_shared<const BlockWeight>(std::move(weight)));
  }

 private:
  HostTensor changed(const GgufTensor& tensor, GgufChange change) const {
    // Biases and norms have no rows to change.
    const bool is_vector = tensor.shape.size() == 1;
    if (change == GgufChange::kTransposed && is_vector) change = GgufChange::kNone;
    if (change == GgufChange::kPlusOne) return plus(tensor, -1);
    if (change == GgufChange::kTransposed) return transposed(tensor);
    if (change == GgufChange::kRow) {
      HostTensor whole = changed(tensor, GgufChange::kNone);
      return is_vector ? whole.reshaped({1, whole.size()}) : whole;
    }
    if (change == GgufChange::kTaps) {
      HostTensor whole = changed(tensor, GgufChange::kNone);
      if (whole.shape().size() != 2) return whole;
      return whole.reshaped({whole.shape()[0], 1, whole.shape()[1]});
    }
    const std::optional<DType> plain = tensor.type->plain;
    if (!plain) return expanded({tensor, nullptr, {}});
    if (change == GgufChange::kNone && is_aligned(tensor, *plain)) {
      return HostTensor::view(*plain, tensor.shape, tensor.bytes.data(), fields_.file().owner);
    }
    return in_order(tensor, order_of(tensor, change));
  }

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
    if (tensor.shape.size() > 2) refuse(tensor, "is not a matrix", "at most two dimensions");
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

  // Rows of numbers, or the elements of a bias, in their published order.
  static HostTensor in_order(const GgufTensor& tensor, const RowOrder& order) {
    HostTensor result = HostTensor::zeros(*tensor.type->plain, tensor.shape);
    if (result.size() == 0) return result;
    const int64_t rows = tensor.shape[0];
    const size_t size = result.byte_size() / static_cast<size_t>(rows);
    std::byte* to = result.mutable_bytes().data();
    for (int64_t row = 0; row < rows; ++row, to += size) {
      std::memcpy(to, tensor.bytes.data() + static_cast<size_t>(order.stored(row)) * size, size);
    }
    return result;
  }

  static HostTensor plus(const GgufTensor& tensor, float number) {
    HostTensor result = HostTensor::zeros(DType::kF32, tensor.shape);
    std::span<float> values = result.mutable_values<float>();
    dequantize_gguf(*tensor.type, tensor.bytes.data(), values);
    for (float& value : values) value += number;
    return result;
  }

  HostTensor transposed(const GgufTensor& tensor) const {
    if (tensor.shape.size() != 2) refuse(tensor, "is not a matrix", "two dimensions");
    const HostTensor whole = changed(tensor, GgufChange::kNone);
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
  const TensorReader reader(fields);
  for (const GgufTensor& tensor : fields.file().tensors) {
    if (is_of_configuration(tensor.name)) continue;
    const StoredName stored = split_name(tensor.name);
    const GgufName* rule = find_gguf_name(architecture, stored.pattern);
    const std::string name =
        rule ? fill_layer(rule->published, stored.layer) + stored.suffix : tensor.name;
    GgufChange change = rule ? rule->change : GgufChange::kNone;
    if (change == GgufChange::kPlusOne && stored.suffix != ".weight") change = GgufChange::kNone;
    reader.add(name, tensor, change, files);
  }
  return files;
}

}  // namespace tapml::frontend
