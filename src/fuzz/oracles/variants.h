// Other ways to compile a program, with the same results. A sample of the programs takes one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "fuzz/program.h"
#include "pipeline/compile.h"
#include "target/target.h"

namespace tapml::fuzz {

// What differs from the usual way. As a text, its parts are joined by "; ".
struct Variant {
  bool static_shapes = false;          // symbolic variables of main's signature have their values
  std::vector<std::string> without;    // passes that are left out; "all": each that may be
  std::vector<std::string> order;      // "order A,B": these passes run, and nothing is compiled
  std::vector<std::string> libraries;  // "libraries A+B": of the cpu, called wherever possible
  bool routines = false;  // a user's library implements functions (language/library_functions.h)
  // "bounds n+3,m+0": memory is planned for extents up to these, each so much above that of the
  // call.
  std::vector<std::pair<std::string, int64_t>> bounds;
  bool reloaded = false;  // the executable is written and read
  bool memory = false;    // a call must allocate the memory that is predicted
  std::string above;      // "above n": a call must be refused whose n is above its bound

  bool operator==(const Variant&) const = default;
  bool is_usual() const { return *this == Variant{}; }
  // Whether the code for targets is affected, and with it their results.
  bool changes_code() const { return order.empty() && !memory && above.empty(); }
  std::string text() const;  // empty for the usual way
  // Problems of one kind are alike: the text without names that programs choose.
  std::string kind() const;
  // Variants with one difference less.
  std::vector<Variant> simpler() const;
};
// The inverse of Variant::text(). UserError for another text.
Variant parse_variant(const std::string& text);

// What a random variant may use.
struct VariantChoices {
  bool native = false;                 // the program is compiled for targets
  std::vector<std::string> libraries;  // tapml's own that the cpu has here
};
Variant draw_variant(const Program& program, const VariantChoices& choices, RandomStream& rng);

// The module with its kernels formed in the way of the variant. With an order, the module after
// these passes. Throws what passes throw.
Module formed_as(const Variant& variant, const Program& program,
                 const pipeline::Instruments& instruments);
// The target that the variant compiles for, and its options; `extents` of the call.
target::Target target_of(const Variant& variant, const std::string& target);
void set_options(const Variant& variant, const std::map<std::string, int64_t>& extents,
                 pipeline::ImplementOptions& options);

}  // namespace tapml::fuzz
