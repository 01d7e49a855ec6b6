// Justified exceptions from the reference's bounds.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tapml::topdown {

// |target - reference| <= factor * (bound + 4 E) + absolute for the kernels that `kernel`
// describes.
struct Tolerance {
  std::string kernel;  // a name, its beginning, or a pattern (topdown/suite/kernel_names.h)
  double factor = 1, absolute = 0;
  std::string reason;  // never empty
};

class Tolerances {
 public:
  // Parses a file (docs/cli.md, tolerances). UserError that names `file` and the position for
  // malformed entries and entries without a reason.
  static Tolerances parse(std::string_view text, const std::string& file);
  static Tolerances load(const std::string& file);

  // The first that describes the kernel; null: none.
  const Tolerance* find(const std::string& kernel) const;
  const std::vector<Tolerance>& items() const { return items_; }
  // Tolerances that apply to no kernel, or only to kernels that an earlier one describes.
  std::vector<Tolerance> unused(const std::set<std::string>& kernels) const;
  // A warning for each of these, with suggestions.
  std::vector<std::string> unused_texts(const std::set<std::string>& kernels) const;
  // The same text for the same items.
  std::string text() const;

 private:
  std::vector<Tolerance> items_;
};

}  // namespace tapml::topdown
