#include "io/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tapml {
namespace {

Json parsed(std::string_view text) {
  auto result = parse_json(text, "t.json");
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? *result : Json();
}

Error error_of(std::string_view text, JsonLimits limits = {}) {
  auto result = parse_json(text, "t.json", limits);
  EXPECT_FALSE(result) << text;
  Error error = result ? Error() : result.error();
  EXPECT_EQ(error.kind, result ? error.kind : ErrorKind::kUser);
  return error;
}

TEST(JsonTest, Values) {
  EXPECT_TRUE(parsed("null").is_null());
  EXPECT_TRUE(parsed("true").as_bool());
  EXPECT_FALSE(parsed(" false ").as_bool());
  EXPECT_EQ(parsed("-12").as_integer(), -12);
  EXPECT_EQ(parsed("0").as_integer(), 0);
  EXPECT_EQ(parsed("9223372036854775807").as_integer(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parsed("-9223372036854775808").as_integer(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parsed("1e-05").as_double(), 1e-5);
  EXPECT_EQ(parsed("1.5E+2").as_double(), 150);
  EXPECT_EQ(parsed("0.1").as_double(), 0.1);
  EXPECT_EQ(parsed("5e-324").as_double(), 5e-324);
  EXPECT_EQ(parsed("1e-400").as_double(), 0);
  EXPECT_EQ(parsed("3").as_double(), 3);
  EXPECT_TRUE(parsed("3").is_integer());
  EXPECT_FALSE(parsed("3.0").is_integer());
  EXPECT_TRUE(parsed("3.0").is_number());
  EXPECT_EQ(parsed("[1, [], {}]").items().size(), 3u);
  EXPECT_EQ(parsed("\xef\xbb\xbf{}").members().size(), 0u);
}

TEST(JsonTest, IntegersBeyondInt64BecomeFloats) {
  Json value = parsed("1000000000000000019884624838656");
  EXPECT_FALSE(value.is_integer());
  EXPECT_EQ(value.as_double(), 1e30);
  EXPECT_EQ(parsed("9223372036854775808").as_double(), 0x1p63);
}

TEST(JsonTest, Strings) {
  EXPECT_EQ(parsed(R"("a\"\\\/\b\f\n\r\t")").as_string(), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(parsed(R"("\u0041\u00e9\u20AC\ud83d\ude00")").as_string(),
            "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(parsed("\"\xf0\x9f\x98\x80\"").as_string(), "\xf0\x9f\x98\x80");
  EXPECT_EQ(parsed(R"("\u0000")").as_string(), std::string(1, '\0'));
  EXPECT_EQ(parsed("\"\x7f\"").as_string(), "\x7f");
}

TEST(JsonTest, ObjectsKeepTheOrderOfTheFile) {
  Json value = parsed(R"({"b": 1, "a": {"c": [2]}})");
  EXPECT_EQ(value.members()[0].first, "b");
  EXPECT_EQ(value.find("a")->find("c")->items()[0].as_integer(), 2);
  EXPECT_EQ(value.find("z"), nullptr);
  EXPECT_EQ(parsed("3").find("z"), nullptr);
}

TEST(JsonTest, AnotherKindGivesAnEmptyValue) {
  Json text = parsed("\"x\"");
  EXPECT_EQ(text.as_integer(), 0);
  EXPECT_EQ(text.items().size(), 0u);
  EXPECT_FALSE(text.as_bool());
  EXPECT_FALSE(parsed("1").as_bool());
  EXPECT_EQ(parsed("1").as_string(), "");
}

TEST(JsonTest, PositionsCountCharactersFromOne) {
  Json value = parsed("{\n  \"\xc3\xa9\xe2\x82\xac\": 7,\n\t\"b\": [1,\n 2]}");
  EXPECT_EQ(value.line(), 1);
  EXPECT_EQ(value.column(), 1);
  EXPECT_EQ(value.members()[0].second.line(), 2);
  EXPECT_EQ(value.members()[0].second.column(), 9);
  const Json& array = value.members()[1].second;
  EXPECT_EQ(array.column(), 7);
  EXPECT_EQ(array.items()[1].line(), 4);
  EXPECT_EQ(array.items()[1].column(), 2);
  EXPECT_EQ(json_location("t.json", array.items()[1]), "t.json:4:2");
  EXPECT_EQ(json_location("t.json", Json::integer(1)), "t.json");
}

struct Fault {
  const char* text;
  const char* where;
  const char* expected;
  const char* found;
};

class JsonSyntaxTest : public ::testing::TestWithParam<Fault> {};

TEST_P(JsonSyntaxTest, NamesPositionExpectedAndFound) {
  const Fault& fault = GetParam();
  Error error = error_of(fault.text);
  EXPECT_EQ(error.message, "t.json is not valid JSON");
  EXPECT_EQ(error.where, std::string("t.json:") + fault.where) << fault.text;
  EXPECT_EQ(error.expected, fault.expected) << fault.text;
  EXPECT_EQ(error.found, fault.found) << fault.text;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, JsonSyntaxTest,
    ::testing::Values(
        Fault{"", "1:1", "a value", "the end of the file"},
        Fault{" \n ", "2:2", "a value", "the end of the file"},
        Fault{"{", "1:2", "a key in double quotes or '}'", "the end of the file"},
        Fault{"{a: 1}", "1:2", "a key in double quotes or '}'", "\"a\""},
        Fault{"{\"a\" 1}", "1:6", "':'", "\"1\""}, Fault{"{\"a\": }", "1:7", "a value", "\"}\""},
        Fault{"{\"a\": 1,}", "1:9", "a key in double quotes", "\"}\""},
        Fault{"{\"a\": 1\n\"b\": 2}", "2:1", "',' or '}'", "\"\\\"\""},
        Fault{"[1 2]", "1:4", "',' or ']'", "\"2\""}, Fault{"[1,]", "1:4", "a value", "\"]\""},
        Fault{"[1", "1:3", "',' or ']'", "the end of the file"},
        Fault{"1 2", "1:3", "the end of the file", "\"2\""}, Fault{"tru", "1:1", "true", "\"t\""},
        Fault{"NaN", "1:1", "a value", "\"N\""},
        Fault{"-", "1:2", "a digit after '-'", "the end of the file"},
        Fault{"012", "1:1", "a number without leading zeros", "\"012\""},
        Fault{"1.", "1:3", "a digit after '.'", "the end of the file"},
        Fault{".5", "1:1", "a value", "\".\""}, Fault{"+5", "1:1", "a value", "\"+\""},
        Fault{"1e", "1:3", "a digit in the exponent", "the end of the file"},
        Fault{"// c\n1", "1:1", "a value", "\"/\""},
        Fault{"\"ab", "1:4", "'\"' at the end of the string", "the end of the file"},
        Fault{"\"a\nb\"", "1:3", "an escape in place of a control character", "\"\\n\""},
        Fault{"\"\\x\"", "1:3", "one of \" \\ / b f n r t u after '\\'", "\"x\""},
        Fault{"\"\\u12g4\"", "1:6", "four hexadecimal digits after \\u", "\"g\""},
        Fault{"\"\\ud800\"", "1:2", "a surrogate pair such as \\ud83d\\ude00", "half of one"},
        Fault{"\"\\udc00\"", "1:2", "a surrogate pair such as \\ud83d\\ude00", "half of one"},
        Fault{"\"\\ud800\\u0041\"", "1:2", "a surrogate pair such as \\ud83d\\ude00",
              "half of one"},
        Fault{"\"\xc3\xa9\xff\"", "1:3", "valid UTF-8", "\"\\xff\""},
        Fault{"\"\xc0\x80\"", "1:2", "valid UTF-8", "\"\\xc0\""},
        Fault{"\"\xed\xa0\x80\"", "1:2", "valid UTF-8", "\"\\xed\""},
        Fault{"\xff", "1:1", "a value", "\"\\xff\""}));

TEST(JsonErrorTest, NulBytesDoNotEndTheText) {
  EXPECT_EQ(error_of(std::string_view("{}\0", 3)).found, "\"\\x00\"");
  EXPECT_EQ(error_of(std::string_view("\0", 1)).expected, "a value");
}

TEST(JsonErrorTest, DuplicateKeys) {
  Error error = error_of("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}");
  EXPECT_EQ(error.message, "t.json has the key \"a\" twice");
  EXPECT_EQ(error.where, "t.json:3:2");
  EXPECT_EQ(error.found, "the first at t.json:1:2");
  // The same key, written differently.
  EXPECT_EQ(error_of(R"({"a": 1, "\u0061": 2})").where, "t.json:1:10");
}

TEST(JsonErrorTest, HugeNumbers) {
  Error error = error_of("[1e400]");
  EXPECT_EQ(error.message, "t.json has a number that is too large");
  EXPECT_EQ(error.where, "t.json:1:2");
  EXPECT_EQ(error.found, "\"1e400\"");
  EXPECT_FALSE(parse_json(std::string(5000, '9'), "t.json"));
}

TEST(JsonErrorTest, NestingIsLimited) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(512), "t.json"));
  Error error = error_of(nested(513));
  EXPECT_EQ(error.message, "t.json is nested too deeply");
  EXPECT_EQ(error.where, "t.json:1:513");
  EXPECT_EQ(error.expected, "at most 512 levels of arrays and objects");
  error_of(nested(100000));
  error_of(std::string(100000, '['));
  // A caller cannot request more depth than the stack holds.
  EXPECT_EQ(error_of(nested(100000), {.max_depth = 1 << 30}).where, "t.json:1:1001");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects).message, "t.json is nested too deeply");
}

