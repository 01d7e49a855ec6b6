// Every case of the language in the interpreter, before and after the compiler inserted its checks.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "build/insert_checks.h"
#include "build/walk.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "support/expect_error.h"
#include "support/language_case.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml {
namespace {

using testing::LanguageCall;
using testing::LanguageCase;

class Language : public ::testing::TestWithParam<LanguageCase> {};

class Deduced : public build::DeductionVisitor {
 public:
  void binding(const relax::Binding& binding, bool, const relax::Annotation& deduced) override {
    found[binding.var->name] = to_string(deduced);
  }
  bool refused(const relax::Binding&, const Error& error) override { throw_error(error); }
  void result(const relax::Function&, const relax::Binding*, const relax::Annotation&) override {}
  std::map<std::string, std::string> found;
};

Module checked(const LanguageCase& test) {
  Module module = text::parse(test.source, "case");
  pipeline::check_input(module, "case");
  return module;
}

void run(const Module& module, const LanguageCase& test) {
  for (const LanguageCall& call : test.calls) {
    SCOPED_TRACE(call.text);
    interp::CallOptions options;
    options.packed = testing::language_functions();
    options.max_tail_calls = 10'000;
    Result<interp::Value> result =
        guard([&] { return interp::call(module, call.function, call.args, options); });
    if (call.gives) {
      if (!result) {
        ADD_FAILURE() << result.error().to_string();
      } else {
        EXPECT_EQ(testing::difference(call.result, *result), "");
      }
    } else if (result) {
      ADD_FAILURE() << "no error";
    } else {
      EXPECT_EQ(result.error().kind, ErrorKind::kUser);
      testing::expect_parts(result.error(), call.fails);
    }
  }
}

TEST_P(Language, RunsInTheInterpreter) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) {
    testing::expect_user_error([&] { checked(test); }, test.refused);
    return;
  }
  Module module = checked(test);
  run(module, test);
}

TEST_P(Language, RunsWithChecksInserted) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) return;
  Module module = build::insert_checks(checked(test));
  analysis::verify(module, "insert_checks");
  build::check_annotations(module, "insert_checks");
  run(module, test);
}

TEST_P(Language, IsDeduced) {
  const LanguageCase& test = GetParam();
  if (test.annotations.empty()) return;
  Module module = checked(test);
  Deduced deduced;
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (graph) build::walk_deduction(*graph, module, deduced);
  }
  for (const auto& [binding, annotation] : test.annotations) {
    EXPECT_EQ(deduced.found[binding], annotation) << binding;
  }
}

TEST_P(Language, PrintsAndParses) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) return;
  Module module = checked(test);
  std::string text = text::print(module);
  Module again = text::parse(text, "printed");
  EXPECT_TRUE(text::structural_equal(module, again)) << text;
  EXPECT_EQ(text::structural_hash(module), text::structural_hash(again)) << text;
  EXPECT_EQ(text::print(again), text);
}

std::string name_of(const ::testing::TestParamInfo<LanguageCase>& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(c) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Language, ::testing::ValuesIn(testing::load_language_cases()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Storage, Language, ::testing::ValuesIn(testing::load_storage_cases()),
                         name_of);

}  // namespace
}  // namespace tapml
