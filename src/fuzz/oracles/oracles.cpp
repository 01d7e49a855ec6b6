#include "fuzz/oracles/oracles.h"

#include <algorithm>
#include <cstring>

#include "exec/executable_file.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/oracles/null_calls.h"
#include "fuzz/oracles/vm_values.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "pipeline/check_input.h"
#include "runtime/local_virtual_machine.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::fuzz {

namespace {

// Kernels stay loaded as long as their session.
constexpr int kProgramsOfSession = 200;
// No generated loop runs nearly as long.
constexpr int64_t kMostCalls = 100'000;

constexpr const char* kCompile = "compile for ";
constexpr const char* kRun = "run on ";

// Whether the pass `match` made a function of a part that a pattern describes.
bool has_matches(const Module& matched) {
  for (const auto& [name, function] : passes::graph_functions(matched)) {
    if (passes::is_fused(*function)) return true;
  }
  return false;
}

// Notes the pass that runs, or has run last.
class PassNote {
 public:
  // Also notes what passes did.
  void attach(pipeline::Instruments& instruments, std::set<std::string>& features) {
    instruments.poll = [this] { running_ = true; };
    instruments.after = [this, &features](const std::string& pass, const Module& module) {
      last_ = pass;
      running_ = false;
      if (pass == "match" && has_matches(module)) features.insert("cut out by a pattern");
    };
  }
  void clear() {
    last_.clear();
    running_ = false;
  }
  // The pass at fault for an error: the one whose result was checked, or the next one.
  std::string pass() const {
    if (!running_) return last_;
    bool next = last_.empty();
    for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
      if (next && !pass.is_by_name_only()) return pass.name;
      next = next || last_ == pass.name;
    }
    return "";
  }

 private:
  std::string last_;
  bool running_ = false;
};

Problem problem_at(ProblemKind kind, const std::string& stage, const std::string& pass,
                   const std::string& message) {
  Problem problem;
  problem.kind = kind;
  problem.stage = stage;
  problem.pass = pass;
  problem.message = message;
  return problem;
}

Problem error_problem(const Error& error, const std::string& stage, const PassNote& note) {
  Problem problem = problem_at(ProblemKind::kInternal, stage, note.pass(), error.to_string());
  if (error.kind == ErrorKind::kUser) problem.kind = ProblemKind::kRefusal;
  if (error.kind == ErrorKind::kPlatform) {
    problem.kind =
        error.fault == PlatformFault::kOutOfMemory ? ProblemKind::kMemory : ProblemKind::kRefusal;
  }
  if (error.kind == ErrorKind::kInternal &&
      (error.where + error.message).find("after pass") != std::string::npos) {
    problem.kind = ProblemKind::kVerifier;
  }
  return problem;
}

// What is wrong with the module's text; empty: nothing. Passes may share symbolic variables between
// signatures, which get other names: only the text of an input must be the same again.
std::string text_problem(const Module& module, bool is_input) {
  text::SideTensors side;
  const std::string text = text::print(module, &side);
  const Module back = text::parse(text, "printed", {.side = &side});
  std::string difference;
  if (!text::structural_equal(module, back, {.origins = true, .difference = &difference})) {
    return "printed and parsed, the module differs: " + difference;
  }
  if (is_input && text::print(back) != text) return "printed again, the text differs";
  return "";
}

void add_features(const Executable& executable, const Variant& variant,
                  std::set<std::string>& features) {
  for (const Implementation& implementation : executable.implementations) {
    const std::string& provider = implementation.provider;
    if (!provider.starts_with("library:")) continue;
    features.insert(provider.substr(0, provider.find('.')));
  }
  if (!variant.bounds.empty() && !executable.static_storages.empty()) {
    features.insert("static storages");
  }
}

// The ways of the variant, each alone: "without fuse_ops", "libraries", "above".
void add_features(const Variant& variant, std::set<std::string>& features) {
  for (const std::string& pass : variant.without) features.insert("without " + pass);
  Variant rest = variant;
  rest.without.clear();
  if (!rest.libraries.empty()) features.insert("libraries");
  rest.libraries.clear();
  std::string kinds = rest.kind();
  for (size_t begin = 0; begin < kinds.size();) {
    const size_t end = std::min(kinds.find("; ", begin), kinds.size());
    features.insert(kinds.substr(begin, end - begin));
    begin = end + 2;
  }
}