TEST(JsonErrorTest, ValuesAreCounted) {
  EXPECT_TRUE(parse_json("[0,0,0]", "t.json", {.max_values = 4}));
  EXPECT_EQ(error_of("[0,0,0,0]", {.max_values = 4}).message, "t.json has too many values");
}

TEST(JsonErrorTest, EveryPrefixOfADocumentIsRefusedCleanly) {
  std::string text = R"({"a": [1, -2.5e3, true, null, "x\u00e9\n"], "b": {"c": false}})";
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_json(text.substr(0, length), "t.json")) << length;
  }
  EXPECT_TRUE(parse_json(text, "t.json"));
}

TEST(JsonDumpTest, OneLineAndIndented) {
  Json value = parsed(R"({"a":[1,2.5],"b":{"c":"x\ny"},"d":[],"e":{},"f":["s",null,true]})");
  EXPECT_EQ(value.dump(), R"({"a":[1,2.5],"b":{"c":"x\ny"},"d":[],"e":{},"f":["s",null,true]})");
  EXPECT_EQ(value.dump(2), R"({
  "a": [1, 2.5],
  "b": {
    "c": "x\ny"
  },
  "d": [],
  "e": {},
  "f": [
    "s",
    null,
    true
  ]
})");
}

TEST(JsonDumpTest, NumbersComeBackAsTheyWere) {
  for (double number : {0.1, 1.0, -0.0, 1e30, 5e-324, 1.7976931348623157e308, 123456789.0, 1e22}) {
    Json back = parsed(Json::number(number).dump());
    EXPECT_EQ(back.kind(), JsonKind::kFloat) << number;
    EXPECT_EQ(back.as_double(), number);
    EXPECT_EQ(std::signbit(back.as_double()), std::signbit(number));
  }
  EXPECT_EQ(Json::number(1).dump(), "1.0");
  EXPECT_EQ(Json::number(NAN).dump(), "null");
  EXPECT_EQ(Json::number(-INFINITY).dump(), "null");
  EXPECT_EQ(Json::integer(std::numeric_limits<int64_t>::min()).dump(), "-9223372036854775808");
}

