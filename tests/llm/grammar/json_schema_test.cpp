#include "llm/grammar/json_schema.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "llm/grammar/token_mask.h"

namespace tapml::llm {
namespace {

// A matcher of a grammar, without tokens.
class Matcher {
 public:
  explicit Matcher(const std::string& grammar)
      : mask_(std::make_shared<const Grammar>(unwrap(Grammar::parse(grammar, "schema"))), none(),
              {}) {}
  bool operator()(const std::string& text) { return mask_.matches(text); }

 private:
  static const TokenTexts& none() {
    static const TokenTexts texts;
    return texts;
  }
  TokenMask mask_;
};

void expect_allows(const std::string& schema, const std::vector<std::string>& yes,
                   const std::vector<std::string>& no) {
  const Json json = unwrap(parse_json(schema, "schema"));
  const auto grammar = schema_grammar(json, "schema");
  ASSERT_TRUE(grammar) << grammar.error().to_string();
  Matcher matches(*grammar);
  for (const std::string& text : yes) EXPECT_TRUE(matches(text)) << schema << "\n" << text;
  for (const std::string& text : no) EXPECT_FALSE(matches(text)) << schema << "\n" << text;
}

TEST(JsonGrammar, IsThatOfJson) {
  Matcher value(json_grammar(false)), object(json_grammar(true));
  const std::vector<std::string> documents = {"1",
                                              "-0.5e+3",
                                              "\"a\\n\\u00e4\\\"日\"",
                                              "[]",
                                              "[1, [true,false, null]]",
                                              "{}",
                                              "{\"a\": {\"b\": []}, \"c\":\"\"}",
                                              "{\n  \"a\": 1\n}"};
  for (const std::string& text : documents) {
    ASSERT_TRUE(parse_json(text, "case"));
    EXPECT_TRUE(value(text)) << text;
    EXPECT_EQ(object(text), text.starts_with('{')) << text;
  }
  for (const char* text : {"", "01", "1.", "+1", "nul", "[1,]", "{,}", "{a: 1}", "\"\n\"",
                           "\"\\x\"", "{\"a\" 1}", "[1", "1 2", "'a'", "\"\xff\""}) {
    EXPECT_FALSE(value(text)) << text;
  }
}

TEST(JsonSchema, HasItsKeywords) {
  expect_allows("true", {"1", "{}"}, {""});
  expect_allows("{}", {"1", "[]"}, {"x"});
  expect_allows(R"({"type": "string"})", {R"("a")"}, {"1"});
  expect_allows(R"({"type": ["integer", "null"]})", {"12", "null", "-3"}, {"1.5", "\"1\""});
  expect_allows(R"({"type": "number"})", {"1.5", "2e3"}, {"true"});
  expect_allows(R"({"enum": ["a\"b", 1, null, {"x": [1]}]})",
                {R"("a\"b")", "1", "null", R"({"x":[1]})"}, {"2", R"("a")"});
  expect_allows(R"({"const": "\n\\"})", {R"("\n\\")"}, {"\"\""});
  expect_allows(R"({"type": "string", "minLength": 2, "maxLength": 3})", {R"("ab")", R"("a\n日")"},
                {R"("a")", R"("abcd")"});
  expect_allows(R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1]", "[1, 2,3]"},
                {"[\"a\"]", "[1,]"});
  expect_allows(R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
                {"[1,2]", "[1,2,3]"}, {"[]", "[1]", "[1,2,3,4]"});
  expect_allows(R"({"items": {"type": "null"}, "maxItems": 1})", {"[]", "[null]"}, {"[null,null]"});
  expect_allows(R"({"items": {}, "maxItems": 0})", {"[]"}, {"[1]"});
  expect_allows(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false})",
                {R"([1,"a"])"}, {"[1]", R"([1,"a",2])"});
  expect_allows(R"({"prefixItems": [{"type": "integer"}], "items": {"type": "null"}})",
                {"[1]", "[1,null]"}, {"[null]", "[1,2]"});
  expect_allows(R"({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "null"}}]})",
                {"1", "[null]"}, {"[1]", "null"});
  expect_allows(
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
                    "required": ["a", "b"]})",
      {R"({"a": 1, "b": null})", R"({"a":1,"b":null})"},
      {"{}", R"({"a": 1})", R"({"b": null, "a": 1})", R"({"a": 1, "b": null, "c": 1})"});
  // Any of the optional members, in order.
  expect_allows(R"({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"]})",
                {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
                {"{}", R"({"a":1})", R"({"a":1,"c":1})", R"({,"b":1})"});
  expect_allows(R"({"properties": {"a": {}, "b": {}}})",
                {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}, {R"({"c":1})"});
  expect_allows(
      R"({"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
      {"{}", R"({"a":null})", R"({"x":1,"y":2})", R"({"a":null,"x":1})"}, {R"({"x":null})"});
  expect_allows(R"({"type": "object", "additionalProperties": {"type": "integer"}})",
                {"{}", R"({"x":1})"}, {R"({"x":"a"})"});
  expect_allows(R"({"type": "object"})", {"{}", R"({"x":[1]})"}, {"[]"});
  expect_allows(R"({"type": "object", "properties": {}})", {"{}"}, {R"({"a":1})"});
  // A tree, which refers to itself.
  expect_allows(R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties":
      {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
      "required": ["value"]}}})",
                {R"({"value":1})", R"({"value":1,"children":[{"value":2,"children":[]}]})"},
                {R"({"value":1,"children":[{}]})"});
  expect_allows(R"({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]})",
                {"null", "[null,[]]"}, {"1"});
}

