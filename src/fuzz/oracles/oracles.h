// The checks that a program passes unless the compiler, or the fuzzer, has a defect.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/platforms.h"
#include "fuzz/oracles/compare.h"
#include "fuzz/oracles/problem.h"
#include "fuzz/program.h"
#include "pipeline/compile.h"
#include "runtime/session.h"

namespace tapml::fuzz {

// Opens a session for a target, and adopts its device. PlatformError for an absent platform.
using SessionOpener = std::function<std::unique_ptr<runtime::Session>(target::Target& target)>;

struct OracleOptions {
  std::vector<std::string> targets = {kDefaultPlatform};
  SessionOpener open;
  double native = 0.1;    // the share of programs that are compiled for the targets
  double mutants = 0.5;   // the share of programs with a mutant
  int depth = 3;          // mutations of a mutant, at most
  double variants = 0.1;  // the share of programs that are compiled in another way, too
};

struct Checked {
  bool valid = true;     // check_input accepts it, and it runs on the reference evaluator
  bool refused = false;  // a tensor whose shape is unknown, which the compiler refuses by design
  bool finite = true;    // every float of the results
  bool native = false, mutated = false;
  std::string variant;  // that was checked (variants.h)
  Tally tally;
  std::string invalid;  // the error of a program that is not valid
  std::optional<Problem> problem;
  bool of_mutant = false;  // the problem is the mutant's
};

// One or several programs, one after the other; sessions stay open between them. For one thread.
class Oracles {
 public:
  explicit Oracles(OracleOptions options) : options_(std::move(options)) {}

  // Draws what is checked besides the common steps from `seed`. The checks, in order: the verifier
  // and the annotation check on the input; the text; the reference evaluator; the passes that form
  // kernels, with both checks after each; the text again; the operators and the loops of the
  // kernels, interpreted; code for the targets, run twice; a variant; a mutant by the same steps.
  Checked check(const Program& program, uint64_t seed);
  // The same steps for the program alone, with code for the targets if `native`, and with a variant
  // if one is given.
  Checked check_alone(const Program& program, bool native, const std::string& variant = "");

  // Called with the name of each part before it begins, so that a process that dies can tell where:
  // "program", "mutant", "run on cpu".
  std::function<void(const std::string& part)> begins;

 private:
  Checked run(const Program& program, bool native, interp::Value& expected);
  std::optional<Problem> forms(const Program& program, const interp::Value& expected, bool native,
                               Checked& checked);
  // The operators and loops of kernels, interpreted.
  std::optional<Problem> interpreted(const Module& formed, const Program& program,
                                     const interp::Value& expected, std::string& stage,
                                     Checked& checked);
  std::optional<Problem> in_variant(const std::string& variant, const Program& program,
                                    const interp::Value& expected, bool native, Checked& checked);
  std::optional<Problem> on_target(const std::string& text, const Module& formed,
                                   const Program& program, const interp::Value& expected,
                                   Checked& checked);
  struct Device;
  Device& device(const std::string& target);

  OracleOptions options_;
  std::vector<std::shared_ptr<Device>> devices_;
};

// The mutant of a program that check() draws from `seed`; none if no mutation fits.
std::optional<Program> mutant_of(const Program& program, uint64_t seed, int depth,
                                 std::string* text = nullptr);

// Whether a problem needs code for a target.
bool is_native(const Problem& problem);

// The value of main by the reference evaluator. Throws its errors.
interp::Value evaluated(const Module& module, const std::vector<interp::Value>& arguments,
                        interp::KernelBody body);

// Whether the compiler refuses by design: tensors of unknown shape, and what targets declare.
bool is_designed_refusal(const Error& error);

}  // namespace tapml::fuzz