TEST(JsonDumpTest, AnyBytesGiveValidJson) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  Json back = parsed(Json::string(bytes).dump());
  EXPECT_EQ(back.as_string().substr(0, 128), bytes.substr(0, 128));
  EXPECT_EQ(back.as_string().substr(128, 3), "\xef\xbf\xbd");
}

TEST(JsonDumpTest, EscapesTerminalControlCharacters) {
  const std::string text = "\x1b\x7f\u0080\u009b\u009f\u00a0";
  const std::string dumped = Json::string(text).dump();
  EXPECT_EQ(dumped, "\"\\u001b\\u007f\\u0080\\u009b\\u009f\u00a0\"");
  EXPECT_EQ(parse_json(dumped, "dump")->as_string(), text);
}

TEST(JsonBuildTest, SetReplacesAndPushAppends) {
  Json value = Json::object();
  value.set("a", Json::integer(1));
  value.set("b", Json::boolean(true));
  value.set("a", Json::string("x"));
  Json list;
  list.push(Json::null());
  value.set("c", list);
  EXPECT_EQ(value.dump(), R"({"a":"x","b":true,"c":[null]})");
  EXPECT_EQ(value.line(), 0);
}

TEST(JsonBuildTest, ExcerptsAreShort) {
  EXPECT_EQ(json_excerpt(parsed("\"ab\"")), "the string \"ab\"");
  EXPECT_EQ(json_excerpt(parsed("[1,2]")), "an array of 2");
  EXPECT_EQ(json_excerpt(parsed("2.5")), "2.5");
  EXPECT_STREQ(parsed("{}").kind_name(), "an object");
}

}  // namespace
}  // namespace tapml
