// The tests: what may follow `is`.
#include <algorithm>

#include "base/strings.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

struct Comparison {
  std::string_view name, op;
};
constexpr Comparison kComparisons[] = {
    {"==", "=="}, {"eq", "=="}, {"equalto", "=="},    {"!=", "!="}, {"ne", "!="}, {">", ">"},
    {"gt", ">"},  {"ge", ">="}, {"greaterthan", ">"}, {">=", ">="}, {"<", "<"},   {"lt", "<"},
    {"le", "<="}, {"<=", "<="}, {"lessthan", "<"},    {"in", "in"}};

struct KindTest {
  std::string_view name;
  bool (*holds)(const Value& value);
};
constexpr KindTest kKinds[] = {
    {"defined", [](const Value& value) { return !value.is_undefined(); }},
    {"undefined", [](const Value& value) { return value.is_undefined(); }},
    {"none", [](const Value& value) { return value.is_none(); }},
    {"boolean", [](const Value& value) { return value.is(Kind::kBool); }},
    {"true", [](const Value& value) { return value.is(Kind::kBool) && value.as_bool(); }},
    {"false", [](const Value& value) { return value.is(Kind::kBool) && !value.as_bool(); }},
    {"integer", [](const Value& value) { return value.is(Kind::kInteger); }},
    {"float", [](const Value& value) { return value.is(Kind::kFloat); }},
    {"number", [](const Value& value) { return value.is_number(); }},
    {"string", [](const Value& value) { return value.is_string(); }},
    {"mapping", [](const Value& value) { return value.is_dict(); }},
    {"sequence",
     [](const Value& value) {
       return value.is_string() || value.is_dict() || (value.is_sequence() && !value.view_name());
     }},
    {"iterable",
     [](const Value& value) {
       return value.is_string() || value.is_dict() || value.is_sequence() || value.is_undefined() ||
              value.is(Kind::kIterator);
     }},
    {"callable", [](const Value& value) { return value.is_callable(); }},
    {"escaped", [](const Value& value) { return value.is_marked(); }},
};
constexpr std::string_view kOthers[] = {"odd",  "even",   "divisibleby", "filter",
                                        "test", "sameas", "lower",       "upper"};

}  // namespace

bool Renderer::has_test(std::string_view name) {
  const auto is_it = [&](const auto& one) { return one.name == name; };
  return std::ranges::any_of(kComparisons, is_it) || std::ranges::any_of(kKinds, is_it) ||
         std::ranges::find(kOthers, name) != std::end(kOthers);
}

Result<bool> Renderer::apply_test(std::string_view name, const Value& value,
                                  const Arguments& arguments) {
  for (const KindTest& kind : kKinds) {
    if (kind.name != name) continue;
    TAPML_TRY(bind(arguments, std::string(name), {}));
    return kind.holds(value);
  }
  const std::string what = "the test " + std::string(name);
  for (const Comparison& comparison : kComparisons) {
    if (comparison.name != name) continue;
    TAPML_ASSIGN(const Bound bound, bind(arguments, what, {"other"}, 1));
    return compare_values(comparison.op, value, *bound[0]);
  }
  if (!has_test(name)) {
    return error("there is no such test", "a test that Jinja has (docs/chat.md)", in_quotes(name));
  }
  if (name == "lower" || name == "upper") {
    TAPML_TRY(bind(arguments, what, {}));
    TAPML_ASSIGN(const std::string text, str(value));
    return test_characters(text, name == "lower" ? CharacterTest::kLower : CharacterTest::kUpper);
  }
  if (name == "filter" || name == "test") {
    TAPML_TRY(bind(arguments, what, {}));
    return name == "test" ? has_test(value.text())
                          : !value.text().empty() && find_filter(value.text()) != nullptr;
  }
  if (name == "sameas") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, what, {"other"}, 1));
    if (value.kind() != bound[0]->kind()) return false;
    if (value.is_number() || value.is_string() || value.is_none()) return equal(value, *bound[0]);
    return value.identity() == bound[0]->identity();
  }
  if (!value.is_integral()) return type_error(what, "an integer", value);
  if (name == "divisibleby") {
    TAPML_ASSIGN(const Bound bound, bind(arguments, what, {"num"}, 1));
    TAPML_ASSIGN(const int64_t by, integer(bound[0], what, 1));
    TAPML_ASSIGN(const Value rest, integer_binary("%", value.as_integer(), by));
    return rest.as_integer() == 0;
  }
  TAPML_TRY(bind(arguments, what, {}));
  return (value.as_integer() % 2 != 0) == (name == "odd");
}

}  // namespace tapml::jinja
