#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>

#include "base/rounding.h"
#include "base/strings.h"
#include "io/json.h"
#include "io/json_reader.h"

namespace tapml {

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// Objects contain arrays and nothing deeper.
constexpr int kHeaderDepth = 8;
// A tensor takes about 8 values; published files have at most about ten thousand tensors.
constexpr size_t kMaxHeaderValues = 8'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";

struct DTypeSpelling {
  std::string_view name;
  DType dtype;
};

constexpr std::array<DTypeSpelling, 13> kSpellings = {{
    {"BOOL", DType::kBool},
    {"U8", DType::kU8},
    {"I8", DType::kI8},
    {"U16", DType::kU16},
    {"I16", DType::kI16},
    {"F16", DType::kF16},
    {"BF16", DType::kBF16},
    {"U32", DType::kU32},
    {"I32", DType::kI32},
    {"F32", DType::kF32},
    {"U64", DType::kU64},
    {"I64", DType::kI64},
    {"F64", DType::kF64},
}};

std::string_view spelling(DType dtype) {
  for (const DTypeSpelling& entry : kSpellings) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "";
}

// Dtypes that HostTensor lacks, with elements of a byte.
bool is_byte(std::string_view unknown) {
  return unknown == "F8_E4M3" || unknown == "F8_E5M2" || unknown == "F8_E8M0";
}

std::optional<DType> parse_spelling(std::string_view name) {
  for (const DTypeSpelling& entry : kSpellings) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

struct TensorEntry {
  std::string_view name;
  DType dtype = DType::kF32;
  std::string unknown_dtype;  // empty if `dtype` is valid
  Shape shape;
  uint64_t begin = 0;  // within the data, after the header
  uint64_t end = 0;
};

std::string range_text(const TensorEntry& entry) {
  return "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
}

class Reader {
 public:
  // `bytes`: the file, or its beginning, of `file_bytes`.
  Reader(std::span<const std::byte> bytes, uint64_t file_bytes, std::shared_ptr<const void> owner,
         std::string_view source, const SafetensorsOptions& options)
      : bytes_(bytes),
        file_bytes_(file_bytes),
        owner_(std::move(owner)),
        source_(source),
        options_(options) {}

  Result<int64_t> header_end() {
    TAPML_TRY(find_header());
    return static_cast<int64_t>(data_offset());
  }

  Result<std::vector<SafetensorsEntry>> list() {
    std::map<std::string, std::string> metadata;
    Json header;
    TAPML_ASSIGN(const std::vector<TensorEntry> entries, read_header(header, metadata));
    std::vector<SafetensorsEntry> list;
    const auto offset = static_cast<int64_t>(data_offset());
    for (const TensorEntry& entry : entries) {
      list.push_back({std::string(entry.name), entry.dtype, entry.shape,
                      offset + static_cast<int64_t>(entry.begin),
                      offset + static_cast<int64_t>(entry.end)});
    }
    std::ranges::stable_sort(list, {}, &SafetensorsEntry::begin);
    return list;
  }

  Result<SafetensorsFile> read() {
    SafetensorsFile file;
    Json header;
    TAPML_ASSIGN(std::vector<TensorEntry> entries, read_header(header, file.metadata));
    for (TensorEntry& entry : entries) {
      const std::byte* data = bytes_.data() + data_offset() + entry.begin;
      if (!entry.unknown_dtype.empty()) {
        file.unknown_dtypes.emplace(std::string(entry.name), entry.unknown_dtype);
        if (is_byte(entry.unknown_dtype)) {
          file.bytes.emplace(std::string(entry.name),
                             HostTensor::view(DType::kU8, std::move(entry.shape), data, owner_));
        }
        continue;
      }
      TAPML_TRY(check_bools(entry, data));
      const std::string name(entry.name);
      if (is_aligned(entry, data)) {
        file.tensors.emplace(name,
                             HostTensor::view(entry.dtype, std::move(entry.shape), data, owner_));
        continue;
      }
      HostTensor copy = HostTensor::zeros(entry.dtype, std::move(entry.shape));
      std::memcpy(copy.mutable_bytes().data(), data, copy.byte_size());
      file.tensors.emplace(name, std::move(copy));
      file.copied.push_back(name);
    }
    return file;
  }

 private:
  // Keeps the names, which the entries are views of, in `header`.
  Result<std::vector<TensorEntry>> read_header(Json& header,
                                               std::map<std::string, std::string>& metadata) {
    TAPML_TRY(find_header());
    if (header_bytes_ > bytes_.size() - kLengthBytes) {
      return fail(internal_error("the header of a safetensors file is incomplete", source_));
    }
    std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes,
                          header_bytes_);
    TAPML_ASSIGN(header, parse_json(text, source_ + " (header)",
                                    {.max_depth = kHeaderDepth, .max_values = kMaxHeaderValues}));
    if (!header.is_object()) {
      return fail(user_error(source_ + ": the header is not an object",
                             json_location(source_ + " (header)", header), "a JSON object",
                             json_excerpt(header)));
    }
    std::vector<TensorEntry> entries;
    for (const auto& [name, value] : header.members()) {
      if (name == kMetadataKey) {
        TAPML_TRY(read_metadata(value, metadata));
      } else {
        TAPML_ASSIGN(TensorEntry entry, read_entry(name, value));
        entries.push_back(std::move(entry));
      }
    }
    TAPML_TRY(check_layout(entries));
    return entries;
  }

  static bool is_aligned(const TensorEntry& entry, const std::byte* data) {
    return entry.begin == entry.end ||
           reinterpret_cast<uintptr_t>(data) % dtype_bytes(entry.dtype) == 0;
  }

  uint64_t data_offset() const { return kLengthBytes + header_bytes_; }
  uint64_t data_bytes() const { return file_bytes_ - data_offset(); }

  Error file_error(std::string problem, std::string expected, std::string found,
                   std::string hint = "") const {
    return user_error(source_ + ": " + std::move(problem), source_, std::move(expected),
                      std::move(found), std::move(hint));
  }

  Error tensor_error(std::string_view name, std::string problem, std::string expected,
                     std::string found) const {
    return user_error(source_ + ": tensor " + in_quotes(name) + " " + std::move(problem), source_,
                      std::move(expected), std::move(found));
  }

  Status find_header() {
    if (bytes_.empty()) {
      return fail(file_error("the file is empty", "a safetensors file", "0 bytes"));
    }
    if (std::min<uint64_t>(bytes_.size(), file_bytes_) < kLengthBytes) {
      return fail(file_error("the file is truncated", "at least 8 bytes of header length",
                             std::to_string(bytes_.size()) + " bytes"));
    }
    header_bytes_ = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      header_bytes_ |= static_cast<uint64_t>(bytes_[i]) << (8 * i);
    }
    if (header_bytes_ > kMaxHeaderBytes) {
      return fail(file_error(
          "the header is too long", "at most " + std::to_string(kMaxHeaderBytes) + " bytes",
          std::to_string(header_bytes_) + " bytes", "this may not be a safetensors file"));
    }
    if (header_bytes_ > file_bytes_ - kLengthBytes) {
      return fail(file_error("the file is truncated within its header",
                             std::to_string(header_bytes_) + " bytes of header",
                             std::to_string(file_bytes_ - kLengthBytes) + " bytes"));
    }
    return {};
  }

