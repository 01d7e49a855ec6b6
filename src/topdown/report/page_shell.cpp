#include "topdown/report/page_shell.h"

#include "topdown/report/html.h"
#include "topdown/report/page_style.h"

namespace tapml::topdown {

void Sections::add(const std::string& anchor, const std::string& name, const std::string& inner) {
  if (inner.empty()) return;
  link("#" + anchor, name);
  text_ += element("section", element("h2", {{"id", anchor}}, escaped(name)) + inner) + "\n";
}

void Sections::link(const std::string& file, const std::string& name) {
  links_ += element("a", {{"href", file}}, escaped(name)) + " ";
}

std::string Sections::html() const { return element("nav", links_) + text_; }

namespace {

// A sign that distinguishes verdicts without color.
const char* sign_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "✓";
    case Verdict::kFail:
      return "✖";
    case Verdict::kNotProven:
      return "?";
  }
  return "?";
}

}  // namespace

std::string page_shell(const PageHead& page, const Sections& sections) {
  const std::string sign = sign_of(page.line.verdict);
  const std::string head =
      void_element("meta", {{"charset", "utf-8"}}) +
      void_element("meta",
                   {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
      element("title", escaped(sign + " " + page.title + " (tapml " + page.command + ")")) +
      element("style", page_style());
  const std::string body =
      element("h1", escaped(page.title)) +
      element("div", {{"class", page.line.passed() ? "verdict ok" : "verdict bad"}},
              element("span", sign) + element("span", escaped(page.verdict))) +
      element("p", {{"class", "counts"}},
              element("strong", escaped(page.line.text())) + void_element("br") +
                  escaped(page.counts)) +
      page.facts + sections.html();
  return "<!doctype html>\n" +
         element("html", {{"lang", "en"}}, element("head", head) + "\n" + element("body", body)) +
         "\n";
}

}  // namespace tapml::topdown
