// What generated programs have covered: HirGen's three criteria ("Fuzzing Deep Learning Compilers
// with HirGen", section 3.1.3).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::fuzz {

// The last one is that of disruptive programs.
enum class Criterion : uint8_t { kDType, kShape, kEdge, kRule };
inline constexpr int kCriteria = 4;

// A covered fact as a number, which depends on names alone: files of coverage stay valid when
// operators are added to the table.
struct CoverageKey {
  Criterion criterion = Criterion::kDType;
  uint64_t hash = 0;
  bool operator==(const CoverageKey&) const = default;
};
CoverageKey dtype_key(std::string_view op, DType dtype);         // of the operator's first output
CoverageKey shape_key(std::string_view op, const Shape& shape);  // of the same
CoverageKey edge_key(std::string_view producer, std::string_view op);
CoverageKey rule_key(std::string_view op, const Shape& shape, DType dtype, std::string_view rule);

// A set of keys.
class Coverage {
 public:
  bool contains(const CoverageKey& key) const { return set(key).contains(key.hash); }
  // Whether the key is new.
  bool add(const CoverageKey& key);
  void merge(const Coverage& other);
  int64_t size(Criterion criterion) const {
    return static_cast<int64_t>(sets_[static_cast<size_t>(criterion)].size());
  }
  int64_t size() const {
    int64_t sum = 0;
    for (int i = 0; i < kCriteria; ++i) sum += size(static_cast<Criterion>(i));
    return sum;
  }

  // One line a key, "shape 0123456789abcdef", sorted. parse() is its inverse: UserError that names
  // `source` and the line.
  std::string text() const;
  static Result<Coverage> parse(std::string_view text, const std::string& source);
  // Hexadecimal hash of text().
  std::string digest() const;

 private:
  const std::unordered_set<uint64_t>& set(const CoverageKey& key) const {
    return sets_[static_cast<size_t>(key.criterion)];
  }
  std::array<std::unordered_set<uint64_t>, kCriteria> sets_;
};

}  // namespace tapml::fuzz
