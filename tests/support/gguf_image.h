// Images of GGUF files, also of broken ones, piece by piece.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapml::testing {

// Appends numbers and texts as GGUF has them: little endian, a text after its length.
class GgufBytes {
 public:
  template <class T>
  GgufBytes& number(T value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    text_.append(bytes, sizeof(T));
    return *this;
  }
  GgufBytes& text(std::string_view value) {
    number<uint64_t>(value.size());
    text_ += value;
    return *this;
  }
  GgufBytes& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  GgufBytes& pad(size_t alignment) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  const std::string& string() const { return text_; }

 private:
  std::string text_;
};

// A whole file: add values and tensors, then take the image. Tensors follow one another.
class GgufImage {
 public:
  static constexpr uint32_t kU32 = 4, kF32 = 6, kBool = 7, kText = 8, kArray = 9, kI32 = 5;

  GgufImage& integer(std::string_view key, uint32_t value) {
    head(key, kU32).number(value);
    return *this;
  }
  GgufImage& real(std::string_view key, float value) {
    head(key, kF32).number(value);
    return *this;
  }
  GgufImage& boolean(std::string_view key, bool value) {
    head(key, kBool).number<uint8_t>(value ? 1 : 0);
    return *this;
  }
  GgufImage& text(std::string_view key, std::string_view value) {
    head(key, kText).text(value);
    return *this;
  }
  GgufImage& texts(std::string_view key, const std::vector<std::string>& values) {
    head(key, kArray).number(kText).number<uint64_t>(values.size());
    for (const std::string& value : values) values_.text(value);
    return *this;
  }
  GgufImage& integers(std::string_view key, const std::vector<int32_t>& values) {
    head(key, kArray).number(kI32).number<uint64_t>(values.size());
    for (const int32_t value : values) values_.number(value);
    return *this;
  }
  GgufImage& reals(std::string_view key, const std::vector<float>& values) {
    head(key, kArray).number(kF32).number<uint64_t>(values.size());
    for (const float value : values) values_.number(value);
    return *this;
  }
  // A value of any type: `bytes` follow the number of the type.
  GgufImage& value(std::string_view key, uint32_t type, std::string_view bytes) {
    head(key, type).raw(bytes);
    return *this;
  }
  // `extents`: innermost first, as in the file.
  GgufImage& tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                    std::string_view data) {
    data_.pad(alignment_);
    return tensor_at(name, extents, type, data_.string().size(), data);
  }
  // The same with an offset that need not be the data's.
  GgufImage& tensor_at(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                       uint64_t offset, std::string_view data) {
    infos_.text(name).number(static_cast<uint32_t>(extents.size()));
    for (const uint64_t extent : extents) infos_.number(extent);
    infos_.number(type).number(offset);
    data_.raw(data);
    ++tensors_;
    return *this;
  }
  // Of the data; the key general.alignment is up to the caller.
  GgufImage& alignment(size_t bytes) {
    alignment_ = bytes;
    return *this;
  }
  GgufImage& version(uint32_t number) {
    version_ = number;
    return *this;
  }

  std::string image() const {
    GgufBytes file;
    file.raw("GGUF").number(version_).number(tensors_).number(keys_);
    file.raw(values_.string()).raw(infos_.string()).pad(alignment_).raw(data_.string());
    return file.string();
  }

 private:
  GgufBytes& head(std::string_view key, uint32_t type) {
    ++keys_;
    return values_.text(key).number(type);
  }

  GgufBytes values_, infos_, data_;
  uint64_t tensors_ = 0, keys_ = 0;
  uint32_t version_ = 3;
  size_t alignment_ = 32;
};

}  // namespace tapml::testing