// The executable, written and read.
std::shared_ptr<const Executable> reloaded(const Executable& executable) {
  ExecutableFile file;
  file.executable = executable;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(unwrap(write_executable(file)));
  ExecutableFile read = unwrap(read_executable(*bytes, bytes, "executable"));
  if (unwrap(write_executable(read)) != *bytes) {
    throw_internal("an executable, written and read, is another one");
  }
  return std::make_shared<const Executable>(std::move(read.executable));
}

}  // namespace

struct Oracles::Device {
  std::string text;
  std::unique_ptr<runtime::Session> session;
  int programs = 0;
};

interp::Value evaluated(const Module& module, const std::vector<interp::Value>& arguments,
                        interp::KernelBody body) {
  interp::CallOptions options;
  options.body = body;
  options.packed = packed_functions();
  options.allowed.relaxed_division = true;  // OpenCL and Vulkan document it
  options.max_calls = kMostCalls;
  return interp::call(module, "main", arguments, options);
}

bool is_designed_refusal(const Error& error) {
  auto says = [&](const char* text) { return error.message.find(text) != std::string::npos; };
  if (error.kind == ErrorKind::kUser) {
    return says("has no known shape and dtype") || says("has no known rank and dtype") ||
           says("is not known well enough");
  }
  // GLSL has no functions of f64.
  return error.kind == ErrorKind::kPlatform && error.fault == PlatformFault::kLimit &&
         says(" of f64");
}

Oracles::Device& Oracles::device(const std::string& text) {
  for (const auto& device : devices_) {
    if (device->text != text) continue;
    if (device->programs++ < kProgramsOfSession) return *device;
    std::erase(devices_, device);
    break;
  }
  auto device = std::make_shared<Device>();
  device->text = text;
  target::Target target = target::parse_target(text);
  device->session = options_.devices.open(target);
  devices_.push_back(device);
  return *device;
}

std::optional<Program> mutant_of(const Program& program, uint64_t seed, int depth,
                                 std::string* text) {
  RandomStream rng(seed, "mutant");
  auto mutant = mutate(program.module, static_cast<int>(rng.between(1, depth)), rng);
  if (!mutant) return std::nullopt;
  if (text) *text = mutant->text;
  return Program{std::move(mutant->module), program.arguments};
}

std::string target_of(const Problem& problem) {
  for (const char* before : {kCompile, kRun}) {
    if (problem.stage.starts_with(before)) return problem.stage.substr(std::strlen(before));
  }
  return "";
}

std::vector<std::string> Oracles::draw_targets(RandomStream& rng) const {
  std::vector<std::string> targets;
  for (const std::string& target : options_.targets) {
    if (targets.empty() || rng.chance(options_.others)) targets.push_back(target);
  }
  return targets;
}

Checked Oracles::check(const Program& program, uint64_t seed,
                       const std::optional<interp::Value>& value) {
  RandomStream rng(seed, "oracles");
  const bool native = rng.chance(options_.native);
  const bool mutated = rng.chance(options_.mutants);
  std::vector<std::string> targets;
  if (native) targets = draw_targets(rng);
  Checked checked;
  const std::optional<interp::Value> expected = expected_value(program, value, checked);
  if (!expected) return checked;
  checked.native = native;
  checked.problem = forms(program, *expected, targets, checked);
  if (checked.problem || checked.refused) return checked;
  if (rng.chance(options_.variants)) {
    const Variant variant = draw_variant(program, {native, options_.devices.libraries}, rng);
    checked.variant = variant.text();
    if (!variant.is_usual()) {
      checked.problem = in_variant(variant, program, *expected, targets, checked);
      if (checked.problem) return checked;
    }
  }
  if (!mutated) return checked;

  if (begins) begins("mutant");
  std::string text;
  std::optional<Program> mutant;
  interp::Value same;
  const Status made = guard([&] {
    mutant = mutant_of(program, seed, options_.depth, &text);
    if (!mutant) return;
    pipeline::check_input(mutant->module, "mutant");
    same = evaluated(mutant->module, mutant->arguments, interp::KernelBody::kSpec);
  });
  checked.of_mutant = true;
  if (made && !mutant) return checked;
  checked.mutated = true;
  Tally tally;
  const std::string disagreement =
      made ? difference(*expected, same, tally) : made.error().to_string();
  if (!disagreement.empty()) {
    checked.problem = problem_at(ProblemKind::kMutator, "mutant", "", text + ": " + disagreement);
  } else {
    // Mutants concern what all targets have in common.
    if (targets.size() > 1) targets.resize(1);
    checked.problem = forms(*mutant, *expected, targets, checked);
  }
  return checked;
}