  Status read_metadata(const Json& value, std::map<std::string, std::string>& metadata) const {
    if (!value.is_object()) {
      return fail(file_error("\"__metadata__\" is not an object", "an object of strings",
                             json_excerpt(value)));
    }
    for (const auto& [key, text] : value.members()) {
      if (!text.is_string()) {
        return fail(file_error("metadata " + in_quotes(key) + " is not a string", "a string",
                               json_excerpt(text)));
      }
      metadata.emplace(key, text.as_string());
    }
    return {};
  }

  Result<TensorEntry> read_entry(std::string_view name, const Json& value) const {
    JsonObjectReader fields(value, source_ + " (header)", quoted_path(name));
    TensorEntry entry;
    entry.name = name;
    TAPML_ASSIGN(std::string dtype_text, fields.required_string("dtype"));
    std::optional<DType> dtype = parse_spelling(dtype_text);
    if (!dtype && options_.keep_unknown_dtypes && !dtype_text.empty()) {
      entry.unknown_dtype = dtype_text;
    } else if (!dtype) {
      std::vector<std::string_view> known;
      for (const DTypeSpelling& known_type : kSpellings) known.push_back(known_type.name);
      return fail(tensor_error(name, "has a dtype that is not supported", join_choices(known),
                               in_quotes(dtype_text)));
    }
    entry.dtype = dtype.value_or(DType::kU8);
    TAPML_ASSIGN(entry.shape, fields.required_int_array("shape", 0));
    TAPML_ASSIGN(std::vector<int64_t> offsets, fields.required_int_array("data_offsets", 0));
    if (offsets.size() != 2) {
      return fail(tensor_error(name, "has malformed data_offsets", "[begin, end]",
                               std::to_string(offsets.size()) + " numbers"));
    }
    entry.begin = static_cast<uint64_t>(offsets[0]);
    entry.end = static_cast<uint64_t>(offsets[1]);
    TAPML_TRY(check_entry(entry));
    return entry;
  }

