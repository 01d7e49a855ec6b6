#include "io/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>
#include <unordered_set>

#include "base/rounding.h"
#include "base/strings.h"

namespace tapml {

namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr int64_t kDefaultAlignment = 32, kMaxAlignment = int64_t{1} << 20;
constexpr uint64_t kMaxDimensions = 4;
// Published vocabularies have at most a few hundred thousand tokens.
constexpr uint64_t kMaxItems = uint64_t{1} << 24;
constexpr const char* kBroken = "the file may be broken: download it again";

enum class ValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// Bytes of a value in the file; of a text, those of its length.
size_t least_bytes(ValueType type) {
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return 1;
    case ValueType::kU16:
    case ValueType::kI16:
      return 2;
    case ValueType::kU32:
    case ValueType::kI32:
    case ValueType::kF32:
      return 4;
    default:
      return 8;
  }
}

bool is_float_type(ValueType type) { return type == ValueType::kF32 || type == ValueType::kF64; }

// What a tensor's description says.
struct TensorInfo {
  std::string name;
  Shape shape;
  const GgufType* type = nullptr;
  uint64_t begin = 0;  // within the data
  uint64_t size = 0;
};

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
             std::string_view source)
      : bytes_(bytes), source_(source) {
    file_.owner = std::move(owner);
  }

  Result<GgufFile> read() {
    TAPML_TRY(read_header());
    TAPML_TRY(read_metadata());
    TAPML_TRY(read_alignment());
    std::vector<TensorInfo> infos;
    TAPML_TRY(read_infos(infos));
    const uint64_t data = round_up(at_, static_cast<uint64_t>(alignment_));
    if (data > bytes_.size() && !infos.empty()) return fail(truncated("the tensors"));
    TAPML_TRY(check_ranges(infos, bytes_.size() - std::min<uint64_t>(data, bytes_.size())));
    for (TensorInfo& info : infos) {
      std::span<const std::byte> view;
      if (info.size > 0) view = bytes_.subspan(data + info.begin, info.size);
      file_.tensors.push_back({std::move(info.name), info.type, std::move(info.shape), view});
    }
    return std::move(file_);
  }

 private:
  Error file_error(std::string problem, std::string expected, std::string found,
                   std::string hint = "") const {
    return user_error(source_ + ": " + std::move(problem), source_, std::move(expected),
                      std::move(found), std::move(hint));
  }

  Error truncated(const std::string& what) const {
    return file_error("the file ends in " + what,
                      "more than " + std::to_string(bytes_.size()) + " bytes",
                      std::to_string(bytes_.size()) + " bytes", kBroken);
  }

  Error tensor_error(std::string_view name, std::string problem, std::string expected,
                     std::string found, std::string hint = "") const {
    return user_error(source_ + ": tensor " + in_quotes(name) + " " + std::move(problem), source_,
                      std::move(expected), std::move(found), std::move(hint));
  }

  uint64_t rest() const { return bytes_.size() - at_; }

  // The next `size` bytes, 8 at most, as an unsigned number.
  Result<uint64_t> number(size_t size, const std::string& what) {
    if (rest() < size) return fail(truncated(what));
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes_[at_ + i]);
    at_ += size;
    return value;
  }

  Result<std::string_view> text(const std::string& what) {
    TAPML_ASSIGN(const uint64_t size, number(8, what));
    if (size > rest()) {
      return fail(file_error(what + " has a text that ends beyond the file",
                             "at most " + std::to_string(rest()) + " bytes",
                             std::to_string(size) + " bytes", kBroken));
    }
    const std::string_view view(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return view;
  }

  Status read_header() {
    if (!looks_like_gguf(bytes_)) {
      return fail(file_error("this is not a GGUF file", "\"GGUF\" at its beginning",
                             bytes_.empty() ? "an empty file" : "other bytes"));
    }
    at_ = kGgufMagic.size();
    TAPML_ASSIGN(const uint64_t version, number(4, "the header"));
    if ((version & 0xFFFF) == 0 && version != 0) {
      return fail(file_error("the file is made for processors of the other byte order",
                             "a little-endian file", "a big-endian file",
                             "download or convert a little-endian one"));
    }
    if (version < 2 || version > 3) {
      return fail(file_error("the file has another version of the format", "version 2 or 3",
                             "version " + std::to_string(version),
                             version == 1 ? "convert the model again" : ""));
    }
    file_.version = static_cast<int64_t>(version);
    TAPML_ASSIGN(tensor_count_, number(8, "the header"));
    TAPML_ASSIGN(value_count_, number(8, "the header"));
    // The fewest bytes of a tensor's description and of a value.
    constexpr uint64_t kInfoBytes = 8 + 4 + 8 + 4 + 8, kValueBytes = 8 + 4 + 1;
    for (const auto& [count, least, what] :
         {std::tuple(tensor_count_, kInfoBytes, "tensors"),
          std::tuple(value_count_, kValueBytes, "values of metadata")}) {
      if (count <= rest() / least) continue;
      return fail(file_error(std::string("the number of ") + what + " is beyond the file",
                             "at most " + std::to_string(rest() / least), std::to_string(count),
                             kBroken));
    }
    return {};
  }

  Status read_metadata() {
    std::unordered_set<std::string> keys;
    for (uint64_t i = 0; i < value_count_; ++i) {
      TAPML_ASSIGN(const std::string_view key, text("key " + std::to_string(i)));
      const std::string what = "the value of " + in_quotes(key);
      if (!keys.insert(std::string(key)).second) {
        return fail(file_error("the key " + in_quotes(key) + " is there twice", "each key once",
                               "a second one", kBroken));
      }
      TAPML_ASSIGN(const uint64_t type, number(4, what));
      TAPML_ASSIGN(GgufValue value, read_value(type, what));
      file_.metadata.emplace_back(std::string(key), std::move(value));
    }
    return {};
  }

  Result<ValueType> value_type(uint64_t number, const std::string& what) const {
    if (number > static_cast<uint64_t>(ValueType::kF64)) {
      return fail(file_error(what + " has an unknown type", "a type from 0 to 12",
                             std::to_string(number), kBroken));
    }
    return static_cast<ValueType>(number);
  }

  Result<GgufValue> read_value(uint64_t type_number, const std::string& what) {
    TAPML_ASSIGN(const ValueType type, value_type(type_number, what));
    switch (type) {
      case ValueType::kArray:
        return read_array(what);
      case ValueType::kString: {
        TAPML_ASSIGN(const std::string_view value, text(what));
        return GgufValue(value);
      }
      case ValueType::kBool: {
        TAPML_ASSIGN(const bool value, boolean(what));
        return GgufValue(value);
      }
      case ValueType::kF32:
      case ValueType::kF64: {
        TAPML_ASSIGN(const double value, real(type, what));
        return GgufValue(value);
      }
      default: {
        TAPML_ASSIGN(const int64_t value, integer(type, what));
        return GgufValue(value);
      }
    }
  }

  Result<GgufValue> read_array(const std::string& what) {
    TAPML_ASSIGN(const uint64_t type_number, number(4, what));
    TAPML_ASSIGN(const ValueType type, value_type(type_number, what));
    TAPML_ASSIGN(const uint64_t count, number(8, what));
    if (type == ValueType::kArray) {
      return fail(file_error(what + " is an array of arrays", "an array of single values",
                             "an array of arrays"));
    }
    const uint64_t most = std::min(rest() / least_bytes(type), kMaxItems);
    if (count > most) {
      return fail(file_error(what + (most == kMaxItems ? " is too long an array"
                                                       : " is an array that ends beyond the file"),
                             "at most " + std::to_string(most) + " items",
                             std::to_string(count) + " items", kBroken));
    }
    if (type == ValueType::kString) {
      return items<std::string_view>(count, [&] { return text(what); });
    }
    if (type == ValueType::kBool) return items<bool>(count, [&] { return boolean(what); });
    if (is_float_type(type)) return items<double>(count, [&] { return real(type, what); });
    return items<int64_t>(count, [&] { return integer(type, what); });
  }

  template <class T>
  static Result<GgufValue> items(uint64_t count, const auto& read) {
    std::vector<T> all;
    all.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      TAPML_ASSIGN(const T item, read());
      all.push_back(item);
    }
    return GgufValue(std::move(all));
  }

  Result<bool> boolean(const std::string& what) {
    TAPML_ASSIGN(const uint64_t value, number(1, what));
    if (value > 1) {
      return fail(file_error(what + " is no truth value", "0 or 1", std::to_string(value)));
    }
    return value == 1;
  }

  Result<double> real(ValueType type, const std::string& what) {
    TAPML_ASSIGN(const uint64_t bits, number(least_bytes(type), what));
    if (type == ValueType::kF64) return std::bit_cast<double>(bits);
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }

  Result<int64_t> integer(ValueType type, const std::string& what) {
    TAPML_ASSIGN(const uint64_t bits, number(least_bytes(type), what));
    switch (type) {
      case ValueType::kI8:
        return int64_t{static_cast<int8_t>(bits)};
      case ValueType::kI16:
        return int64_t{static_cast<int16_t>(bits)};
      case ValueType::kI32:
        return int64_t{static_cast<int32_t>(bits)};
      case ValueType::kU64:
        if (bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          return fail(
              file_error(what + " is too large", "a number below 2^63", std::to_string(bits)));
        }
        return static_cast<int64_t>(bits);
      default:
        return static_cast<int64_t>(bits);
    }
  }

  Status read_alignment() {
    const GgufValue* value = file_.find(kAlignmentKey);
    if (!value) return {};
    const auto* alignment = std::get_if<int64_t>(value);
    const bool is_valid = alignment && *alignment > 0 && *alignment <= kMaxAlignment &&
                          std::has_single_bit(static_cast<uint64_t>(*alignment));
    if (!is_valid) {
      return fail(file_error(in_quotes(kAlignmentKey) + " is not an alignment",
                             "a power of two up to " + std::to_string(kMaxAlignment),
                             alignment ? std::to_string(*alignment) : gguf_kind_name(*value)));
    }
    alignment_ = *alignment;
    return {};
  }

  Status read_infos(std::vector<TensorInfo>& infos) {
    std::unordered_set<std::string> names;
    for (uint64_t i = 0; i < tensor_count_; ++i) {
      TAPML_ASSIGN(TensorInfo info, read_info(i));
      if (!names.insert(info.name).second) {
        return fail(
            tensor_error(info.name, "is there twice", "each tensor once", "a second one", kBroken));
      }
      infos.push_back(std::move(info));
    }
    return {};
  }

  Result<TensorInfo> read_info(uint64_t index) {
    const std::string what = "the description of tensor " + std::to_string(index);
    TensorInfo info;
    TAPML_ASSIGN(const std::string_view name, text(what));
    info.name = name;
    TAPML_ASSIGN(const uint64_t dimensions, number(4, what));
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      return fail(tensor_error(name, "has a wrong number of dimensions",
                               "1 to " + std::to_string(kMaxDimensions), std::to_string(dimensions),
                               kBroken));
    }
    // The file has the innermost dimension first.
    std::array<uint64_t, kMaxDimensions> extents{};
    for (uint64_t i = 0; i < dimensions; ++i) {
      TAPML_ASSIGN(extents[i], number(8, what));
    }
    TAPML_ASSIGN(const uint64_t type, number(4, what));
    TAPML_ASSIGN(info.begin, number(8, what));
    TAPML_ASSIGN(info.type, read_type(name, type));
    for (uint64_t i = dimensions; i-- > 0;) {
      if (extents[i] > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail(tensor_error(name, "is too large", "dimensions below 2^63",
                                 std::to_string(extents[i]), kBroken));
      }
      info.shape.push_back(static_cast<int64_t>(extents[i]));
    }
    TAPML_TRY(find_size(info));
    return info;
  }

  Result<const GgufType*> read_type(std::string_view name, uint64_t number) const {
    const auto id = static_cast<uint32_t>(number);
    if (const GgufType* type = find_gguf_type(id)) return type;
    std::vector<std::string_view> known;
    for (const GgufType& type : gguf_types()) known.push_back(type.name);
    const std::string_view other = gguf_type_name(id);
    return fail(
        tensor_error(name, "has a type that is not supported", join_choices(known),
                     other.empty() ? "the unknown type " + std::to_string(id) : std::string(other),
                     other.empty() ? "" : "use a file of another type, such as Q4_K_M"));
  }

  Status find_size(TensorInfo& info) const {
    const auto count = checked_element_count(info.shape);
    const GgufType& type = *info.type;
    const auto most = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(type.block_bytes);
    if (!count || *count > most) {
      return fail(tensor_error(info.name, "is too large", "fewer than 2^63 bytes",
                               shape_to_string(info.shape), kBroken));
    }
    if (info.shape.back() % type.elements != 0) {
      return fail(tensor_error(info.name, "has rows that are not whole blocks",
                               "rows of a multiple of " + std::to_string(type.elements) + " in " +
                                   std::string(type.name),
                               shape_to_string(info.shape)));
    }
    info.size = static_cast<uint64_t>(*count / type.elements) * type.block_bytes;
    return {};
  }

  Status check_ranges(const std::vector<TensorInfo>& infos, uint64_t data_bytes) const {
    for (const TensorInfo& info : infos) {
      if (info.begin % static_cast<uint64_t>(alignment_) != 0) {
        return fail(tensor_error(info.name, "is misaligned",
                                 "an offset that is a multiple of " + std::to_string(alignment_),
                                 std::to_string(info.begin), kBroken));
      }
      if (info.begin > data_bytes || info.size > data_bytes - info.begin) {
        return fail(tensor_error(
            info.name, "ends beyond the file",
            "at most " + std::to_string(data_bytes) + " bytes of tensors",
            std::to_string(info.size) + " bytes from offset " + std::to_string(info.begin),
            kBroken));
      }
    }
    std::vector<const TensorInfo*> order;
    for (const TensorInfo& info : infos) {
      if (info.size > 0) order.push_back(&info);
    }
    std::ranges::sort(order, {}, [](const TensorInfo* info) { return info->begin; });
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo &before = *order[i - 1], &after = *order[i];
      if (after.begin >= before.begin + before.size) continue;
      return fail(
          tensor_error(after.name, "overlaps tensor " + in_quotes(before.name),
                       "an offset of at least " + std::to_string(before.begin + before.size),
                       std::to_string(after.begin), kBroken));
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::string source_;
  GgufFile file_;
  uint64_t at_ = 0;
  uint64_t tensor_count_ = 0, value_count_ = 0;
  int64_t alignment_ = kDefaultAlignment;
};

}  // namespace

const char* gguf_kind_name(const GgufValue& value) {
  constexpr const char* kNames[] = {"a truth value",
                                    "an integer",
                                    "a number",
                                    "a text",
                                    "an array of truth values",
                                    "an array of integers",
                                    "an array of numbers",
                                    "an array of texts"};
  return kNames[value.index()];
}

const GgufValue* GgufFile::find(std::string_view key) const {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool looks_like_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kGgufMagic.size() &&
         std::ranges::equal(kGgufMagic, bytes.first(kGgufMagic.size()), {}, {},
                            [](std::byte b) { return static_cast<char>(b); });
}

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                            std::string_view source) {
  return GgufReader(bytes, std::move(owner), source).read();
}

}  // namespace tapml
