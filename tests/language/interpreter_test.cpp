// Every case of the language in the interpreter, before and after the compiler inserts its checks.
#include <gtest/gtest.h>

#include "analysis/pattern_kind.h"
#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "build/insert_checks.h"
#include "build/walk.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/lambda_lift.h"
#include "passes/legalize.h"
#include "passes/lower_storage.h"
#include "passes/name_shapes.h"
#include "pipeline/check_input.h"
#include "support/expect_error.h"
#include "support/language_calls.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml {
namespace {

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

Module checked_case(const LanguageCase& test) {
  Module module = text::parse(test.source, "case");
  pipeline::check_input(module, "case");
  return module;
}

TEST_P(Language, RunsInTheInterpreter) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) {
    testing::expect_user_error([&] { checked_case(test); }, test.refused);
    return;
  }
  Module module = checked_case(test);
  testing::expect_calls(module, test);
}

TEST_P(Language, RunsWithChecksInserted) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) return;
  Module module = build::insert_checks(checked_case(test));
  analysis::verify(module, "insert_checks");
  build::check_annotations(module, "insert_checks");
  testing::expect_calls(module, test);
}

TEST_P(Language, IsDeduced) {
  const LanguageCase& test = GetParam();
  if (test.annotations.empty()) return;
  Module module = checked_case(test);
  Deduced deduced;
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (graph) build::walk_deduction(*graph, module, deduced);
  }
  for (const auto& [binding, annotation] : test.annotations) {
    EXPECT_EQ(deduced.found[binding], annotation) << binding;
  }
}

TEST_P(Language, KernelsAreOfTheirKinds) {
  const LanguageCase& test = GetParam();
  if (test.kinds.empty()) return;
  Module module = passes::legalize(checked_case(test));
  std::map<std::string, std::string> kinds;  // by the name without its hash
  for (const auto& [name, function] : module.functions) {
    if (passes::is_kernel(function.get())) {
      kinds[name.substr(0, name.rfind('_'))] = analysis::pattern_kind_name(
          analysis::pattern_kind(passes::kernel_implementation(module, name)));
    }
  }
  for (const auto& [kernel, kind] : test.kinds) EXPECT_EQ(kinds[kernel], kind) << kernel;
}

TEST_P(Language, PrintsAndParses) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) return;
  Module module = checked_case(test);
  std::string text = text::print(module);
  Module again = text::parse(text, "printed");
  EXPECT_TRUE(text::structural_equal(module, again)) << text;
  EXPECT_EQ(text::structural_hash(module), text::structural_hash(again)) << text;
  EXPECT_EQ(text::print(again), text);
}

std::string case_name(const ::testing::TestParamInfo<LanguageCase>& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(c) ? c : '_';
  return name;
}

// Storage operators mean the same in the interpreter as on devices.
class LanguageStorage : public ::testing::TestWithParam<LanguageCase> {};

TEST_P(LanguageStorage, RunsLowered) {
  const LanguageCase& test = GetParam();
  if (!test.refused.empty()) return;
  Module module = build::insert_checks(checked_case(test));
  for (auto pass : {passes::lambda_lift, passes::name_shapes, passes::lower_storage}) {
    module = pass(module);
  }
  testing::expect_calls(module, test);
}

INSTANTIATE_TEST_SUITE_P(Cases, Language, ::testing::ValuesIn(testing::load_language_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Storage, Language, ::testing::ValuesIn(testing::load_storage_cases()),
                         case_name);

INSTANTIATE_TEST_SUITE_P(Scalars, Language,
                         ::testing::ValuesIn(testing::load_case_folder(TAPML_SOURCE_DIR
                                                                       "/tests/language/scalars")),
                         case_name);

INSTANTIATE_TEST_SUITE_P(Storage, LanguageStorage,
                         ::testing::ValuesIn(testing::load_storage_cases()), case_name);

}  // namespace
}  // namespace tapml
