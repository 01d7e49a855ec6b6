#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "text/parser.h"

namespace tapml::text {
namespace {

Error error_of(const std::string& text) {
  try {
    parse(text, "m.tapml");
  } catch (const CompilerException& e) {
    return e.error();
  }
  ADD_FAILURE() << "parsed:\n" << text;
  return {};
}

struct RefusedText {
  const char* name;
  const char* text;
  const char* place;
  const char* message;
  const char* expected;
  const char* found;
};

class ParserError : public testing::TestWithParam<RefusedText> {};

TEST_P(ParserError, NamesPositionExpectedAndFound) {
  const RefusedText& c = GetParam();
  Error error = error_of(c.text);
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_EQ(error.where.substr(0, error.where.find('\n')), std::string("m.tapml:") + c.place);
  EXPECT_EQ(error.message, c.message);
  EXPECT_EQ(error.expected, c.expected);
  EXPECT_EQ(error.found, c.found);
}

constexpr const char* kSyntax = "syntax error in a text module";

const RefusedText kRefusedTexts[] = {
    {"NoDef", "module\nfunc main", "2:1", kSyntax, "'def', 'impure def' or 'prim def'", "'func'"},
    {"TruncatedFunction", "def f(x: Object) -> Object {", "1:29", kSyntax,
     "a binding, 'dataflow' or 'return'", "the end of the text"},
    {"MissingArrow", "def f(x: Object) { return x }", "1:18", kSyntax, "'->' after the parameters",
     "'{'"},
    {"KeywordAsName", "def f(for: Object) -> Object { return x }", "1:7", kSyntax,
     "a parameter's name", "'for'"},
    {"UnknownAnnotation", "def f(x: Tensr) -> Object { return x }", "1:10", kSyntax,
     "an annotation: Tensor, Shape, Prim, Tuple, Callable or Object", "'Tensr'"},
    {"UndefinedVariable", "def f(x: Object) -> Object {\n  return y\n}", "2:10",
     "the name 'y' is not defined here", "a variable in scope", "'y'"},
    {"DataflowVariableOutside",
     "def f(x: Object) -> Object {\n  dataflow {\n    a: Object = g(x)\n  }\n  return a\n}", "5:10",
     "the name 'a' is not defined here", "a variable in scope", "'a'"},
    {"OutputOfAnotherBlock", "def f(x: Object) -> Object { dataflow { output x } return x }",
     "1:48", "'x' is not bound in this dataflow block", "", "'x'"},
    {"BoundTwice", "def f(x: Object) -> Object { x: Object = g(x) return x }", "1:30",
     "the name 'x' is bound twice", "a name that is not in scope", "'x'"},
    {"FunctionTwice", "def f() -> Object { return () }\ndef f() -> Object { return () }", "2:5",
     "the function 'f' is defined twice", "each function once", "'f'"},
    {"UndefinedSymbol", "def f(x: Tensor((n,), f32)) -> Tensor((m,), f32) { return x }", "1:40",
     "the name 'm' is not defined here", "a scalar variable in scope", "'m'"},
    {"SymbolNotBoundByBinding",
     "def f(x: Object) -> Object { y: Tensor((m,), f32) = g(x) return y }", "1:41",
     "the symbolic variable 'm' is not defined here", "one that a parameter or a match_cast binds",
     "'m'"},
    {"VariableAsDimension", "def f(x: Object, y: Tensor((x,), f32)) -> Object { return x }", "1:29",
     "'x' is a graph-level variable and is not allowed here", "a scalar variable", "'x'"},
    {"SymbolAsValue", "def f(x: Shape((n,))) -> Object { return n }", "1:42",
     "'n' is a scalar and is not allowed here", "a graph-level variable", "'n'"},
    {"AttributeTwice", "module {a: 1, a: 2}", "1:15", "the attribute 'a' is given twice",
     "each attribute once", "'a'"},
    {"MixedList", "module {a: [1, 2.0]}", "1:16", "a list holds values of one kind", "an integer",
     "'2.0'"},
    {"BadAttribute", "module {a: ,}", "1:12", kSyntax,
     "an attribute's value: true, false, a number, a string, a dtype or a list", "','"},
    {"IntegerTooLarge", "module {a: 9223372036854775808}", "1:12",
     "the integer does not fit into 64 bits with a sign",
     "-9223372036854775808 to 9223372036854775807", "'9223372036854775808'"},
    {"StringNotClosed", "module {a: \"abc\n}", "1:12", "an unterminated string", "a closing \"",
     ""},
    {"UnknownEscape", "module {a: \"a\\qb\"}", "1:14", "an unknown escape in a string",
     "\\n, \\t, \\\", \\\\ or \\xNN", ""},
    {"MalformedNumber", "module {a: 12ab}", "1:14", "a malformed number",
     "digits such as 12, 1.5, 1e-3 or 0x1.8p1", "\"12a\""},
    {"StrangeCharacter", "module ;", "1:8", "a character that the text format does not use", "",
     "\";\""},
    {"UnicodeColumn", "module {a: \"üüü\", ;}", "1:19",
     "a character that the text format does not use", "", "\";\""},
    {"ConstantCount", "def f() -> Object { return const(i32, (2, 2), [1, 2, 3]) }", "1:28",
     "the constant's number of elements does not match its shape", "4 for [2, 2]", "3"},
    {"ConstantRange", "def f() -> Object { return const(i8, (1,), [128]) }", "1:45",
     "the element is out of the range of i8", "-128 to 127", "'128'"},
    {"ConstantBool", "def f() -> Object { return const(bool, (2,), [true, 2]) }", "1:53",
     "the element is out of the range of bool", "true or false", "'2'"},
    {"NoNan", "def f() -> Object { return const(f16, (1,), [nan(0x7c00)]) }", "1:50",
     "these are not the bits of a NaN of f16", "", "'0x7c00'"},
    {"ConstantHugeShape", "def f() -> Object { return const(i8, (4294967296, 4294967296), []) }",
     "1:28",
     "the constant's shape is not valid: shape [4294967296, 4294967296] has too many elements", "",
     "'const'"},
    {"AnnotationNotLast", "def f(x: Object) -> Object { return g(Object, x) }", "1:47", kSyntax,
     "an annotation: these come last", "'x'"},
    {"WrongRankLoad",
     "prim def f(a: Buffer((n, 4), f32), out b: Buffer((n,), f32), n: i64) { b[0] = a[0] }", "1:79",
     "wrong number of indices of buffer 'a'", "2", "1"},
    {"WrongRankStore", "prim def f(out b: Buffer((4,), f32)) { b[0, 0] = f32(1) }", "1:40",
     "wrong number of indices of buffer 'b'", "1", "2"},
    {"UndefinedBuffer", "prim def f(out b: Buffer((4,), f32)) { b[0] = c[0] }", "1:47",
     "the name 'c' is not defined here", "a buffer in scope", "'c'"},
    {"LoopVariableOutside",
     "prim def f(out b: Buffer((4,), i64)) { for i in serial(4) { b[i] = i } b[0] = i }", "1:79",
     "the name 'i' is not defined here", "a scalar variable in scope", "'i'"},
    {"ShapeScalarNotListed", "prim def f(out b: Buffer((n,), f32)) { }", "1:27",
     "the name 'n' is not defined here", "a scalar variable in scope", "'n'"},
    {"UnknownLoopKind", "prim def f() { for i in range(4) { } }", "1:25", kSyntax,
     "serial, parallel, vectorized, unrolled, workgroup or thread", "'range'"},
    {"MixedDTypes", "prim def f(out b: Buffer((), f32), n: i64) { b[] = f32(1) + n }", "1:59",
     "the operands of '+' have different dtypes", "two operands of one dtype", "f32 and i64"},
    {"ChainedComparison", "prim def f(out b: Buffer((), bool), n: i64) { b[] = 0 < n < 4 }", "1:59",
     "comparisons do not chain", "", "'<'"},
    {"OperandCount", "prim def f(out b: Buffer((), i64), n: i64) { b[] = min(n) }", "1:52",
     "wrong number of operands of 'min'", "2", "1"},
    {"BareFloat", "prim def f(out b: Buffer((), f32)) { b[] = 1.5 }", "1:44",
     "a float constant needs its dtype", "f32(1.5)", "'1.5'"},
    {"CastSpelledAsConstant", "prim def f(out b: Buffer((), f32), n: i64) { b[] = f32(n) }", "1:56",
     "a typed constant holds a literal", "a number, inf or nan", "'n'"},
    {"UnknownRequirement", "prim def f(out b: Buffer((), i64)) requires {speed: 1} { b[] = 0 }",
     "1:46", "unknown requirement 'speed'", "workspace, in_place, prepared, bytes or digest",
     "'speed'"},
    {"RequirementTwice",
     "prim def f(out b: Buffer((), i64)) requires {workspace: 1, workspace: 2} { b[] = 0 }", "1:60",
     "the requirement 'workspace' is given twice", "each requirement once", "'workspace'"},
    {"InPlaceWithoutOutput",
     "prim def f(out b: Buffer((), i64)) requires {in_place: [0]} { b[] = 0 }", "1:46",
     "an input of in_place has no output", "pairs of an input and an output", "'in_place'"},
    {"PreparedInPart",
     "prim def f(out b: Buffer((), i64)) requires {prepared: [0], bytes: 4} { b[] = 0 }", "1:45",
     "the requirements of prepared data are incomplete", "prepared, bytes and digest together",
     "'{'"},
    {"UnknownCallStatement", "prim def f() { copy_asinc(x[0], y[0]) }", "1:16",
     "'copy_asinc' is not a statement", "copy_async, commit_copies or wait_copies", "'copy_asinc'"},
    {"UnknownMatrixOperation",
     "prim def f(out y: Buffer((1, 1), f32)) { alloc c: Buffer((1, 1), f32, fragment)\n"
     "c = matrix_zero(32) }",
     "2:5", kSyntax, "matrix_fill, matrix_load or matrix_multiply_add", "'matrix_zero'"},
    {"MatrixLayout",
     "prim def f(x: Buffer((1, 1), f32)) { alloc c: Buffer((1, 1), f32, fragment)\n"
     "c = matrix_load(x[0, 0], 1, rows, 32) }",
     "2:29", kSyntax, "row_major or column_major", "'rows'"},
    {"MatrixStoreOfAValue",
     "prim def f(out y: Buffer((1, 1), f32)) { y[0, 0] = matrix_store(f32(0), 1, row_major, 32) }",
     "1:65", kSyntax, "a fragment", "'f32'"},
    {"StrideCount", "prim def f() { alloc s: Buffer((4, 2), f32, shared, strides=(2, 2, 1)) }",
     "1:61", "wrong number of strides of buffer 's'", "2", "3"},
    {"UnknownScope", "prim def f() { alloc s: Buffer((4, 2), f32, register) }", "1:45", kSyntax,
     "global, shared, local, fragment or strides=", "'register'"},
    {"ParameterMode", "prim def f(output b: Buffer((), f32)) { }", "1:12", kSyntax,
     "a parameter: in, out, inout, workspace or prepared, then its name", "'output'"},
};

INSTANTIATE_TEST_SUITE_P(All, ParserError, testing::ValuesIn(kRefusedTexts),
                         [](const auto& info) { return info.param.name; });

TEST(ParserErrorText, ShowsTheLineAndACaret) {
  Error error = error_of("def f(x: Object) -> Object {\n\ty: Object = g(z)\n  return y\n}");
  EXPECT_EQ(error.where, "m.tapml:2:16\n    \ty: Object = g(z)\n    \t              ^");
}

TEST(ParserErrorText, CutsLongLines) {
  std::string text =
      "module {a: \"" + std::string(500, 'x') + "\", ;" + std::string(500, ' ') + "}";
  Error error = error_of(text);
  EXPECT_LT(error.where.size(), 320u);
  EXPECT_EQ(error.where.back(), '^');
}

TEST(ParserErrorText, ReportsWhereTheScopeEnded) {
  Error error = error_of(
      "def f(x: Object) -> Object {\n  dataflow {\n    a: Object = g(x)\n  }\n  return a\n}");
  EXPECT_EQ(error.hint, "the scope of the one bound at 3:5 has ended");
}

TEST(ParserErrorText, NamesTheScalarFunctions) {
  Error error = error_of("prim def f(out b: Buffer((), f32)) { b[] = expp(f32(1)) }");
  EXPECT_EQ(error.message, "'expp' is not a scalar function");
  EXPECT_NE(error.expected.find("cast, exp, "), std::string::npos);
}

TEST(ParserErrorText, AnyPrefixAndAnyByteIsRefusedCleanly) {
  const std::string text =
      "module {a: [1.0, inf], b: \"x\"}\n"
      "def f(x: Tensor((n, 4), f32), c: Callable((Object,), Object)) -> Object {k: f32} {\n"
      "  dataflow { a: Object = g(x, const(f16, (1,), [nan(0x7e01)])) {t: -1} output a }\n"
      "  y: Tensor((m,), f32) = match_cast(a, Tensor((m,), f32)) @origin(\"l\") @lines(\"b\")\n"
      "  z: Object = if (y) { yield x } else { yield (y, a)[0] }\n  return z\n}\n"
      "prim def k(a: Buffer((n,), f32), out b: Buffer((n,), f32), n: i64) {\n"
      "  alloc t: Buffer((1,), f32, local)\n"
      "  for i in parallel(n) { block \"x\" (vi: spatial(n) = i) { where i < n reads a[vi +: 1]\n"
      "    init { b[vi] = f32(0) } b[vi] = let v: f32 = exp(a[vi]) in select(true, v, t[0]) } }\n"
      "}\n";
  parse(text, "whole");
  auto attempt = [](const std::string& broken) {
    try {
      parse(broken, "broken");
    } catch (const CompilerException& e) {
      EXPECT_EQ(e.error().kind, ErrorKind::kUser) << e.what();
    }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    attempt(text.substr(0, i));
    for (char c : {'(', ')', '{', '}', '0', '"', ',', '\xff', '@', '-', 'x', '\0'}) {
      std::string broken = text;
      broken[i] = c;
      attempt(broken);
      attempt(text.substr(0, i) + c + text.substr(i));
    }
  }
}

}  // namespace
}  // namespace tapml::text
