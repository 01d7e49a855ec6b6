// docs/passes.md describes every pass as the pass table does, and shows programs before and after:
// TAPML_UPDATE_DOCS=1 rewrites both.
//
// A section is
//
//   ## `name`
//
//   *phase, level.* What it does. Requires: what it requires. Leaves: what it leaves.
//                                                           (from the table)
//
// and examples: a block ```tapml that begins with "# before", then one that begins with "# after".
// "# before, after a,b" runs these passes first; "# target: cpu" is for passes that need a target;
// a line "# shows: main,f" names the functions of the result that the second block shows.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "analysis/verifier.h"
#include "base/host/table.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::pipeline {
namespace {

const std::string kPage = TAPML_SOURCE_DIR "/docs/passes.md";

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string capital(std::string text) {
  text[0] = static_cast<char>(std::toupper(text[0]));
  return text;
}

std::string summary(const PassInfo& pass) {
  std::string text = "*" + std::string(pass.phase) + ", " + pass_level_name(pass.level) + ".* " +
                     capital(pass.doc) + ". Requires: " + pass.precondition +
                     ". Leaves: " + pass.leaves + ".";
  if (pass.without) text += " Left out: " + std::string(pass.without) + ".";
  if (!pass.is_function()) text += " In `opt`: last, after the steps before it.";
  return wrapped(text, 100);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream rest(text);
  for (std::string item; std::getline(rest, item, ',');) items.push_back(item);
  return items;
}

Module run_pass(const Module& module, const std::string& name, const target::Target& target) {
  const PassInfo* pass = find_pass(name);
  if (!pass || !pass->is_function()) throw_user("no such pass", "", "", name);
  Module result = pass->run ? pass->run(module) : pass->run_for(module, target);
  analysis::verify(result, name);
  if (result.facts.phase != "plan") {
    build::check_annotations(result, name);
  }
  return result;
}

// The result of the pass for the lines of a block "# before".
std::string after(const std::string& pass, const std::vector<std::string>& block) {
  std::string source;
  std::vector<std::string> first, shows;
  target::Target target = target::parse_target("opencl");
  for (const std::string& line : block) {
    constexpr std::string_view kAfter = "# before, after ",
                               kShows = "# shows: ", kTarget = "# target: ";
    if (line.starts_with(kAfter)) first = split(line.substr(kAfter.size()));
    if (line.starts_with(kShows)) shows = split(line.substr(kShows.size()));
    if (line.starts_with(kTarget)) target = target::parse_target(line.substr(kTarget.size()));
    source += line + "\n";
  }
  Module module = normal_input(text::parse(source, pass), "docs/passes.md, " + pass);
  for (const std::string& name : first) module = run_pass(module, name, target);
  Module result = run_pass(module, pass, target);
  if (shows.empty()) return text::print(result);
  Module some;
  for (const std::string& name : shows) {
    // A name may end in a star: kernel names end in their hash.
    for (const auto& [known, function] : result.functions) {
      const bool prefix = name.ends_with("*") && known.starts_with(name.substr(0, name.size() - 1));
      if (prefix || known == name) some.functions[known] = function;
    }
  }
  return text::print(some);
}

// The page as it should be.
std::string made_page(const std::vector<std::string>& lines, std::vector<std::string>& sections) {
  std::string page, result;
  bool has_result = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("## `") && line.ends_with("`")) {
      sections.push_back(line.substr(4, line.size() - 5));
      if (const PassInfo* pass = find_pass(sections.back())) {
        page += line + "\n\n" + summary(*pass) + "\n";
        i += 2;
        while (i + 1 < lines.size() && !lines[i + 1].empty()) ++i;
        continue;
      }
    }
    page += line + "\n";
    if (line != "```tapml" || i + 1 >= lines.size()) continue;
    std::vector<std::string> block;
    for (++i; i < lines.size() && lines[i] != "```"; ++i) block.push_back(lines[i]);
    if (!block.empty() && block[0].starts_with("# before")) {
      result = after(sections.empty() ? "" : sections.back(), block);
      has_result = true;
    } else if (!block.empty() && block[0] == "# after" && has_result) {
      std::istringstream text(result);
      block = {"# after"};
      for (std::string one; std::getline(text, one);) block.push_back(one);
      has_result = false;
    }
    for (const std::string& one : block) page += one + "\n";
    page += "```\n";
  }
  return page;
}

TEST(PassesPage, AgreesWithThePasses) {
  const std::vector<std::string> lines = lines_of(kPage);
  std::vector<std::string> sections, names;
  const std::string page = made_page(lines, sections);
  for (const PassInfo& pass : pass_table()) names.push_back(pass.name);
  std::erase_if(sections, [](const std::string& name) { return !find_pass(name); });
  EXPECT_EQ(sections, names) << "a section for each pass, in the table's order";
  if (std::getenv("TAPML_UPDATE_DOCS")) {
    std::ofstream(kPage) << page;
    return;
  }
  std::string found;
  for (const std::string& line : lines) found += line + "\n";
  EXPECT_EQ(found, page) << "docs/passes.md: run test_pipeline with TAPML_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tapml::pipeline