  static std::string quoted_path(std::string_view name) { return std::string(name.substr(0, 80)); }

  Status check_entry(const TensorEntry& entry) const {
    if (entry.begin > entry.end) {
      return fail(
          tensor_error(entry.name, "has reversed data_offsets", "begin <= end", range_text(entry)));
    }
    if (entry.end > data_bytes()) {
      return fail(tensor_error(entry.name, "reaches beyond the end of the file",
                               "offsets within " + std::to_string(data_bytes()) + " bytes of data",
                               range_text(entry)));
    }
    if (!entry.unknown_dtype.empty() && !is_byte(entry.unknown_dtype)) return {};
    auto bytes = checked_byte_count(entry.dtype, entry.shape);
    if (!bytes) {
      return fail(tensor_error(entry.name, "is too large", bytes.error().expected,
                               "shape " + shape_to_string(entry.shape)));
    }
    if (entry.end - entry.begin != static_cast<uint64_t>(*bytes)) {
      return fail(
          tensor_error(entry.name, "has a byte count that does not match its dtype and shape",
                       std::to_string(*bytes) + " bytes for " +
                           (entry.unknown_dtype.empty() ? std::string(spelling(entry.dtype))
                                                        : entry.unknown_dtype) +
                           " " + shape_to_string(entry.shape),
                       std::to_string(entry.end - entry.begin) + " bytes, " + range_text(entry)));
    }
    return {};
  }

  // The tensors must tile the data: overlaps and gaps can hide bytes.
  Status check_layout(const std::vector<TensorEntry>& entries) const {
    std::vector<const TensorEntry*> order;
    for (const TensorEntry& entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
      return std::tie(a->begin, a->end, a->name) < std::tie(b->begin, b->end, b->name);
    });
    uint64_t reached = 0;
    const TensorEntry* before = nullptr;
    for (const TensorEntry* entry : order) {
      if (entry->begin < reached) {
        return fail(tensor_error(entry->name, "overlaps tensor " + in_quotes(before->name),
                                 "offsets from " + std::to_string(reached) + " on",
                                 range_text(*entry)));
      }
      if (entry->begin > reached) {
        return fail(tensor_error(entry->name, "leaves a gap before its data",
                                 "an offset of " + std::to_string(reached), range_text(*entry)));
      }
      reached = entry->end;
      before = entry;
    }
    if (reached != data_bytes()) {
      return fail(file_error("the file has bytes that belong to no tensor",
                             std::to_string(reached) + " bytes of data",
                             std::to_string(data_bytes()) + " bytes"));
    }
    return {};
  }

  Status check_bools(const TensorEntry& entry, const std::byte* data) const {
    if (entry.dtype != DType::kBool) return {};
    for (uint64_t i = 0; i < entry.end - entry.begin; ++i) {
      auto byte = static_cast<uint8_t>(data[i]);
      if (byte > 1) {
        return fail(tensor_error(entry.name, "has a boolean that is neither 0 nor 1", "0 or 1",
                                 std::to_string(byte) + " at element " + std::to_string(i)));
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  uint64_t file_bytes_;
  std::shared_ptr<const void> owner_;
  std::string source_;
  SafetensorsOptions options_;
  uint64_t header_bytes_ = 0;
};

}  // namespace

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes,
                                          std::shared_ptr<const void> owner,
                                          std::string_view source,
                                          const SafetensorsOptions& options) {
  return Reader(bytes, bytes.size(), std::move(owner), source, options).read();
}

