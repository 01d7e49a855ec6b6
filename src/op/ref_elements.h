// The elements of the reference's tensors. A reference may need only a small part of large weights,
// so given or zero elements take no memory until they are changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::op {

// Values in f64. Those of a given tensor of f32, f16, bf16 or bytes are not copied until one is
// changed: weights would take up to eight times their memory.
class RefValues {
 public:
  RefValues() = default;
  RefValues(std::vector<double> values) : own_(std::move(values)) {}
  RefValues(std::initializer_list<double> values) : own_(values) {}
  explicit RefValues(const HostTensor& tensor);  // widened

  size_t size() const { return given_ ? given_size_ : own_.size(); }
  bool empty() const { return size() == 0; }
  double operator[](size_t i) const {
    if (!given_) return own_[i];
    return dtype_ == DType::kF32 ? static_cast<const float*>(given_)[i] : given_at(i);
  }
  double& operator[](size_t i) { return mine()[i]; }
  void assign(size_t size, double value) { *this = std::vector<double>(size, value); }
  // Copies `count` elements, starting at `first` and `stride` apart, to positions `to_stride`
  // apart.
  void read(size_t first, size_t stride, size_t count, double* to, size_t to_stride) const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = double;
    using difference_type = std::ptrdiff_t;
    using pointer = const double*;
    using reference = double;

    Iterator(const RefValues& values, size_t at) : values_(&values), at_(at) {}
    double operator*() const { return (*values_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const RefValues* values_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  friend bool operator==(const RefValues& a, const RefValues& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::vector<double>& mine() {
    if (given_) copy_given();
    return own_;
  }
  void copy_given();
  double given_at(size_t i) const;

  std::vector<double> own_;
  const void* given_ = nullptr;  // data of owner_; if null, own_ is used
  DType dtype_ = DType::kF32;    // of it
  size_t given_size_ = 0;
  HostTensor owner_;
};

// Bounds, each at least 0. If all are 0, none is stored.
class RefBounds {
 public:
  RefBounds() = default;
  RefBounds(std::vector<double> bounds) : size_(bounds.size()), own_(std::move(bounds)) {}
  RefBounds(std::initializer_list<double> bounds) : RefBounds(std::vector<double>(bounds)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool all_zero() const {
    return std::all_of(own_.begin(), own_.end(), [](double bound) { return bound == 0; });
  }
  double operator[](size_t i) const { return own_.empty() ? 0 : own_[i]; }
  double& operator[](size_t i) {
    if (own_.empty()) own_.resize(size_);
    return own_[i];
  }
  void set(size_t i, double bound) {
    if (bound != 0 || !own_.empty()) (*this)[i] = bound;
  }
  void assign(size_t size, double bound) {
    size_ = size;
    own_.assign(bound == 0 ? 0 : size, bound);
  }
  friend bool operator==(const RefBounds& a, const RefBounds& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  // As RefValues::read.
  void read(size_t first, size_t stride, size_t count, double* to, size_t to_stride) const;

 private:
  size_t size_ = 0;
  std::vector<double> own_;  // if empty, all are 0
};

}  // namespace tapml::op
