// Exceptions from the reference's bounds that somebody has reasons for.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tapml::topdown {

// |target - judge| <= factor * (bound + 4 E) + absolute for the kernels that `kernel` describes.
struct Tolerance {
  std::string kernel;  // a name, how names begin, or a pattern (topdown/suite/kernel_names.h)
  double factor = 1, absolute = 0;
  std::string reason;  // never empty
};

class Tolerances {
 public:
  // The text of a file (docs/cli.md, tolerances). UserError that names `file` and the place for
  // what is malformed and for what has no reason.
  static Tolerances parse(std::string_view text, const std::string& file);
  static Tolerances load(const std::string& file);

  // The first that describes the kernel; null: none does.
  const Tolerance* find(const std::string& kernel) const;
  const std::vector<Tolerance>& items() const { return items_; }
  // What applies to none of the kernels, or only to those that an earlier one describes.
  std::vector<Tolerance> unused(const std::set<std::string>& kernels) const;
  // A warning for each of these, which names what may be meant.
  std::vector<std::string> unused_texts(const std::set<std::string>& kernels) const;
  // The same for the same items.
  std::string text() const;

 private:
  std::vector<Tolerance> items_;
};

}  // namespace tapml::topdown
