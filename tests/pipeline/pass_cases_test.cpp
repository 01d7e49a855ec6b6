// Passes and steps as text: tests/pipeline/cases/*.tapml hold programs before and after.
// TAPML_UPDATE_DOCS=1 writes the results after "# becomes"; review the difference.
//
// The sections are those of support/language_case.h, with
//
//   # passes: canonicalize,dead_code     run in order, or
//   # step: narrow_indices               the module after this step of a compilation; the programs
//                                        of kernels are those of the step
//   # target: opencl                     of the compilation, and for passes that need one
//   # shows: main,add_*                  the functions to compare; all if absent; a star stands for
//                                        a part of a name
//   # refused: ...                       parts of the UserError of the passes
//   # becomes                            ends the first program; nothing after it: no change
//
// Calls must give the same results or errors before and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/language_calls.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

using testing::LanguageCase;

const std::string kFolder = TAPML_SOURCE_DIR "/tests/pipeline/cases";
const std::string kBecomes = "# becomes\n";

std::vector<std::string> list_of(const LanguageCase& test, const std::string& key) {
  std::vector<std::string> items;
  const size_t at = test.source.find("# " + key + ": ");
  if (at == std::string::npos) return items;
  const size_t begin = at + key.size() + 4;
  std::istringstream rest(test.source.substr(begin, test.source.find('\n', begin) - begin));
  for (std::string item; std::getline(rest, item, ',');) items.push_back(item);
  return items;
}

std::string before_of(const LanguageCase& test) {
  return test.source.substr(0, test.source.find(kBecomes));
}

// Whether `pattern`, which may contain a star, matches the name.
bool names(const std::string& pattern, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return name == pattern;
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

std::string shown(const Module& module, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return text::print(module);
  Module some;
  for (const auto& [name, function] : module.functions) {
    if (std::ranges::any_of(patterns, [&](const std::string& one) { return names(one, name); })) {
      some.functions[name] = function;
    }
  }
  return text::print(some);
}

// The module after a step of its compilation.
Module after_step(const Module& module, const std::string& step, const target::Target& target) {
  std::optional<Module> found;
  pipeline::ImplementOptions options;
  options.instruments.verify = true;
  options.instruments.after = [&](const std::string& name, const Module& current) {
    if (name == step) found = current;
  };
  pipeline::compile(module, target, options);
  if (!found) throw_user("no such step", "", "", step);
  return *found;
}

Module passed(const LanguageCase& test, const Module& module) {
  const std::vector<std::string> targets = list_of(test, "target"), steps = list_of(test, "step");
  const target::Target target = target::parse_target(targets.empty() ? "null" : targets[0]);
  if (!steps.empty()) return after_step(module, steps[0], target);
  Module current = module;
  for (const std::string& name : list_of(test, "passes")) {
    const pipeline::PassInfo* pass = pipeline::find_pass(name);
    if (!pass || !pass->is_function()) throw_user("no such pass", "", "", name);
    current = pass->run ? pass->run(current) : pass->run_for(current, target);
    analysis::verify(current, name);
    if (current.facts.phase != "plan") {
      build::check_annotations(current, name);
    }
  }
  return current;
}

// The section's text with the current result of the passes.
std::string renewed(const LanguageCase& test) {
  const std::vector<std::string> passes = list_of(test, "passes"), shows = list_of(test, "shows");
  const std::string before = before_of(test);
  const Module module = pipeline::normal_input(text::parse(before, test.name), test.name);
  testing::expect_calls(module, test);
  if (!test.refused.empty()) {
    testing::expect_user_error([&] { passed(test, module); }, test.refused);
    return test.source;
  }
  const Module result = passed(test, module);
  testing::expect_calls(result, test);
  std::string after = shown(result, shows);
  // Parsed programs are in A-normal form.
  const bool normalizes = !passes.empty() && passes[0] == "a_normal_form";
  const Module given = normalizes ? text::parse(before, test.name) : module;
  if (after == shown(given, shows)) return before + kBecomes;
  // The text is in the form in which it is parsed again.
  EXPECT_EQ(text::print(text::parse(after, "after")), after);
  return before + kBecomes + after;
}

class PassCases : public ::testing::TestWithParam<LanguageCase> {};

TEST_P(PassCases, Becomes) {
  const std::string found = renewed(GetParam());
  if (!std::getenv("TAPML_UPDATE_DOCS")) {
    EXPECT_EQ(found, GetParam().source);
  }
}

TEST(PassCaseFiles, AreWritten) {
  if (!std::getenv("TAPML_UPDATE_DOCS")) GTEST_SKIP() << "only with TAPML_UPDATE_DOCS=1";
  std::map<std::string, std::string> files;
  for (const LanguageCase& test : testing::load_case_folder(kFolder)) {
    std::string& text = files[test.name.substr(0, test.name.find(':'))];
    if (!text.empty()) text += "# ----\n";
    text += renewed(test);
  }
  for (const auto& [name, text] : files) std::ofstream(kFolder + "/" + name + ".tapml") << text;
}

// Each row of the table has a test under its name: cases that run the pass or step, or a file of
// tests. Passes that are only called by name have cases.
TEST(PassCaseFiles, CoverTheTable) {
  const std::string tests = TAPML_SOURCE_DIR "/tests/";
  const std::vector<LanguageCase> cases = testing::load_case_folder(kFolder);
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    const std::string name = pass.name;
    const bool has_case = std::ranges::any_of(cases, [&](const LanguageCase& test) {
      const std::vector<std::string> passes = list_of(test, "passes"), step = list_of(test, "step");
      return test.name.starts_with(name + ":") &&
             (std::ranges::find(passes, name) != passes.end() || step == std::vector{name});
    });
    const std::string file = name + "_test.cpp";
    const bool has_tests = std::filesystem::exists(tests + "passes/" + file) ||
                           std::filesystem::exists(tests + "pipeline/" + file);
    EXPECT_TRUE(has_case || (has_tests && !pass.is_by_name_only()))
        << name << " has neither tests/pipeline/cases/" << name << ".tapml nor " << file
        << " in tests/passes/ or tests/pipeline/";
  }
}

std::string name_of(const ::testing::TestParamInfo<LanguageCase>& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(c) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Text, PassCases, ::testing::ValuesIn(testing::load_case_folder(kFolder)),
                         name_of);

}  // namespace
}  // namespace tapml
