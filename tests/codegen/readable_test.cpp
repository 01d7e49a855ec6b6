// Readable code: literals, names and parentheses.
#include "codegen/source/readable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "codegen/source/literal.h"

namespace tapml::codegen {
namespace {

TEST(DecimalLiteral, HasTheFewestDigitsThatReadBack) {
  EXPECT_EQ(decimal_literal(0.5, DType::kF32), "0.5");
  EXPECT_EQ(decimal_literal(64, DType::kF32), "64.0");
  EXPECT_EQ(decimal_literal(1e-5F, DType::kF32), "1e-05");
  EXPECT_EQ(decimal_literal(-0.0, DType::kF32), "-0.0");
  EXPECT_EQ(decimal_literal(0.1, DType::kF32), "0.1");
  EXPECT_EQ(decimal_literal(0.1, DType::kF64), "0.1");
  EXPECT_EQ(decimal_literal(0.1F, DType::kF64), "0.10000000149011612");
  EXPECT_EQ(decimal_literal(0.1, DType::kBF16), "0.100097656");
  EXPECT_EQ(decimal_operand(-2, DType::kF32, "f"), "(-2.0f)");
  EXPECT_EQ(decimal_operand(2, DType::kF64, "lf"), "2.0lf");
}

TEST(DecimalLiteral, ReadsBackThroughEitherWidth) {
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525U + 1013904223U;
    float value = 0;
    std::memcpy(&value, &state, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = decimal_literal(value, DType::kF32);
    ASSERT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
    ASSERT_EQ(static_cast<float>(std::strtod(text.c_str(), nullptr)), value) << text;
    const double wide = value * 1.000000119;
    ASSERT_EQ(std::strtod(decimal_literal(wide, DType::kF64).c_str(), nullptr), wide);
  }
}

TEST(Parentheses, RedundantOnesAreRemoved) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"y[(((i * 4) + j) * 64)] = (a + (b * c));", "y[(i * 4 + j) * 64] = a + b * c;"},
           {"x = ((a + b) + c);", "x = a + b + c;"},
           {"x = (a + (b + c));", "x = a + (b + c);"},
           {"x = (a - (b - c));", "x = a - (b - c);"},
           {"x = (a / (b * c));", "x = a / (b * c);"},
           {"x = ((a / b) * c);", "x = a / b * c;"},
           {"if (((i + 1) < n)) {", "if (i + 1 < n) {"},
           {"x = ((i < n) ? (a * b) : (i ? c : d));", "x = i < n ? a * b : (i ? c : d);"},
           {"x = ((i & 3) * 8);", "x = (i & 3) * 8;"},
           {"x = (a * (-2.0f));", "x = a * (-2.0f);"},
           {"x = ((float)(a + b) * c);", "x = (float)(a + b) * c;"},
           {"x = (uint)-y;", "x = (uint)-y;"},
           {"x = (!(a && b) || (c && d));", "x = (!(a && b) || (c && d));"},
           {"f((a + b), (c));", "f(a + b, c);"},
           {"x = ((a < b) == (c < d));", "x = (a < b) == (c < d);"},
           {"p = (__global const float*)(base + offset);",
            "p = (__global const float*)(base + offset);"},
           {"for (int i = 0; i < (n + 1); ++i) {", "for (int i = 0; i < n + 1; ++i) {"},
           {"x = (1e-05f + (2.5e+3f * a));", "x = 1e-05f + 2.5e+3f * a;"},
       }) {
    EXPECT_EQ(without_needless_parentheses(from), to);
  }
}

TEST(Signatures, AreBrokenWhereTheyAreLong) {
  const std::string one = "__global uchar* restrict base_squares", rest = "x = 1;\n";
  EXPECT_EQ(with_short_signatures("__kernel void k(long a, long b) {\n" + rest),
            "__kernel void k(long a, long b) {\n" + rest);
  EXPECT_EQ(
      with_short_signatures("__kernel void k(" + one + ", " + one + ", " + one + ") {\n" + rest),
      "__kernel void k(\n    " + one + ", " + one + ",\n    " + one + ") {\n" + rest);
}

TEST(PlainNames, AreUsedWhereTheyAreFree) {
  EXPECT_EQ(with_plain_names("x_0[i_n_0] = x_1[item_0];", {}), "x[i_n] = x_1[item];");
  // Keywords of the languages, entry points, helpers, and names already in the code.
  EXPECT_EQ(
      with_plain_names("void rms_1f_0(in_0, exp_0) { tapml_help_0(y_0, y); }", {"rms_1f_0"}, true),
      "void rms_1f_0(in_0, exp_0) { tapml_help_0(y_0, y); }");
  // Distinct names stay distinct.
  EXPECT_EQ(with_plain_names("x_0_0 = x_0;", {}), "x_0_0 = x;");
}

}  // namespace
}  // namespace tapml::codegen
