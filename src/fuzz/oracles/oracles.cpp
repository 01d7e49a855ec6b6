#include "fuzz/oracles/oracles.h"

#include "codegen/code_generators.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/oracles/variants.h"
#include "fuzz/oracles/vm_values.h"
#include "ir/exceptions.h"
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

// Notes the pass that runs, or has run last.
class PassNote {
 public:
  void attach(pipeline::Instruments& instruments) {
    instruments.poll = [this] { running_ = true; };
    instruments.after = [this](const std::string& pass, const Module&) {
      last_ = pass;
      running_ = false;
    };
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

}  // namespace

struct Oracles::Device {
  std::string text;
  target::Target target;
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
  device->target = target::parse_target(text);
  device->session = options_.open(device->target);
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

bool is_native(const Problem& problem) {
  const auto has = [&](const char* text) { return problem.stage.find(text) != std::string::npos; };
  return has("compile for ") || has("run on ");
}

Checked Oracles::check(const Program& program, uint64_t seed) {
  RandomStream rng(seed, "oracles");
  const bool native = rng.chance(options_.native);
  const bool mutated = rng.chance(options_.mutants);
  interp::Value expected;
  Checked checked = run(program, native, expected);
  if (!checked.valid || checked.problem || checked.refused) return checked;
  if (rng.chance(options_.variants)) {
    checked.variant = draw_variant(program, rng);
    if (!checked.variant.empty()) {
      checked.problem = in_variant(checked.variant, program, expected, native, checked);
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
      made ? difference(expected, same, tally) : made.error().to_string();
  if (!disagreement.empty()) {
    checked.problem = problem_at(ProblemKind::kMutator, "mutant", "", text + ": " + disagreement);
  } else {
    checked.problem = forms(*mutant, expected, native, checked);
  }
  return checked;
}

Checked Oracles::check_alone(const Program& program, bool native, const std::string& variant) {
  interp::Value expected;
  Checked checked = run(program, native && variant.empty(), expected);
  if (variant.empty() || !checked.valid || checked.problem || checked.refused) return checked;
  checked.problem = in_variant(variant, program, expected, native, checked);
  return checked;
}

Checked Oracles::run(const Program& program, bool native, interp::Value& expected) {
  if (begins) begins("program");
  Checked checked;
  const Status valid = guard([&] {
    pipeline::check_input(program.module, "program");
    expected = evaluated(program.module, program.arguments, interp::KernelBody::kSpec);
  });
  if (!valid) {
    checked.valid = false;
    checked.invalid = valid.error().to_string();
    if (valid.error().kind == ErrorKind::kInternal) {
      checked.problem = problem_at(ProblemKind::kInternal, "reference", "", checked.invalid);
    }
    return checked;
  }
  checked.finite = is_finite(expected);
  checked.native = native;
  checked.problem = forms(program, expected, native, checked);
  return checked;
}

std::optional<Problem> Oracles::forms(const Program& program, const interp::Value& expected,
                                      bool native, Checked& checked) {
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
    note.attach(instruments);
    formed = pipeline::form_kernels(program.module, instruments);
    note = {};
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
  if (*done || !native) return *done;
  for (const std::string& target : options_.targets) {
    auto problem = on_target(target, formed, program, expected, checked);
    if (problem) return problem;
  }
  return std::nullopt;
}

std::optional<Problem> Oracles::interpreted(const Module& formed, const Program& program,
                                            const interp::Value& expected, std::string& stage,
                                            Checked& checked) {
  const std::string before = stage.ends_with(": ") ? stage : "";
  for (const auto body : {interp::KernelBody::kSpec, interp::KernelBody::kLoops}) {
    stage = before + (body == interp::KernelBody::kSpec ? "operators" : "loops");
    const interp::Value found = evaluated(formed, program.arguments, body);
    const std::string different = difference(expected, found, checked.tally);
    if (!different.empty()) return problem_at(ProblemKind::kValues, stage, "", different);
  }
  return std::nullopt;
}

std::optional<Problem> Oracles::in_variant(const std::string& variant, const Program& program,
                                           const interp::Value& expected, bool native,
                                           Checked& checked) {
  if (begins) begins("variant");
  PassNote note;
  const std::string before = variant_kind(variant) + ": ";
  std::string stage = before + "passes";
  Result<std::optional<Problem>> done = guard([&]() -> std::optional<Problem> {
    pipeline::Instruments instruments;
    instruments.verify = true;
    note.attach(instruments);
    const bool memory = variant == kMemoryVariant;
    const Module formed = formed_as(memory ? "" : variant, program, instruments);
    note = {};
    stage = before;
    if (memory) {
      stage += "peak";
      if (!options_.open) return std::nullopt;
      target::Target counting = counting_target();
      const std::string different =
          memory_difference(formed, program, std::shared_ptr(options_.open(counting)));
      if (different.empty()) return std::nullopt;
      return problem_at(ProblemKind::kValues, stage, "plan_memory", different);
    }
    if (auto problem = interpreted(formed, program, expected, stage, checked)) return problem;
    // After some of the passes there may be no kernels.
    if (!native || variant_kind(variant) != variant) return std::nullopt;
    for (const std::string& target : options_.targets) {
      if (auto problem = on_target(target, formed, program, expected, checked)) {
        problem->stage = before + problem->stage;
        return problem;
      }
    }
    return std::nullopt;
  });
  std::optional<Problem> problem;
  if (done) {
    problem = *done;
  } else if (!is_designed_refusal(done.error())) {
    problem = error_problem(done.error(), stage, note);
  }
  if (problem) problem->variant = variant;
  return problem;
}

std::optional<Problem> Oracles::on_target(const std::string& text, const Module& formed,
                                          const Program& program, const interp::Value& expected,
                                          Checked& checked) {
  if (begins) begins("run on " + text);
  PassNote note;
  std::string stage = "compile for " + text;
  const Result<std::optional<Problem>> done = guard([&]() -> std::optional<Problem> {
    Device& on = device(text);
    pipeline::ImplementOptions options;
    options.threads = 1;
    options.instruments.verify = true;
    note.attach(options.instruments);
    const auto executable = pipeline::implement(formed, on.target, options);
    note = {};
    stage = "run on " + text;
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
    return std::nullopt;
  });
  if (done) return *done;
  if (is_designed_refusal(done.error())) return std::nullopt;
  return error_problem(done.error(), stage, note);
}

}  // namespace tapml::fuzz
