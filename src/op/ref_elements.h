// The elements of the reference's tensors. A reference may need only a small part of large weights,
// so given, computed or zero elements take no memory until they are changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::op {

// Elements that are computed when they are read: those of large weights in a form that no
// implementation stores, such as dequantized ones.
class ComputedElements {
 public:
  virtual ~ComputedElements() = default;
  // As RefValues::read.
  virtual void read(size_t first, size_t stride, size_t count, double* to,
                    size_t to_stride) const = 0;
};
using ComputedElementsRef = std::shared_ptr<const ComputedElements>;

// Values in f64. Zeros, computed elements and those of a given tensor of f32, f16, bf16 or bytes
// are not stored until one is changed: weights would take up to eight times their memory.
class RefValues {
 public:
  RefValues() = default;
  RefValues(std::vector<double> values) : size_(values.size()), own_(std::move(values)) {}
  RefValues(std::initializer_list<double> values) : RefValues(std::vector<double>(values)) {}
  explicit RefValues(const HostTensor& tensor);  // widened
  RefValues(ComputedElementsRef computed, size_t size)
      : size_(size), computed_(std::move(computed)) {}

  size_t size() const { return size_; }
  bool empty() const { return size() == 0; }
  double operator[](size_t i) const {
    if (!own_.empty()) return own_[i];
    return given_ && dtype_ == DType::kF32 ? static_cast<const float*>(given_)[i] : unstored(i);
  }
  double& operator[](size_t i) {
    allocate();
    return own_[i];
  }
  void assign(size_t size, double value);
  // Stores all elements, so that threads may change different ones.
  void allocate() {
    if (own_.empty() && size_ > 0) store();
  }
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
  void store();
  double unstored(size_t i) const;

  size_t size_ = 0;
  std::vector<double> own_;      // if empty, the elements are given, computed or all 0
  const void* given_ = nullptr;  // data of owner_
  DType dtype_ = DType::kF32;    // of it
  HostTensor owner_;
  ComputedElementsRef computed_;
};

// Bounds, each at least 0. If all are 0, or if they are computed, none is stored until one is
// changed.
class RefBounds {
 public:
  RefBounds() = default;
  RefBounds(std::vector<double> bounds) : size_(bounds.size()), own_(std::move(bounds)) {}
  RefBounds(std::initializer_list<double> bounds) : RefBounds(std::vector<double>(bounds)) {}
  RefBounds(ComputedElementsRef computed, size_t size)
      : size_(size), computed_(std::move(computed)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool is_computed() const { return computed_ != nullptr; }
  // Whether all are known to be 0; computed ones are not.
  bool all_zero() const {
    return !computed_ &&
           std::all_of(own_.begin(), own_.end(), [](double bound) { return bound == 0; });
  }
  double operator[](size_t i) const {
    if (!own_.empty()) return own_[i];
    return computed_ ? computed(i) : 0;
  }
  double& operator[](size_t i) {
    allocate();
    return own_[i];
  }
  void set(size_t i, double bound) {
    if (bound != 0 || !own_.empty() || computed_) (*this)[i] = bound;
  }
  void assign(size_t size, double bound) {
    size_ = size;
    own_.assign(bound == 0 ? 0 : size, bound);
    computed_ = nullptr;
  }
  // Stores all bounds, so that threads may change different ones.
  void allocate() {
    if (own_.empty() && size_ > 0) store();
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
  void store();
  double computed(size_t i) const;

  size_t size_ = 0;
  std::vector<double> own_;  // if empty, all are computed or 0
  ComputedElementsRef computed_;
};

}  // namespace tapml::op
