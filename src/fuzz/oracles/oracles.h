// The checks that a program passes unless the compiler, or the fuzzer, has a defect.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "abi/platforms.h"
#include "fuzz/oracles/compare.h"
#include "fuzz/oracles/problem.h"
#include "fuzz/oracles/variants.h"
#include "fuzz/program.h"
#include "pipeline/compile.h"
#include "runtime/session.h"

namespace tapml::fuzz {

// Opens a session for a target, and adopts its device. PlatformError for an absent platform.
using SessionOpener = std::function<std::unique_ptr<runtime::Session>(target::Target& target)>;

// What runs programs on this computer.
struct Devices {
  // A session of the cpu has the library of language/library_functions.h.
  SessionOpener open;
  std::vector<std::string> libraries;  // tapml's own that the cpu has here
};

struct OracleOptions {
  std::vector<std::string> targets = {kDefaultPlatform};
  Devices devices;
  double native = 0.1;  // the share of programs that are compiled for the targets
  // The share of those that each target but the first gets: drivers of GPUs compile slowly.
  double others = 1;
  double mutants = 0.5;   // the share of programs with a mutant
  int depth = 3;          // mutations of a mutant, at most
  double variants = 0.1;  // the share of programs that are compiled in another way, too
};

struct Checked {
  bool valid = true;     // check_input accepts it, and it runs on the reference evaluator
  bool refused = false;  // a tensor whose shape is unknown, which the compiler refuses by design
  bool finite = true;    // every float of the results
  bool native = false, mutated = false;
  std::string variant;  // that was checked
  // What occurred: parts of the variant, targets that ran the program ("on cpu"), libraries whose
  // routines ran, "cut out by a pattern", "static storages".
  std::set<std::string> features;
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
  // `value`: main's value by the reference evaluator; none: not known.
  Checked check(const Program& program, uint64_t seed,
                const std::optional<interp::Value>& value = std::nullopt);
  // The steps that found `problem`, for that program alone.
  Checked check_again(const Program& program, const Problem& problem);

  // Called with the name of each part before it begins, so that a process that dies can tell where:
  // "program", "variant TEXT", "mutant", "run on cpu".
  std::function<void(const std::string& part)> begins;

 private:
  // The value of a valid program; none otherwise.
  std::optional<interp::Value> expected_value(const Program& program,
                                              const std::optional<interp::Value>& value,
                                              Checked& checked);
  std::optional<Problem> forms(const Program& program, const interp::Value& expected,
                               const std::vector<std::string>& targets, Checked& checked);
  // The operators and loops of kernels, interpreted.
  std::optional<Problem> interpreted(const Module& formed, const Program& program,
                                     const interp::Value& expected, std::string& stage,
                                     Checked& checked);
  std::optional<Problem> in_variant(const Variant& variant, const Program& program,
                                    const interp::Value& expected,
                                    const std::vector<std::string>& targets, Checked& checked);
  std::optional<Problem> on_target(const std::string& text, const Variant& variant,
                                   const Module& formed, const Program& program,
                                   const interp::Value& expected, Checked& checked);
  std::vector<std::string> draw_targets(RandomStream& rng) const;
  struct Device;
  Device& device(const std::string& target);

  OracleOptions options_;
  std::vector<std::shared_ptr<Device>> devices_;
};

// The mutant of a program that check() draws from `seed`; none if no mutation fits.
std::optional<Program> mutant_of(const Program& program, uint64_t seed, int depth,
                                 std::string* text = nullptr);

// The target whose code has the problem; empty: no target is needed.
std::string target_of(const Problem& problem);

// The value of main by the reference evaluator. Throws its errors.
interp::Value evaluated(const Module& module, const std::vector<interp::Value>& arguments,
                        interp::KernelBody body);

// Whether the compiler refuses by design: tensors of unknown shape, and what targets declare.
bool is_designed_refusal(const Error& error);

}  // namespace tapml::fuzz
