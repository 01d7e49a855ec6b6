// The parts that all pages share.
#pragma once

#include <string>

#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

// The parts of a page, and the links to them.
class Sections {
 public:
  // Omits a part without content.
  void add(const std::string& anchor, const std::string& name, const std::string& inner);
  // A link to another file, before the parts added after it.
  void link(const std::string& file, const std::string& name);
  std::string html() const;

 private:
  std::string links_, text_;
};

struct PageHead {
  std::string command;  // "migrate"
  std::string title;
  VerdictLine line;
  std::string verdict;  // one sentence
  std::string counts;   // below the verdict
  std::string facts;    // markup: run_facts_part()
};

// One self-contained page.
std::string page_shell(const PageHead& head, const Sections& sections);

}  // namespace tapml::topdown
