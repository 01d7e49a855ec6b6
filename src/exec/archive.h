// Serializes plain structures to bytes and back. The fields of a structure are listed once, in a
// function `fields(archive, structure)` that both directions run, so they cannot drift apart.
//
// Integers are little-endian and of fixed width; a list or text is its length (u32) and its items.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tapml {

class ByteWriter {
 public:
  void integer(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void operator()(const bool& value) { integer(value ? 1 : 0, 1); }
  void operator()(const int32_t& value) { integer(static_cast<uint32_t>(value), 4); }
  void operator()(const int64_t& value) { integer(static_cast<uint64_t>(value), 8); }
  void operator()(const std::string& text) {
    integer(text.size(), 4);
    raw(std::as_bytes(std::span(text)));
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    integer(list.size(), 4);
    for (const T& item : list) (*this)(item);
  }
  void operator()(const std::set<std::string>& list) {
    integer(list.size(), 4);
    for (const std::string& item : list) (*this)(item);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  // An enumeration whose last value is `last`.
  template <class T>
  void choice(const T& value, T last) {
    integer(static_cast<uint64_t>(value), 1);
  }
  template <class T>
  void operator()(const T& structure) {
    fields(*this, const_cast<T&>(structure));
  }

  std::vector<std::byte> take() { return std::move(bytes_); }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads the output of ByteWriter from untrusted bytes. The first fault ends it: after that nothing
// is read and failed() is true. Memory use grows with the actual bytes, never with a claimed
// length.
class ByteReader {
 public:
  static constexpr int kMaxDepth = 64;
  // Maximum items to reserve for a list in advance.
  static constexpr uint64_t kReserved = 64;

  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool failed() const { return fault_ != nullptr; }
  // Ok if everything was read without a fault and no bytes are left over.
  Status finish(const std::string& where) const;
  void refuse(const char* fault) {
    if (!fault_) {
      fault_ = fault;
      fault_at_ = at_;
    }
  }

  uint64_t integer(int bytes) {
    if (fault_ || bytes_.size() - at_ < static_cast<size_t>(bytes)) {
      refuse("it ends within an item");
      return 0;
    }
    uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, bytes_.data() + at_, static_cast<size_t>(bytes));
    } else {
      for (int i = 0; i < bytes; ++i) {
        value |= static_cast<uint64_t>(bytes_[at_ + static_cast<size_t>(i)]) << (8 * i);
      }
    }
    at_ += static_cast<size_t>(bytes);
    return value;
  }
  std::span<const std::byte> raw(uint64_t size) {
    if (fault_ || bytes_.size() - at_ < size) {
      refuse("it ends within an item");
      return {};
    }
    auto part = bytes_.subspan(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return part;
  }

  void operator()(bool& value) {
    uint64_t byte = integer(1);
    if (byte > 1) refuse("a bool is neither 0 nor 1");
    value = byte == 1;
  }
  void operator()(int32_t& value) { value = static_cast<int32_t>(integer(4)); }
  void operator()(int64_t& value) { value = static_cast<int64_t>(integer(8)); }
  void operator()(std::string& text) {
    auto part = raw(integer(4));
    text.assign(reinterpret_cast<const char*>(part.data()), part.size());
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    uint64_t count = integer(4);
    list.clear();
    // Every item takes at least one byte.
    if (count > bytes_.size() - at_) refuse("a list is longer than the remaining bytes");
    if (!failed()) list.reserve(static_cast<size_t>(std::min(count, kReserved)));
    for (uint64_t i = 0; i < count && !failed(); ++i) (*this)(list.emplace_back());
  }
  void operator()(std::set<std::string>& list) {
    uint64_t count = integer(4);
    list.clear();
    for (uint64_t i = 0; i < count && !failed(); ++i) {
      std::string item;
      (*this)(item);
      // A set has one encoding: sorted, each item once.
      if (!list.empty() && item <= *list.rbegin()) return refuse("a set is not sorted");
      list.insert(list.end(), std::move(item));
    }
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    value.reset();
    if (is_there && !failed()) (*this)(value.emplace());
  }
  template <class T>
  void choice(T& value, T last) {
    uint64_t number = integer(1);
    if (number > static_cast<uint64_t>(last)) return refuse("an enumeration has an unknown value");
    value = static_cast<T>(number);
  }
  template <class T>
  void operator()(T& structure) {
    if (depth_ >= kMaxDepth) return refuse("it is nested too deeply");
    ++depth_;
    fields(*this, structure);
    --depth_;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  const char* fault_ = nullptr;
  size_t fault_at_ = 0;
};

inline Status ByteReader::finish(const std::string& where) const {
  if (!fault_ && at_ == bytes_.size()) return {};
  return fail(
      user_error("the file is malformed: " + std::string(fault_ ? fault_ : "bytes are left over"),
                 where + ", byte " + std::to_string(fault_ ? fault_at_ : at_)));
}

}  // namespace tapml
