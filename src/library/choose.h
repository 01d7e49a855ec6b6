// Decides which library routine, if any, implements a kernel.
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

// Attribute of call_dps_library and of patterns: the integers that the routine gets.
inline constexpr const char* kParametersAttr = "parameters";

// The user's libraries and patterns.
struct LibraryOptions {
  std::vector<UserLibrary> libraries;
  // Patterns that name a routine: they take precedence over tapml's own.
  Module patterns;
  // Whether the machine that runs the code has this library, one of tapml's own; "auto" uses only
  // those. Unset: it has none.
  std::function<bool(const std::string& name)> is_installed;
};

// A call of a routine that replaces a kernel.
struct Choice {
  std::string library, routine;
  std::vector<int64_t> parameters;
  std::vector<Operand> inputs, outputs;
};

// The libraries that a target uses. Its option `libs` is "auto" (the default: tapml's own libraries
// if they are available and measured faster, the user's wherever a pattern names them), "off", or
// names joined by '+': these wherever possible.
class Chooser {
 public:
  // UserError for unknown names in `libs`, and for patterns whose routine is missing or unknown.
  Chooser(const target::Target& target, const LibraryOptions& options);
  ~Chooser();

  // Nothing if generated code is to be used. `spec` and `program` belong to the kernel.
  // PlatformError (kAbsent) if a kernel that only calls a library lacks its routine. UserError if a
  // routine named by the module or a user's pattern does not accept the kernel.
  std::optional<Choice> choose(const std::string& kernel, const relax::Function& spec,
                               const tir::PrimFunc& program) const;

 private:
  struct Rule;
  std::vector<Rule> rules_;
  std::vector<UserLibrary> user_;
  RoutineTable table_;
  std::function<bool(const std::string& name)> is_installed_;
  std::string target_;
  bool off_ = false, calls_routines_ = true;
};

}  // namespace tapml::library