Checked Oracles::check_again(const Program& program, const Problem& problem) {
  Checked checked;
  const std::optional<interp::Value> expected = expected_value(program, std::nullopt, checked);
  if (!expected) return checked;
  std::vector<std::string> targets = {target_of(problem)};
  // A process that ended, or did not answer, may not have told which target it was about.
  if (targets[0].empty()) targets = options_.targets;
  const bool unknown = problem.kind == ProblemKind::kCrash || problem.kind == ProblemKind::kHang;
  if (target_of(problem).empty() && !unknown) targets.clear();
  const Variant variant = parse_variant(problem.variant);
  checked.problem = variant.is_usual() ? forms(program, *expected, targets, checked)
                                       : in_variant(variant, program, *expected, targets, checked);
  return checked;
}

std::optional<interp::Value> Oracles::expected_value(const Program& program,
                                                     const std::optional<interp::Value>& value,
                                                     Checked& checked) {
  if (begins) begins("program");
  interp::Value expected;
  const Status valid = guard([&] {
    pipeline::check_input(program.module, "program");
    expected =
        value ? *value : evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
  });
  if (!valid) {
    checked.valid = false;
    checked.invalid = valid.error().to_string();
    if (valid.error().kind == ErrorKind::kInternal) {
      checked.problem = problem_at(ProblemKind::kInternal, "reference", "", checked.invalid);
    }
    return std::nullopt;
  }
  checked.finite = is_finite(expected);
  return expected;
}

std::optional<Problem> Oracles::forms(const Program& program, const interp::Value& expected,
                                      const std::vector<std::string>& targets, Checked& checked) {
  PassNote note;
  std::string stage = "text";
  Module formed;
  const Result<std::optional<Problem>> done = guard([&]() -> std::optional<Problem> {
    if (std::string text = text_problem(program.module, true); !text.empty()) {
      return problem_at(ProblemKind::kText, stage, "", text);
    }
    stage = "passes";
    pipeline::Instruments instruments;
    instruments.verify = true;
    note.attach(instruments, checked.features);
    formed = pipeline::form_kernels(program.module, instruments);
    note.clear();
    stage = "text after the passes";
    if (std::string text = text_problem(formed, false); !text.empty()) {
      return problem_at(ProblemKind::kText, stage, "", text);
    }
    return interpreted(formed, program, expected, stage, checked);
  });
  if (!done) {
    if (is_designed_refusal(done.error())) {
      checked.refused = true;
      return std::nullopt;
    }
    return error_problem(done.error(), stage, note);
  }
  if (*done) return *done;
  for (const std::string& target : targets) {
    auto problem = on_target(target, {}, formed, program, expected, checked);
    if (problem) return problem;
  }
  return std::nullopt;
}

std::optional<Problem> Oracles::interpreted(const Module& formed, const Program& program,
                                            const interp::Value& expected, std::string& stage,
                                            Checked& checked) {
  for (const auto body : {interp::KernelBody::kSpec, interp::KernelBody::kLoops}) {
    stage = body == interp::KernelBody::kSpec ? "operators" : "loops";
    const interp::Value found = evaluated(formed, program.arguments, body);
    const std::string different = difference(expected, found, checked.tally);
    if (!different.empty()) return problem_at(ProblemKind::kValues, stage, "", different);
  }
  return std::nullopt;
}

