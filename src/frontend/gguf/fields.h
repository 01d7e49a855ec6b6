// Typed reading of a GGUF file's metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.h"

namespace tapml::frontend {

// Every method throws a UserError, which names the file and the key, for a value of another kind
// and, if it is required, for a missing one. The file must outlive the reader.
class GgufFields {
 public:
  // `source` names the file in errors.
  GgufFields(const GgufFile& file, std::string source);

  const GgufFile& file() const { return *file_; }
  const std::string& source() const { return source_; }
  // The value of "general.architecture".
  const std::string& architecture() const { return architecture_; }
  // "llama.embedding_length" of ".embedding_length"; other keys are returned unchanged.
  std::string key(std::string_view name) const;

  bool has(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  // Of an array, whose items are all equal, its item.
  std::optional<int64_t> integer(std::string_view name) const;
  int64_t required_integer(std::string_view name) const;
  // Integers included; what was stored in f32 is the double with the same shortest decimal text.
  std::optional<double> number(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  // Empty if there is no such key.
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string_view> texts(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;

  // null if there is no such tensor.
  const GgufTensor* tensor(std::string_view name) const;

  [[noreturn]] void refuse(std::string_view name, const std::string& problem,
                           const std::string& expected, const std::string& found,
                           const std::string& hint = "") const;

 private:
  const GgufValue* find(std::string_view name) const;
  template <class T>
  const T* as(std::string_view name, const char* expected) const;

  const GgufFile* file_;
  std::string source_;
  std::string architecture_;
};

// The double with the shortest decimal text of the f32 that it was widened from: 1e-05, not
// 9.99999974737875e-06. Other doubles are returned unchanged.
double shortest_f32(double value);

}  // namespace tapml::frontend
