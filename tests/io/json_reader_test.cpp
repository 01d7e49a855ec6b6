#include "io/json_reader.h"

#include <gtest/gtest.h>

#include <array>

namespace tapml {
namespace {

constexpr std::string_view kText = R"({
  "hidden": 64, "eps": 1e-5, "tied": true, "act": "silu", "none": null,
  "half": 0.5, "whole": 64.0, "text": "64",
  "rope": {"factor": 8, "kind": "llama3"},
  "list": [1, 2, 3], "mixed": [1, "two"], "names": ["a", "b"]
})";

class JsonReaderTest : public ::testing::Test {
 protected:
  Json json = parse_json(kText, "c.json").value();
  JsonObjectReader r{json, "c.json"};
};

template <class T>
std::string text_of(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

TEST_F(JsonReaderTest, ReadsEveryType) {
  EXPECT_EQ(r.required_int("hidden", 1, 64).value(), 64);
  EXPECT_EQ(r.required_float("eps").value(), 1e-5);
  EXPECT_EQ(r.required_float("hidden").value(), 64);
  EXPECT_TRUE(r.required_bool("tied").value());
  EXPECT_EQ(r.required_string("act").value(), "silu");
  EXPECT_EQ(r.required_object("rope")->required_int("factor").value(), 8);
  EXPECT_EQ(r.required_int_array("list").value(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(r.required_string_array("names").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.required_array("mixed").value()->size(), 2u);
}

TEST_F(JsonReaderTest, OptionalFieldsMayBeAbsentOrNullButNotWrong) {
  EXPECT_EQ(r.optional_int("absent").value(), std::nullopt);
  EXPECT_EQ(r.optional_int("none").value(), std::nullopt);
  EXPECT_EQ(r.optional_int("hidden").value(), 64);
  EXPECT_EQ(r.int_or("absent", 7).value(), 7);
  EXPECT_EQ(r.float_or("none", 2.5).value(), 2.5);
  EXPECT_EQ(r.bool_or("tied", false).value(), true);
  EXPECT_EQ(r.string_or("absent", "x").value(), "x");
  EXPECT_FALSE(r.optional_object("none").value().has_value());
  EXPECT_EQ(r.optional_array("absent").value(), nullptr);
  EXPECT_FALSE(r.int_or("text", 7));
  EXPECT_FALSE(r.bool_or("hidden", true));
  EXPECT_FALSE(r.string_or("hidden", ""));
  EXPECT_FALSE(r.optional_object("list"));
  EXPECT_FALSE(r.has("none"));
  EXPECT_TRUE(r.has("half"));
}

TEST_F(JsonReaderTest, MissingFieldsNameTheObjectAndTheField) {
  EXPECT_EQ(text_of(r.required_int("layers", 1, 1000)),
            "c.json: \"layers\" is missing\n  where: c.json:1:1\n"
            "  expected: an integer from 1 to 1000\n  found: no such key");
  EXPECT_EQ(text_of(r.required_string("none")),
            "c.json: \"none\" is null\n  where: c.json:2:67\n  expected: a string\n  found: null");
  EXPECT_EQ(text_of(r.required_object("rope")->required_float("low", 0)),
            "c.json: \"rope.low\" is missing\n  where: c.json:4:11\n"
            "  expected: a number of at least 0.0\n  found: no such key");
}

TEST_F(JsonReaderTest, WrongTypesAndRangesNameTheValue) {
  EXPECT_EQ(text_of(r.required_int("text", 1)),
            "c.json: \"text\" is not an integer\n  where: c.json:3:39\n"
            "  expected: an integer of at least 1\n  found: the string \"64\"");
  EXPECT_EQ(r.required_int("half").error().found, "0.5");
  EXPECT_EQ(r.required_int("whole").error().found, "64.0");
  EXPECT_EQ(text_of(r.required_int("hidden", 1, 63)),
            "c.json: \"hidden\" is out of range\n  where: c.json:2:13\n"
            "  expected: an integer from 1 to 63\n  found: 64");
  EXPECT_EQ(r.required_float("eps", 1e-4, 1).error().expected, "a number from 1e-04 to 1.0");
  EXPECT_EQ(r.required_float("act").error().found, "the string \"silu\"");
  EXPECT_EQ(r.required_bool("hidden").error().expected, "true or false");
  EXPECT_EQ(r.required_array("rope").error().found, "an object");
  EXPECT_EQ(r.required_int_array("mixed").error().message,
            "c.json: \"mixed[1]\" is not an integer");
  EXPECT_EQ(r.required_int_array("mixed").error().where, "c.json:5:35");
  EXPECT_EQ(r.required_int_array("list", 2).error().message, "c.json: \"list[0]\" is out of range");
  EXPECT_EQ(r.required_string_array("list").error().message, "c.json: \"list[0]\" is not a string");
}

TEST_F(JsonReaderTest, ChoicesAreListed) {
  const std::array<std::string_view, 3> known = {"relu", "gelu", "silu"};
  EXPECT_EQ(r.required_choice("act", known).value(), "silu");
  auto unknown = r.required_choice("act", std::span(known).first(2));
  EXPECT_EQ(text_of(unknown),
            "c.json: \"act\" is not known\n  where: c.json:2:51\n  expected: relu or gelu\n"
            "  found: the string \"silu\"");
}

TEST_F(JsonReaderTest, FieldErrorsAndUnknownKeys) {
  Error error = r.field_error("hidden", "is not a multiple of \"heads\"", "a multiple of 6", "pad");
  EXPECT_EQ(error.message, "c.json: \"hidden\" is not a multiple of \"heads\"");
  EXPECT_EQ(error.where, "c.json:2:13");
  EXPECT_EQ(error.found, "64");
  EXPECT_EQ(error.hint, "pad");
  const std::array<std::string_view, 1> known = {"factor"};
  EXPECT_EQ(r.required_object("rope")->unknown_keys(known), std::vector<std::string>{"kind"});
}

TEST(JsonReaderTopTest, NotAnObject) {
  Json json = parse_json("[1]", "c.json").value();
  JsonObjectReader r(json, "c.json");
  EXPECT_EQ(text_of(r.required_int("a")),
            "c.json: the top level is not an object\n  where: c.json:1:1\n"
            "  expected: an object\n  found: an array of 1");
  EXPECT_FALSE(r.int_or("a", 1));
  EXPECT_FALSE(r.optional_array("a"));
}

}  // namespace
}  // namespace tapml
