// Which library routine, if any, implements a kernel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "library/library.h"
#include "library/routine_table.h"
#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::library {

// Attribute of call_dps_library and of patterns: the integers that the routine is given.
inline constexpr const char* kParametersAttr = "parameters";

// What the user gave beside the target.
struct LibraryOptions {
  std::vector<UserLibrary> libraries;
  // Patterns that name a routine: they count before tapml's own.
  Module patterns;
  // Whether the machine that runs the code has the library of this name, one of tapml's own; "auto"
  // asks before it takes one. Unset: it has none.
  std::function<bool(const std::string& name)> is_here;
};

// A call of a routine in a kernel's place.
struct Choice {
  std::string library, routine;
  std::vector<int64_t> parameters;
  std::vector<Operand> inputs, outputs;
};

// The libraries that a target uses. Its option `libs` is "auto" (the default: tapml's own where
// they are here and measured faster, the user's wherever a pattern names them), "off", or names
// joined by '+': those wherever they can.
class Chooser {
 public:
  // UserError for names in `libs` that nobody knows, and for patterns that name no routine that is
  // there or have one that is not known.
  Chooser(const target::Target& target, const LibraryOptions& options);
  ~Chooser();

  // Nothing where generated code is to be used. `spec` and `program` are the kernel's. A kernel
  // that only calls a library must have it: PlatformError (kAbsent) where it is not there.
  // UserError where the module or a pattern of the user names a routine that does not take this.
  std::optional<Choice> choose(const std::string& kernel, const relax::Function& spec,
                               const tir::PrimFunc& program) const;

 private:
  struct Rule;
  std::vector<Rule> rules_;
  std::vector<UserLibrary> user_;
  RoutineTable table_;
  std::function<bool(const std::string& name)> is_here_;
  std::string target_;
  bool off_ = false, calls_routines_ = true;
};

}  // namespace tapml::library
