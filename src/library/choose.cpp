#include "library/choose.h"

#include <algorithm>

#include "base/strings.h"
#include "build/pattern.h"
#include "ir/exceptions.h"
#include "relax/visit.h"

namespace tapml::library {

using namespace relax;  // NOLINT: this file is about relax and libraries

// A pattern to try; rules are tried in order.
struct Chooser::Rule {
  std::string library, routine;
  FunctionRef pattern;
  const Pattern* known = nullptr;   // for tapml's own patterns
  std::vector<int64_t> parameters;  // for the user's patterns
  bool if_faster = false;
  std::string name;  // of the user's pattern
};

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> enabled_names(const target::Target& target,
                                       const std::vector<UserLibrary>& user) {
  auto option = target.options.find("libs");
  if (option == target.options.end() || option->second == "auto" || option->second == "off") {
    return {};
  }
  std::vector<std::string> known = {"off", "auto"};
  for (const Library& library : libraries()) known.emplace_back(library.name);
  for (const UserLibrary& library : user) known.push_back(library.name);
  std::vector<std::string> names = split(option->second, '+');
  for (const std::string& name : names) {
    bool good = std::find(known.begin() + 2, known.end(), name) != known.end();
    if (good) continue;
    throw_user("bad value of option \"libs\"", "target \"" + target.text + "\"",
               "one of " + join(known) + ", or names joined by '+'", name,
               "--library FILE adds one");
  }
  return names;
}

// The tensor parameters of the spec, numbered, by variable.
std::map<const VarNode*, size_t> tensor_params(const Function& spec) {
  std::map<const VarNode*, size_t> numbers;
  for (const Variable& param : spec.params) {
    if (as_tensor(param->annotation)) numbers.emplace(param.get(), numbers.size());
  }
  return numbers;
}

// The positions of the program's inputs and outputs in its signature. Kernels that update an
// argument are left to generated code.
bool signature(const tir::PrimFunc& program, std::vector<Operand>& inputs,
               std::vector<Operand>& outputs) {
  for (size_t i = 0; i < program.params.size(); ++i) {
    const tir::Param& param = program.params[i];
    Operand operand{static_cast<int32_t>(i), param.buffer->dtype, param.buffer->shape};
    if (param.mode == AccessMode::kIn) {
      inputs.push_back(std::move(operand));
    } else if (param.mode == AccessMode::kOut) {
      outputs.push_back(std::move(operand));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

Chooser::~Chooser() = default;

Chooser::Chooser(const target::Target& target, const LibraryOptions& options)
    : user_(options.libraries), table_(options.libraries), target_(target.text) {
  // It is unknown which libraries a remote device has.
  if (target.endpoint.empty()) is_installed_ = options.is_installed;
  calls_routines_ = target.description.library_routines;
  const std::vector<std::string> enabled = enabled_names(target, user_);
  auto option = target.options.find("libs");
  off_ = option != target.options.end() && option->second == "off";
  auto is_enabled = [&](const std::string& name) {
    return enabled.empty() || std::find(enabled.begin(), enabled.end(), name) != enabled.end();
  };
  for (const auto& [name, function] : options.patterns.functions) {
    const Function* pattern = as_relax_function(function.get());
    if (!pattern || pattern->facts.library.empty()) continue;
    const std::string& routine = pattern->facts.library;
    build::check_pattern(*pattern, name);
    const KnownRoutine* known = table_.find(routine);
    if (!known) {
      throw_user("pattern @" + name + " names a routine that no library has", "pattern @" + name,
                 "one of " + table_.names(), routine, "--library FILE adds a library");
    }
    if (!is_enabled(known->library)) continue;
    rules_.push_back({known->library, known->routine,
                      std::static_pointer_cast<const Function>(function), nullptr,
                      pattern->facts.parameters, false, name});
  }
  for (const Library& library : libraries()) {
    if (!is_enabled(library.name)) continue;
    for (const Pattern& pattern : library.patterns) {
      if (enabled.empty() && (pattern.faster == never || !is_installed_)) continue;
      rules_.push_back(
          {library.name, pattern.routine, pattern.pattern(), &pattern, {}, enabled.empty(), ""});
    }
  }
}

std::optional<Choice> Chooser::choose(const std::string& kernel, const Function& spec,
                                      const tir::PrimFunc& program) const {
  std::vector<Operand> inputs, outputs;
  if (!signature(program, inputs, outputs)) return {};
  const auto& blocks = body_of(spec).blocks;
  if (blocks.size() != 1 || blocks[0].bindings.empty()) return {};
  const Block& block = blocks[0];
  if (called_operator(block.bindings[0].value) == "call_dps_library") {
    const auto& call = *as<CallNode>(block.bindings[0].value);
    const std::string& name = as<ExternFuncNode>(call.args[0])->name;
    const KnownRoutine* known = table_.find(name);
    if (!calls_routines_ || !known) {
      throw_platform(PlatformFault::kAbsent,
                     calls_routines_ ? "no library has the routine " + name
                                     : "library routines run only on cpu",
                     "kernel " + kernel + " on " + target_,
                     calls_routines_ ? "--library FILE adds a library" : "");
    }
    const auto parameters = attr_or<std::vector<int64_t>>(call.attrs, kParametersAttr, {});
    if (auto fault = find_fault(known->signature, inputs, outputs, parameters)) {
      refuse_call(*known, *fault, "kernel " + kernel);
    }
    return Choice{known->library, known->routine, parameters, std::move(inputs),
                  std::move(outputs)};
  }
  if (off_ || !calls_routines_ || outputs.size() != 1 || rules_.empty()) return {};
  const auto numbers = tensor_params(spec);
  const auto uses = use_counts(spec.body);
  build::PatternMatcher matcher(block, uses);
  for (const Rule& rule : rules_) {
    if (body_of(*rule.pattern).blocks[0].bindings.size() != block.bindings.size()) continue;
    auto match = matcher.match(*rule.pattern, block.bindings.size() - 1);
    if (!match || match->members.size() != block.bindings.size()) continue;
    Matched matched;
    matched.output = outputs[0];
    for (size_t member : match->members) {
      matched.calls.push_back(as<CallNode>(block.bindings[member].value));
    }
    bool good = true;
    for (const Expr& argument : match->arguments) {
      if (!argument) continue;  // a condition
      const auto* var = as<VarNode>(argument);
      auto number = var ? numbers.find(var) : numbers.end();
      good = number != numbers.end() && number->second < inputs.size();
      if (!good) break;
      matched.inputs.push_back(inputs[number->second]);
    }
    if (!good) continue;
    std::vector<int64_t> parameters = rule.parameters;
    if (rule.known) {
      auto given = rule.known->parameters(matched);
      if (!given) continue;
      if (rule.if_faster && !(rule.known->faster(matched) && is_installed_(rule.library))) continue;
      parameters = std::move(*given);
    } else if (parameters.empty()) {
      // For tapml's own routine, a user's pattern gets the parameters of tapml's pattern.
      for (const Library& library : libraries()) {
        if (rule.library != library.name) continue;
        for (const Pattern& pattern : library.patterns) {
          if (rule.routine != pattern.routine) continue;
          auto again = matcher.match(*pattern.pattern(), block.bindings.size() - 1);
          if (!again || again->members.size() != block.bindings.size()) continue;
          auto given = pattern.parameters(matched);
          if (given) parameters = std::move(*given);
          good = given.has_value();
        }
      }
      if (!good) continue;
    }
    const KnownRoutine& routine = table_.get(rule.library, rule.routine);
    if (auto fault = find_fault(routine.signature, matched.inputs, {matched.output}, parameters)) {
      if (rule.known) continue;
      refuse_call(routine, *fault, "pattern @" + rule.name + ", kernel " + kernel);
    }
    return Choice{rule.library,
                  rule.routine,
                  std::move(parameters),
                  std::move(matched.inputs),
                  {matched.output}};
  }
  return {};
}

}  // namespace tapml::library
