// Modules that are verified before and after passes.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "passes/dead_code.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {

using Pass = Module (*)(const Module&);

inline Module checked(Module module) {
  analysis::verify(module);
  build::check_annotations(module);
  return module;
}

// Runs `source` through `passes`, verified before and after each.
inline Module through(std::initializer_list<Pass> passes, const std::string& source) {
  Module module = checked(text::parse(source, "test"));
  for (Pass pass : passes) module = checked(pass(module));
  return module;
}

// `pass` turns `before` into `after`.
inline void expect_becomes(Pass pass, const std::string& before, const std::string& after) {
  EXPECT_EQ(text::print(through({pass}, before)), text::print(text::parse(after, "after")));
}

// `pass` changes nothing.
inline void expect_stays(Pass pass, const std::string& program) {
  expect_becomes(pass, program, program);
}

// The text of main equals `expected`; other functions are ignored.
inline void expect_main_is(const Module& module, const std::string& expected) {
  Module alone;
  alone.functions["main"] = module.functions.at("main");
  EXPECT_EQ(text::print(alone), text::print(text::parse(expected, "expected")));
}

// The kernels that fusion makes of operators, without other passes.
inline Module fused(const std::string& source) {
  return through({legalize, annotate_patterns, fuse_ops, fuse_tensor_ir, eliminate_dead_code},
                 source);
}

// The operators of every kernel that main calls, in call order.
inline std::vector<std::string> kernels_of(const Module& module) {
  std::vector<std::string> result;
  relax::visit_bindings(
      relax::as_relax_function(module.find("main"))->body,
      [&](const relax::Binding& binding, bool) {
        if (!relax::is_call_tir(binding.value)) return;
        const auto& call = *relax::as<relax::CallNode>(binding.value);
        result.push_back(operators_of(kernel_spec(module, relax::call_tir_callee(call))));
      });
  return result;
}

}  // namespace tapml::passes
