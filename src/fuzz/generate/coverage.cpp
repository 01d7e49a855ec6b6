#include "fuzz/generate/coverage.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kNames[kCriteria] = {"dtype", "shape", "edge", "rule"};

uint64_t mixed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash ^ 0xff) * 0x100000001b3;  // the end of the text
}

constexpr uint64_t kStart = 0xcbf29ce484222325;

}  // namespace

CoverageKey dtype_key(std::string_view op, DType dtype) {
  return {Criterion::kDType, mixed(mixed(kStart, op), dtype_name(dtype))};
}

CoverageKey shape_key(std::string_view op, const Shape& shape) {
  uint64_t hash = mixed(kStart, op);
  for (const int64_t dim : shape) {
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ (static_cast<uint64_t>(dim) >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
  }
  return {Criterion::kShape, hash};
}

CoverageKey edge_key(std::string_view producer, std::string_view op) {
  return {Criterion::kEdge, mixed(mixed(kStart, producer), op)};
}

CoverageKey rule_key(std::string_view op, const Shape& shape, DType dtype, std::string_view rule) {
  const uint64_t hash = shape_key(op, shape).hash;
  return {Criterion::kRule, mixed(mixed(hash, dtype_name(dtype)), rule)};
}

bool Coverage::add(const CoverageKey& key) {
  return sets_[static_cast<size_t>(key.criterion)].insert(key.hash).second;
}

void Coverage::merge(const Coverage& other) {
  for (size_t i = 0; i < sets_.size(); ++i) {
    sets_[i].insert(other.sets_[i].begin(), other.sets_[i].end());
  }
}

std::string Coverage::text() const {
  std::string text;
  for (size_t i = 0; i < sets_.size(); ++i) {
    std::vector<uint64_t> sorted(sets_[i].begin(), sets_[i].end());
    std::sort(sorted.begin(), sorted.end());
    for (const uint64_t hash : sorted) {
      text += std::string(kNames[i]) + " " + hash_hex(hash) + "\n";
    }
  }
  return text;
}

Result<Coverage> Coverage::parse(std::string_view text, const std::string& source) {
  Coverage coverage;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    const size_t blank = line.find(' ');
    const std::string_view name = line.substr(0, blank);
    const auto* known = std::find(std::begin(kNames), std::end(kNames), name);
    uint64_t hash = 0;
    bool valid = known != std::end(kNames) && blank != std::string_view::npos;
    if (valid) {
      const std::string_view digits = line.substr(blank + 1);
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
      valid = digits.size() == 16 && read.ec == std::errc() &&
              read.ptr == digits.data() + digits.size();
    }
    if (!valid) {
      return fail(user_error("this is no coverage of programs",
                             source + ":" + std::to_string(number),
                             "dtype, shape, edge or rule, and 16 hexadecimal digits",
                             std::string(line.substr(0, 60))));
    }
    coverage.add({static_cast<Criterion>(known - std::begin(kNames)), hash});
  }
  return coverage;
}

std::string Coverage::digest() const { return to_hex(sha256(text())).substr(0, 16); }

}  // namespace tapml::fuzz
