// What an oracle reports about a program.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/json.h"

namespace tapml::fuzz {

enum class ProblemKind : uint8_t {
  kCrash,       // a process of the compiler or of compiled code ended by a signal
  kHang,        // the time limit passed
  kMemory,      // the memory limit was reached
  kInternal,    // the compiler reports a defect of its own
  kRefusal,     // a form of the program is refused although the original runs
  kVerifier,    // a pass leaves a module that the verifier or the annotation check rejects
  kText,        // printed and parsed, the module is another one
  kValues,      // results differ by more than their bounds
  kAccepted,    // a program that breaks a rule passes the checks
  kDiagnostic,  // it is refused, but not with the expected diagnostic
  kMutator,     // a mutant computes other values on the reference evaluator: the fuzzer's own bug
};
inline constexpr int kProblemKinds = 11;
const char* problem_kind_name(ProblemKind kind);  // "crash", "hang", ...
std::optional<ProblemKind> problem_kind_of(std::string_view name);
// Whether the message is the compiler's own, which tells one cause from another.
bool has_telling_message(ProblemKind kind);

struct Problem {
  ProblemKind kind = ProblemKind::kInternal;
  std::string stage;  // what was done: "passes", "loops", "run on cpu"
  std::string pass;   // the pass that ran, or the guilty one, where known
  std::string message;
  std::string variant;  // in which other way the program was compiled (variants.h); empty: as usual

  // What problems of one cause likely have in common: kind, stage, pass, the message without names
  // and numbers or, for wrong values, how they differ (difference_kind()), and the kind of the
  // variant.
  std::string signature() const;
  bool same_as(const Problem& other) const { return signature() == other.signature(); }

  Json json() const;
  static Problem from_json(const Json& json);  // absent fields stay empty
};

}  // namespace tapml::fuzz
