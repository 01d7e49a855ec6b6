// Every form of nesting, far deeper than any stack: refused with a message.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "text/parser.h"

namespace tapml::text {
namespace {

struct Nesting {
  const char* name;
  const char* head;
  const char* level;  // repeated
};

constexpr int kLevels = 50000;
constexpr const char* kScalar = "prim def f(out b: Buffer((4,), i64), n: i64) { b[0] = ";
constexpr const char* kStatement = "prim def f(out b: Buffer((4,), i64)) {";
constexpr const char* kValue = "def f(x: Object) -> Object { return ";

const Nesting kNestings[] = {
    {"Lists", "module {a: ", "["},
    {"Parentheses", kScalar, "("},
    {"Sums", kScalar, "1 + ("},
    {"LongSum", kScalar, "1 + "},
    {"Calls", kScalar, "not("},
    {"Intrinsics", kScalar, "abs("},
    {"Lets", kScalar, "let v: i64 = "},
    {"LetBodies", kScalar, "let v: i64 = 1 in "},
    {"Loads", kScalar, "b["},
    {"Casts", kScalar, "cast(i64, "},
    {"Selects", kScalar, "select(true, 1, "},
    {"Loops", kStatement, "for i in serial(4) {"},
    {"Branches", kStatement, "if true {"},
    {"ElseBranches", kStatement, "if true { } else {"},
    {"Blocks", kStatement, "block \"b\" () {"},
    {"Inits", kStatement, "block \"b\" () { init {"},
    {"Braces", kStatement, "{"},
    {"Tuples", kValue, "("},
    {"TuplesOfTwo", kValue, "(x, "},
    {"Arguments", kValue, "g("},
    {"Results", kValue, "if (x) "},
    {"Conditions", kValue, "if ("},
    {"Sequences", kValue, "{ yield "},
    {"Functions", kValue, "def () -> Object { return "},
    {"Bindings", "def f(x: Object) -> Object ", "{ y: Object = "},
    {"TupleAnnotations", "def f(x: ", "Tuple("},
    {"CallableParameters", "def f(x: ", "Callable(("},
    {"CallableResults", "def f(x: ", "Callable((), "},
    {"Dimensions", "def f(x: Tensor((n + ", "("},
};

class NestedText : public testing::TestWithParam<Nesting> {};

TEST_P(NestedText, IsRefused) {
  std::string text = GetParam().head;
  for (int i = 0; i < kLevels; ++i) text += GetParam().level;
  try {
    parse(text, "m.txt");
    ADD_FAILURE() << "it parsed";
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(All, NestedText, testing::ValuesIn(kNestings),
                         [](const auto& info) { return info.param.name; });

TEST(NestedTextFields, AreRefused) {
  std::string text = kValue + std::string("x");
  for (int i = 0; i < kLevels; ++i) text += "[0]";
  EXPECT_THROW(parse(text + " }", "m.txt"), CompilerException);
}

}  // namespace
}  // namespace tapml::text