std::optional<Problem> Oracles::in_variant(const Variant& variant, const Program& program,
                                           const interp::Value& expected,
                                           const std::vector<std::string>& targets,
                                           Checked& checked) {
  if (begins) begins("variant " + variant.text());
  PassNote note;
  std::string stage = "passes";
  Result<std::optional<Problem>> done = guard([&]() -> std::optional<Problem> {
    pipeline::Instruments instruments;
    instruments.verify = true;
    note.attach(instruments, checked.features);
    const Module formed = formed_as(variant, program, instruments);
    note.clear();
    // The interpreter knows no routines.
    if (!variant.routines) {
      if (auto problem = interpreted(formed, program, expected, stage, checked)) return problem;
    }
    const auto on_null = [&](const char* what, auto&& check) -> std::optional<Problem> {
      stage = what;
      if (!options_.devices.open) return std::nullopt;
      target::Target target = null_target();
      const std::string different = check(options_.devices.open(target));
      if (different.empty()) return std::nullopt;
      return problem_at(ProblemKind::kValues, stage, "plan_memory", different);
    };
    if (variant.memory && !variant.routines) {
      auto problem = on_null("peak", [&](std::unique_ptr<runtime::Session> session) {
        return memory_difference(formed, program, std::move(session));
      });
      if (problem) return problem;
    }
    if (!variant.above.empty() && !variant.routines) {
      auto problem = on_null("bound", [&](std::unique_ptr<runtime::Session> session) {
        return bound_difference(formed, program, variant.above, *session);
      });
      if (problem) return problem;
    }
    // After some of the passes there may be no kernels.
    if (!variant.order.empty()) return std::nullopt;
    for (const std::string& target : targets) {
      if (variant.routines && !target_of(variant, target).description.library_routines) continue;
      auto problem = on_target(target, variant, formed, program, expected, checked);
      if (problem) return problem;
    }
    return std::nullopt;
  });
  std::optional<Problem> problem;
  if (done) {
    problem = *done;
  } else if (!is_designed_refusal(done.error())) {
    problem = error_problem(done.error(), stage, note);
  }
  if (problem) problem->variant = variant.text();
  add_features(variant, checked.features);
  return problem;
}

std::optional<Problem> Oracles::on_target(const std::string& text, const Variant& variant,
                                          const Module& formed, const Program& program,
                                          const interp::Value& expected, Checked& checked) {
  if (begins) begins(kRun + text);
  PassNote note;
  std::string stage = kCompile + text;
  const Result<std::optional<Problem>> done = guard([&]() -> std::optional<Problem> {
    Device& on = device(text);
    target::Target target = target_of(variant, text);
    target::adopt_device(target, on.session->info());
    pipeline::ImplementOptions options;
    options.threads = 1;
    options.instruments.verify = true;
    note.attach(options.instruments, checked.features);
    set_options(variant, extents_of(program.module, program.arguments), options);
    auto executable = pipeline::implement(formed, target, options);
    note.clear();
    add_features(*executable, variant, checked.features);
    if (variant.reloaded) executable = reloaded(*executable);
    stage = kRun + text;
    const auto vm = unwrap(runtime::LocalVirtualMachine::create(
        *on.session, executable, machine_functions(*executable, packed_functions())));
    // A second run finds what the first one left behind.
    for (int run = 0; run < 2; ++run) {
      std::vector<runtime::Value> args;
      for (const interp::Value& argument : program.arguments) {
        args.push_back(to_machine(*on.session, *executable, argument));
      }
      const interp::Value found = from_machine(unwrap(vm->call("main", args)));
      const std::string different = difference(expected, found, checked.tally);
      if (!different.empty()) {
        return problem_at(ProblemKind::kValues, stage, "",
                          (run == 0 ? "" : "in a second run: ") + different);
      }
    }
    checked.features.insert("on " + text);
    return std::nullopt;
  });
  if (done) return *done;
  if (is_designed_refusal(done.error())) return std::nullopt;
  return error_problem(done.error(), stage, note);
}

}  // namespace tapml::fuzz
