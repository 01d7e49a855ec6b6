// Dimensions of a runtime tensor, stored inline: creating or copying them allocates nothing.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "tensor/host_tensor.h"

namespace tapml::runtime {

// Like Shape, with conversions in both directions. Up to kInline dimensions are in the object
// itself, more are on the heap.
class Extents {
 public:
  static constexpr size_t kInline = 6;
  using value_type = int64_t;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  Extents() noexcept = default;
  Extents(std::span<const int64_t> dims) { assign(dims); }  // NOLINT
  Extents(const Shape& dims) { assign(dims); }              // NOLINT
  Extents(std::initializer_list<int64_t> dims) { assign({dims.begin(), dims.size()}); }
  Extents(const Extents& other) { assign(other); }
  Extents(Extents&& other) noexcept { take(other); }
  Extents& operator=(const Extents& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Extents& operator=(Extents&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~Extents() { drop(); }

  operator Shape() const { return Shape(begin(), end()); }  // NOLINT

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* data() const { return size_ <= kInline ? inline_ : heap_; }
  int64_t* data() { return size_ <= kInline ? inline_ : heap_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& operator[](size_t i) { return data()[i]; }
  // Makes `size` dimensions of unspecified values.
  void reset(size_t size) {
    if (size == size_) return;
    drop();
    if (size > kInline) heap_ = new int64_t[size];
    size_ = size;
  }

  friend bool operator==(const Extents& a, const Extents& b) {
    if (a.size_ != b.size_) return false;
    const int64_t *left = a.data(), *right = b.data();
    for (size_t i = 0; i < a.size_; ++i) {
      if (left[i] != right[i]) return false;
    }
    return true;
  }

 private:
  void assign(std::span<const int64_t> dims) {
    reset(dims.size());
    std::copy(dims.begin(), dims.end(), data());
  }
  void take(Extents& other) noexcept {
    size_ = other.size_;
    if (size_ > kInline) {
      heap_ = other.heap_;
      other.size_ = 0;
    } else {
      std::copy(other.inline_, other.inline_ + size_, inline_);
    }
  }
  void drop() noexcept {
    if (size_ > kInline) delete[] heap_;
    size_ = 0;
  }

  size_t size_ = 0;
  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
};

}  // namespace tapml::runtime
