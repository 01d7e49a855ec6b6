// Complete messages of the parser: the fault, the line with a caret, expected, found, hint.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "text/parser.h"

namespace tapml::text {
namespace {

struct WholeMessage {
  const char* name;
  std::string text;
  std::string message;
};

std::string parens(int count, const std::string& inside) {
  return std::string(static_cast<size_t>(count), '(') + inside +
         std::string(static_cast<size_t>(count), ')');
}

// ", exp, log, ...": the whole table.
std::string scalar_functions() {
  std::string names;
  for (const IntrinsicInfo& info : intrinsic_table()) names += std::string(", ") + info.name;
  return names;
}

const WholeMessage kWholeMessages[] = {
    {"Syntax", "prim def f(b: Buffer((4,), f32)) {\n  for i in parallel(4] {\n",
     R"(syntax error in a text module
  where: m.txt:2:22
      for i in parallel(4] {
                         ^
  expected: ')'
  found: ']')"},
    {"KeywordAsName", "def f(x: Object) -> Object {\n  for: Object = g(x)\n  return x\n}",
     R"(syntax error in a text module
  where: m.txt:2:3
      for: Object = g(x)
      ^
  expected: a binding, 'dataflow' or 'return'
  found: 'for'
  hint: 'for' is a keyword; to use it as a name, write it in backquotes)"},
    {"DTypeAsName", "def f(x: Object) -> Object {\n  u8: Object = g(x)\n  return x\n}",
     R"(syntax error in a text module
  where: m.txt:2:3
      u8: Object = g(x)
      ^
  expected: a binding, 'dataflow' or 'return'
  found: 'u8'
  hint: 'u8' is the name of a dtype; to use it as a name, write it in backquotes)"},
    {"UnterminatedString", "module {name: \"abc,\n  phase: \"x\"}",
     R"(an unterminated string
  where: m.txt:1:15
    module {name: "abc,
                  ^
  expected: a closing ")"},
    {"UnterminatedBody", "def f(x: Object) -> Object {\n  y: Object = g(x)\n",
     R"(syntax error in a text module
  where: m.txt:3:1
    
    ^
  expected: a binding, 'dataflow' or 'return'
  found: the end of the text)"},
    {"BadDType", "def f(x: Tensor((n,), float32)) -> Object { return x }",
     R"('float32' is not a dtype
  where: m.txt:1:23
    def f(x: Tensor((n,), float32)) -> Object { return x }
                          ^
  expected: one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64
  found: 'float32'
  hint: did you mean 'f32'?)"},
    {"BadDTypeOfBuffer", "prim def f(a: Buffer((4,), f33)) { }",
     R"('f33' is not a dtype
  where: m.txt:1:28
    prim def f(a: Buffer((4,), f33)) { }
                               ^
  expected: one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64
  found: 'f33'
  hint: did you mean 'f32'?)"},
    {"UndefinedName", "def f(hidden: Object) -> Object {\n  return hiden\n}",
     R"(the name 'hiden' is not defined here
  where: m.txt:2:10
      return hiden
             ^
  expected: a variable in scope
  found: 'hiden'
  hint: did you mean 'hidden'?)"},
    {"UndefinedSymbol", "def f(x: Tensor((rows, 4), f32)) -> Tensor((row, 4), f32) { return x }",

     R"(the name 'row' is not defined here
  where: m.txt:1:45
    def f(x: Tensor((rows, 4), f32)) -> Tensor((row, 4), f32) { return x }
                                                ^
  expected: a scalar variable in scope
  found: 'row'
  hint: did you mean 'rows'?)"},
    {"UndefinedBuffer", "prim def f(out scores: Buffer((4,), f32)) {\n  score[0] = f32(1.0)\n}",
     R"(the name 'score' is not defined here
  where: m.txt:2:3
      score[0] = f32(1.0)
      ^
  expected: a buffer in scope
  found: 'score'
  hint: did you mean 'scores'?)"},
    {"EndedScope",
     "prim def f(out b: Buffer((4,), i64)) {\n  for i in serial(4) { b[i] = i }\n  b[0] = i\n}",

     R"(the name 'i' is not defined here
  where: m.txt:3:10
      b[0] = i
             ^
  expected: a scalar variable in scope
  found: 'i'
  hint: the scope of the one bound at 2:7 has ended)"},
    {"DuplicateVariable", "def f(x: Object) -> Object {\n  x: Object = g(x)\n  return x\n}",
     R"(the name 'x' is bound twice
  where: m.txt:2:3
      x: Object = g(x)
      ^
  expected: a name that is not in scope
  found: 'x'
  hint: it is bound at 1:7)"},
    {"DuplicateFunction", "def f() -> Object { return () }\n\ndef f() -> Object { return () }",
     R"(the function 'f' is defined twice
  where: m.txt:3:5
    def f() -> Object { return () }
        ^
  expected: each function once
  found: 'f'
  hint: the first one is at 1:5)"},
    {"DuplicateAttribute", "def f() -> Object {pure: true, pure: false} { return () }",
     R"(the attribute 'pure' is given twice
  where: m.txt:1:32
    def f() -> Object {pure: true, pure: false} { return () }
                                   ^
  expected: each attribute once
  found: 'pure')"},
    {"ConstantOfAnotherShape",
     "def f() -> Object {\n  return const(f32, (2, 2), [1.0, 2.0, 3.0])\n}",
     R"(the constant's number of elements does not match its shape
  where: m.txt:2:10
      return const(f32, (2, 2), [1.0, 2.0, 3.0])
             ^
  expected: 4 for [2, 2]
  found: 3)"},
    {"WrongRank",
     "prim def f(a: Buffer((4, 4), f32), out b: Buffer((4,), f32)) {\n  b[0] = a[1]\n}",

     R"(wrong number of indices of buffer 'a'
  where: m.txt:2:10
      b[0] = a[1]
             ^
  expected: 2
  found: 1)"},
    {"WrongArity", "prim def f(out b: Buffer((), i64), n: i64) {\n  b[] = min(n)\n}",
     R"(wrong number of operands of 'min'
  where: m.txt:2:9
      b[] = min(n)
            ^
  expected: 2
  found: 1)"},
    {"MixedDTypes", "prim def f(out b: Buffer((), f32), n: i64) {\n  b[] = f32(1.0) + n\n}",
     R"(the operands of '+' have different dtypes
  where: m.txt:2:18
      b[] = f32(1.0) + n
                     ^
  expected: two operands of one dtype
  found: f32 and i64
  hint: a constant of another dtype than i64 is written f32(0), a conversion cast(f32, x))"},
    {"IntegerOverflow", "module {a: 9223372036854775808}",
     R"(the integer does not fit into 64 bits with a sign
  where: m.txt:1:12
    module {a: 9223372036854775808}
               ^
  expected: -9223372036854775808 to 9223372036854775807
  found: '9223372036854775808')"},
    {"ElementOverflow", "def f() -> Object { return const(i8, (2,), [1, 128]) }",
     R"(the element is out of the range of i8
  where: m.txt:1:48
    def f() -> Object { return const(i8, (2,), [1, 128]) }
                                                   ^
  expected: -128 to 127
  found: '128')"},
    {"FieldOverflow", "def f(t: Object) -> Object { return t[4294967296] }",
     R"(the index of a tuple's field is out of range
  where: m.txt:1:39
    def f(t: Object) -> Object { return t[4294967296] }
                                          ^
  expected: 0 to 2147483647
  found: '4294967296')"},
    {"MixedList", "module {axes: [1, 2.0]}",
     R"(a list holds values of one kind
  where: m.txt:1:19
    module {axes: [1, 2.0]}
                      ^
  expected: an integer
  found: '2.0')"},
    {"BadAttribute", "module {axis: x}",
     R"(syntax error in a text module
  where: m.txt:1:15
    module {axis: x}
                  ^
  expected: an attribute's value: true, false, a number, a string, a dtype or a list
  found: 'x')"},
    {"UnknownScalarFunction", "prim def f(out b: Buffer((), f32)) {\n  b[] = rsqr(f32(1.0))\n}",
     R"('rsqr' is not a scalar function
  where: m.txt:2:9
      b[] = rsqr(f32(1.0))
            ^
  expected: one of min, max, select, not, cast)" +
         scalar_functions() + R"(
  found: 'rsqr'
  hint: did you mean 'rsqrt'?)"},
    {"UntypedFloat", "prim def f(out b: Buffer((), f32)) {\n  b[] = 1.5\n}",
     R"(a float constant needs its dtype
  where: m.txt:2:9
      b[] = 1.5
            ^
  expected: f32(1.5)
  found: '1.5')"},
    {"StrangeCharacter", "def f(x: Object) -> Object { return 'x' }",
     R"(a character that the text format does not use
  where: m.txt:1:37
    def f(x: Object) -> Object { return 'x' }
                                        ^
  found: "'"
  hint: strings are written in double quotes)"},
    {"AfterTabsAndLetters", "def f(\xc3\xbc: Object) -> Object {\n\treturn x\n}",
     R"(a character that the text format does not use
  where: m.txt:1:7
    def f(ü: Object) -> Object {
          ^
  found: "ü")"},
    {"ScalarsNestedTooDeep",
     "prim def f(out b: Buffer((), i64)) {\n  b[] = " + parens(2000, "1") + "\n}",
     R"(the program is nested too deeply
  where: m.txt:2:1010
    ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((
                                                                                    ^
  expected: at most 1000 levels
  found: '(')"},
    {"ExpressionsNestedTooDeep", "def f(x: Object) -> Object { return " + parens(1001, "x") + " }",

     R"(the program is nested too deeply
  where: m.txt:1:1038
    ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((x)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
                                                                                    ^
  expected: at most 1000 levels
  found: 'x')"},
    {"ValueAsScalar", "def f(x: Object, y: Shape((n,))) -> Object { return n }",
     R"('n' is a scalar and is not allowed here
  where: m.txt:1:53
    def f(x: Object, y: Shape((n,))) -> Object { return n }
                                                        ^
  expected: a graph-level variable
  found: 'n'
  hint: a scalar as a value is written prim(n))"},
};

class Message : public testing::TestWithParam<WholeMessage> {};

TEST_P(Message, IsComplete) {
  const WholeMessage& c = GetParam();
  try {
    parse(c.text, "m.txt");
    ADD_FAILURE() << "parsed:\n" << c.text;
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().to_string(), c.message);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Message, testing::ValuesIn(kWholeMessages),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tapml::text