TEST(JsonSchema, SaysWhatIsNotServed) {
  const auto refused = [](const std::string& schema, const std::string& says) {
    const Json json = unwrap(parse_json(schema, "schema"));
    const auto grammar = schema_grammar(json, "request");
    if (grammar) {
      const auto parsed = Grammar::parse(*grammar, "request");
      ASSERT_FALSE(parsed) << schema;
      EXPECT_NE(parsed.error().to_string().find(says), std::string::npos)
          << parsed.error().to_string();
      return;
    }
    EXPECT_EQ(grammar.error().kind, ErrorKind::kUser);
    EXPECT_NE(grammar.error().to_string().find(says), std::string::npos)
        << schema << "\n"
        << grammar.error().to_string();
  };
  refused("1", "an object or true");
  refused("false", "allows nothing");
  refused(R"({"type": "text"})", "type is not known");
  refused(R"({"type": []})", "allows nothing");
  refused(R"({"enum": []})", "allows nothing");
  refused(R"({"anyOf": []})", "allows nothing");
  refused(R"({"type": "string", "pattern": "a+"})", "\"pattern\" is not served");
  refused(R"({"type": "integer", "minimum": 1})", "\"minimum\" is not served");
  refused(R"({"type": "string", "minLength": 3, "maxLength": 2})", "allows nothing");
  refused(R"({"type": "string", "minLength": -1})", "minLength");
  refused(R"({"type": "string", "items": {}})", "about the type array");
  refused(R"({"items": {}, "minItems": 3, "maxItems": 2})", "allows nothing");
  refused(R"({"properties": {"a": {"type": 1}}})", "#/properties/a/type");
  refused(R"({"type": "object", "required": ["a"], "properties": {}})", "\"a\" is required");
  refused(R"({"$ref": "#/$defs/none"})", "to nothing");
  refused(R"({"$ref": "other.json"})", "to nothing");
  refused(R"({"$ref": 1})", "to nothing");
  std::string chain = R"({"$ref": "#/$defs/r0", "$defs": {)";
  for (int i = 0; i < 20000; ++i) {
    chain +=
        "\"r" + std::to_string(i) + "\": {\"$ref\": \"#/$defs/r" + std::to_string(i + 1) + "\"},";
  }
  refused(chain + "\"r20000\": {}}}", "too deep");
  refused(R"({"$ref": "#"})", "finite");
  refused(R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})", "finite");
}

}  // namespace
}  // namespace tapml::llm