Result<int64_t> safetensors_header_bytes(std::span<const std::byte> first, int64_t file_bytes,
                                         std::string_view source) {
  return Reader(first, static_cast<uint64_t>(file_bytes), nullptr, source, {}).header_end();
}

Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> header,
                                                               int64_t file_bytes,
                                                               std::string_view source) {
  return Reader(header, static_cast<uint64_t>(file_bytes), nullptr, source, {}).list();
}

SafetensorsPieces safetensors_pieces(const std::map<std::string, HostTensor>& tensors,
                                     const std::map<std::string, std::string>& metadata) {
  // Wide elements first: every tensor is then aligned without gaps, which readers reject.
  std::vector<const std::pair<const std::string, HostTensor>*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return dtype_bytes(a->second.dtype()) > dtype_bytes(b->second.dtype());
  });
  std::map<std::string, int64_t> begins;
  int64_t data_bytes = 0;
  for (const auto* named : order) {
    begins[named->first] = data_bytes;
    data_bytes += static_cast<int64_t>(named->second.byte_size());
  }

  std::vector<std::pair<std::string, Json>> header;
  if (!metadata.empty()) {
    std::vector<std::pair<std::string, Json>> texts;
    for (const auto& [key, text] : metadata) texts.emplace_back(key, Json::string(text));
    header.emplace_back(kMetadataKey, Json::object(std::move(texts)));
  }
  for (const auto& [name, tensor] : tensors) {
    std::vector<Json> shape;
    for (int64_t extent : tensor.shape()) shape.push_back(Json::integer(extent));
    int64_t begin = begins[name];
    auto end = begin + static_cast<int64_t>(tensor.byte_size());
    header.emplace_back(
        name,
        Json::object({{"dtype", Json::string(std::string(spelling(tensor.dtype())))},
                      {"shape", Json::array(std::move(shape))},
                      {"data_offsets", Json::array({Json::integer(begin), Json::integer(end)})}}));
  }
  std::string text = Json::object(std::move(header)).dump();
  text.resize(round_up(text.size(), size_t{8}), ' ');

  SafetensorsPieces pieces;
  pieces.header.resize(kLengthBytes + text.size());
  for (size_t i = 0; i < kLengthBytes; ++i) {
    pieces.header[i] = static_cast<std::byte>(text.size() >> (8 * i));
  }
  std::memcpy(pieces.header.data() + kLengthBytes, text.data(), text.size());
  for (const auto* named : order) pieces.data.push_back(named->second.bytes());
  return pieces;
}

std::vector<std::byte> write_safetensors(const std::map<std::string, HostTensor>& tensors,
                                         const std::map<std::string, std::string>& metadata) {
  SafetensorsPieces pieces = safetensors_pieces(tensors, metadata);
  size_t size = pieces.header.size();
  for (std::span<const std::byte> bytes : pieces.data) size += bytes.size();
  std::vector<std::byte> image = std::move(pieces.header);
  image.reserve(size);
  for (std::span<const std::byte> bytes : pieces.data) {
    image.insert(image.end(), bytes.begin(), bytes.end());
  }
  return image;
}

}  // namespace tapml
