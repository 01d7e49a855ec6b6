// Templates that are not valid, that fail, and that do too much.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "template/template.h"

namespace tapml::jinja {
namespace {

using testing::expect_parts;

Result<Rendered> render(const std::string& text, const RenderOptions& options = {}) {
  auto parsed = Template::parse(text, "t.jinja");
  if (!parsed) return fail(parsed.error());
  const Json variables = Json::object({{"n", Json::integer(3)}, {"word", Json::string("a")}});
  return parsed->render(variables, options);
}

struct Case {
  std::string text;
  std::vector<std::string> parts;
};

void expect_errors(const std::vector<Case>& cases, const RenderOptions& options = {}) {
  for (const Case& one : cases) {
    const auto rendered = render(one.text, options);
    ASSERT_FALSE(rendered) << one.text;
    EXPECT_EQ(rendered.error().kind, ErrorKind::kUser);
    expect_parts(rendered.error(), one.parts);
  }
}

TEST(TemplateErrors, NameLineAndColumn) {
  expect_errors({
      {"a\nb {% if n %}", {"t.jinja:2:6", "a block does not end", "{% elif %}", "{% endif %}"}},
      {"{{ é ~ 1 +* }}", {"t.jinja:1:11", "an expression", "\"*\""}},
      {"{% for i n %}", {"t.jinja:1:10", "\"in\"", "\"n\""}},
      {"\n\n  {% frobnicate %}", {"t.jinja:3:6", "there is no such statement", "frobnicate"}},
      {"{% include 'x' %}", {"t.jinja:1:4", "not supported in a chat template"}},
      {"{% endif %}", {"a block ends that has not begun"}},
      {"{{ 'a }}", {"t.jinja:1:4", "a text does not end"}},
      {"{{ (1] }}", {"a bracket does not match", "\")\"", "\"]\""}},
      {"{{ n | frobnicate }}", {"t.jinja:1:8", "there is no such filter", "frobnicate"}},
      {"{{ n is frobnicate }}", {"t.jinja:1:6", "there is no such test"}},
      {"a\n{{ missing.name }}", {"t.jinja:2:11", "\"missing\" is undefined"}},
      {"{{ n.name.more }}", {"t.jinja:1:10", "a int has no \"name\""}},
      {"{{ word + n }}", {"t.jinja:1:9", "str and int", "\"~\" joins"}},
      {"{{ [].append(1) }}", {"the method \"append\" changes a list"}},
      {"x {{ raise_exception('No tools, ' ~ word) }}",
       {"t.jinja:1:6", "the template refuses the conversation: \"No tools, a\""}},
      {"{{ n() }}", {"a macro, a function or a method", "int"}},
      {"{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", {"no argument \"b\"", "expected: a"}},
      {"{{ 9223372036854775807 + 1 }}", {"an integer is too large"}},
      {"{{ 99999999999999999999 }}", {"the integer is out of range"}},
  });
}

TEST(TemplateErrors, AreNotUtf8) {
  const auto parsed = Template::parse("a\xFF", "t.jinja");
  ASSERT_FALSE(parsed);
  expect_parts(parsed.error(), {"not UTF-8", "position 1"});
}

TEST(TemplateLimits, EndWhatDoesNotEnd) {
  const std::string loops = "{% for a in range(99999) %}{% for b in range(99999) %}";
  expect_errors(
      {
          {loops + "{% endfor %}{% endfor %}", {"too many steps", "does a loop not end"}},
          {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           {"calls itself too deeply", "a macro or a recursive loop"}},
          {"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", {"calls itself too deeply"}},
          {"{% set ns = namespace(t='x') %}{% for i in range(99) %}{% set ns.t = ns.t * 9 %}{% "
           "endfor %}",
           {"too much text"}},
          {"{{ 'x' * 99999999999999 }}", {"too much text"}},
          {"{{ [[0] * 9999999] * 9999999 }}", {"too much text"}},
          {"{% set ns = namespace(t=[]) %}{% for i in range(9999) %}{% set ns.t = [ns.t] %}{% "
           "endfor %}",
           {"nest too deeply"}},
          // Shared parts are walked each time.
          {"{% set ns = namespace(a=[], b=[]) %}{% for i in range(99) %}{% set ns.a = [ns.a, ns.a] "
           "%}"
           "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
           {"a list is too large"}},
          {"{% set ns = namespace(a=[], b=[]) %}{% for i in range(16) %}{% set ns.a = [ns.a, ns.a] "
           "%}"
           "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{% for i in range(999) %}{{ ns.a == ns.b }}"
           "{% endfor %}",
           {"too many steps"}},
          {"{{ range(999999) }}", {"range is too long", "100000"}},
          {"{{ 'x' | center(99999999999) }}", {"too much text"}},
          {"{{ ('%99999999d' % 1) }}", {"the format of a text is not valid"}},
          {"{{ 'a' | replace('', 'b' * 99999) | replace('', 'c' * 99999) }}", {"too much text"}},
      },
      {.steps = 500'000, .memory = size_t{32} << 20});
}

TEST(TemplateLimits, BoundTheOutput) {
  expect_errors(
      {{"{% for i in range(100) %}0123456789{% endfor %}", {"output is too long", "999"}}},
      {.output = 999});
  EXPECT_TRUE(render("{% for i in range(99) %}0123456789{% endfor %}", {.output = 999}));
}

TEST(TemplateLimits, BoundTheNestingOfTheText) {
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  expect_errors({
      {"{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}", {"nests too deeply"}},
      {"{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", {"nests too deeply"}},
      {"{{ " + repeated("not ", 5000) + "1 }}", {"nests too deeply"}},
      {"{{ " + repeated("-", 5000) + "1 }}", {"nests too deeply"}},
      {repeated("{% if n %}", 5000), {"nests too deeply"}},
      {"{{ 1" + repeated(" + 1", 5000) + " }}", {"an expression is too long"}},
      {"{{ n" + repeated(".a", 5000) + " }}", {"an expression is too long"}},
      {"{{ n" + repeated("|list", 5000) + " }}", {"an expression is too long"}},
      {"{% set " + repeated("(", 5000) + "a" + repeated(")", 5000) + " = 1 %}",
       {"nests too deeply"}},
      {"{{ 1" + repeated(" if 1 else 1", 5000) + " }}", {"nests too deeply"}},
  });
  // Lists of operands are not nested.
  EXPECT_TRUE(render("{{ 1" + repeated(" ~ 1", 5000) + " }}"));
  EXPECT_TRUE(render("{{ 0" + repeated(" or 0", 5000) + " }}"));
}

// What belongs to the renderer may refer to itself.
TEST(TemplateLimits, ValuesMayGoInCircles) {
  for (const char* text :
       {"{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me is defined }}",
        "{% set ns = namespace() %}{% for i in [1] %}{% set ns.l = loop %}{% endfor %}"
        "{{ ns.l.changed(ns.l) and ns.l.last }}",
        "{% set ns = namespace() %}{% for i in [1] if ns %}{% set ns.l = loop %}{% endfor %}"
        "{{ ns.l.last and ns.l.length == 1 }}",
        "{% set ns = namespace() %}{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}"
        "{% set ns.m = m %}{% endfor %}{{ ns.m() == '1' }}"}) {
    const auto rendered = render(text);
    ASSERT_TRUE(rendered) << text << rendered.error().to_string();
    EXPECT_EQ(rendered->text, "True") << text;
  }
  EXPECT_FALSE(
      render("{% set ns = namespace() %}{% for i in [1] recursive %}{% set ns.l = loop %}"
             "{% endfor %}{{ ns.l([1]) }}"));
}

TEST(Generation, HasItsPlacesInTheText) {
  const auto rendered = render("ab{% generation %}c{{ word }}{% endgeneration %}d");
  ASSERT_TRUE(rendered);
  EXPECT_EQ(rendered->text, "abcad");
  EXPECT_EQ(rendered->generated, (std::vector<std::pair<size_t, size_t>>{{2, 4}}));
}

}  // namespace
}  // namespace tapml::jinja
