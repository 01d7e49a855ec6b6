// Passes as text: tests/pipeline/cases/*.tapml hold programs before and after. TAPML_UPDATE_DOCS=1
// writes the results after "# becomes"; review the difference.
//
// The sections are those of support/language_case.h, with
//
//   # passes: canonicalize,dead_code     run in order
//   # shows: main                        the functions to compare; all if absent
//   # refused: ...                       parts of the UserError of the passes
//   # becomes                            ends the first program; nothing after it: no change
//
// Calls must give the same results or errors before and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
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

std::string shown(const Module& module, const std::vector<std::string>& names) {
  if (names.empty()) return text::print(module);
  Module some;
  for (const std::string& name : names) {
    auto it = module.functions.find(name);
    if (it != module.functions.end()) some.functions[name] = it->second;
  }
  return text::print(some);
}

Module passed(const Module& module, const std::vector<std::string>& passes) {
  Module current = module;
  for (const std::string& name : passes) {
    const pipeline::PassInfo* pass = pipeline::find_pass(name);
    if (!pass || !pass->run) throw_user("no such pass", "", "", name);
    current = pass->run(current);
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
    testing::expect_user_error([&] { passed(module, passes); }, test.refused);
    return test.source;
  }
  const Module result = passed(module, passes);
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

// Every pass that can be run by name has cases.
TEST(PassCaseFiles, CoverThePassesByName) {
  const std::vector<LanguageCase> cases = testing::load_case_folder(kFolder);
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (!pass.is_by_name_only()) continue;
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const LanguageCase& test) {
      const std::vector<std::string> passes = list_of(test, "passes");
      return std::find(passes.begin(), passes.end(), pass.name) != passes.end();
    })) << pass.name;
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
