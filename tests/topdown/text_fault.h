// Faults in the text of tensor programs, and the kernels whose tests find them.
#pragma once

#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "pipeline/compile.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"

namespace tapml::topdown {

// A change to the tensor program of all kernels whose name begins so and whose text has `only`.
struct TextFault {
  const char *name, *kernels, *from, *to;
  const char* model = "mqa_tied";
  const char* only = "";
};

inline std::ostream& operator<<(std::ostream& stream, const TextFault& fault) {
  return stream << fault.name;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Kernels with the fault whose tests in `suite` fail on the cpu; counts those that have it.
inline std::set<std::string> failing(const Suite& suite, const TextFault& fault, int& altered) {
  KernelReference reference(suite);
  Module module = reference.module();
  std::set<std::string> names;
  for (auto& [name, function] : module.functions) {
    const auto program = std::dynamic_pointer_cast<const tir::PrimFunc>(function);
    if (!program || !name.starts_with(fault.kernels)) continue;
    Module alone;
    auto copy = std::make_shared<tir::PrimFunc>(*program);
    copy->facts = {};
    alone.functions.emplace("k", copy);
    const std::string before = text::print(alone);
    const std::string after = replaced(before, fault.from, fault.to);
    if (after == before || before.find(fault.only) == std::string::npos) continue;
    const Module parsed = text::parse(after, "k");
    copy = std::make_shared<tir::PrimFunc>(
        *std::static_pointer_cast<const tir::PrimFunc>(parsed.functions.at("k")));
    copy->facts = program->facts;
    names.insert(copy->facts.spec);
    function = copy;
  }
  pipeline::ImplementOptions options;
  options.cache = &kernel_cache();
  const target::Target target = target::parse_target("cpu");
  auto session = testing::open_session("cpu");
  auto executable = pipeline::implement(module, target, options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  std::set<std::string> failed;
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    const std::string& name = suite.kernels[k].name;
    if (!names.contains(name)) continue;
    const auto verdict = unwrap(replay_kernel(suite, reference, static_cast<int32_t>(k), *runner));
    if (!verdict.passed) failed.insert(name);
  }
  altered = static_cast<int>(names.size());
  return failed;
}

}  // namespace tapml::topdown
