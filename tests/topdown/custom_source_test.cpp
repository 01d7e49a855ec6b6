// Headers of custom kernels: valid ones, and errors with their position.
#include "topdown/kernels/custom_source.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "text/printer.h"

namespace tapml::topdown {
namespace {

using testing::expect_user_error;

constexpr const char* kScaled = R"(// A kernel of mine.
// prim def scaled(x: Buffer((n, m), f32), workspace t: Buffer((n,), f32),
//                 out y: Buffer((n, m), f32), n: i64, m: i64)
// launch first(x, t, n) over n
//   launch second(x, t, y, m, n) over n * (m // 4 + 1) in groups of 32
void code(void);
// launch third(x) over n
)";

TEST(CustomSource, ReadsSignatureAndLaunches) {
  const CustomSource source = parse_custom_source("k/scaled.c", kScaled);
  EXPECT_EQ(source.name, "scaled");
  EXPECT_EQ(source.line, 2);
  EXPECT_EQ(signature_text(*source.signature),
            "(x: Buffer((n, m), f32), out y: Buffer((n, m), f32), n: i64, m: i64)");
  ASSERT_EQ(source.launches.size(), 2u) << "the text after the header is code";
  // Parameters come first, then workspaces.
  EXPECT_EQ(source.tensors()[2].buffer->name, "t");
  EXPECT_EQ(source.launches[0].entry, "first");
  EXPECT_EQ(source.launches[0].buffers, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(source.launches[0].scalars, (std::vector<int32_t>{0}));
  EXPECT_EQ(source.launches[0].group, 64);
  EXPECT_EQ(source.launches[1].buffers, (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(source.launches[1].scalars, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(text::print(source.launches[1].extent), "n*(m//4 + 1)");
  EXPECT_EQ(source.launches[1].group, 32);
  EXPECT_EQ(source.launches[1].line, 5);
}

TEST(CustomSource, WithoutALaunchOneFunctionTakesEverything) {
  const CustomSource source = parse_custom_source(
      "k.comp",
      "#version 450\n\n// prim def f_0123abcd(x: Buffer((n, 8), f32), out y: Buffer((n, 2), f32), "
      "n: i64)\n");
  ASSERT_EQ(source.launches.size(), 1u);
  EXPECT_EQ(source.launches[0].entry, "f_0123abcd");
  EXPECT_EQ(source.launches[0].buffers, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(source.launches[0].scalars, (std::vector<int32_t>{0}));
  EXPECT_EQ(text::print(source.launches[0].extent), "n*2");
}

struct BadHeader {
  const char* name;
  const char* text;
  std::vector<std::string> parts;  // of the message
};

void PrintTo(const BadHeader& bad, std::ostream* out) { *out << bad.name; }

class BadHeaders : public ::testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaders, AreRefusedWithTheirPosition) {
  expect_user_error([] { parse_custom_source("k.cl", GetParam().text); }, GetParam().parts);
}

#define TAPML_SIGNATURE \
  "// A kernel.\n// prim def f(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64)\n"

INSTANTIATE_TEST_SUITE_P(
    Headers, BadHeaders,
    ::testing::Values(
        BadHeader{"empty", "", {"k.cl:1", "has no signature", "prim def"}},
        BadHeader{"code_first", "int a;\n" TAPML_SIGNATURE, {"k.cl:1", "no comment"}},
        BadHeader{"no_signature", "// a kernel\n", {"k.cl:1", "no line `// prim def"}},
        BadHeader{"syntax",
                  "// A kernel.\n//\n// prim def f(x: Buffer(n, 8), f32)\n",
                  {"k.cl:3:25", "kernel skeleton"}},
        BadHeader{"open", "// prim def f(x: Buffer((n, 8), f32)\n", {"k.cl:1"}},
        BadHeader{"unknown_dtype", "//\n// prim def f(x: Buffer((8,), f31))\n", {"k.cl:2:", "f31"}},
        BadHeader{"no_output", "// prim def f(x: Buffer((8,), f32))\n", {"k.cl:1", "no output"}},
        BadHeader{"prepared",
                  "// prim def f(prepared x: Buffer((8,), f32))\n",
                  {"k.cl:1", "cannot prepare weights"}},
        BadHeader{"launch_form", TAPML_SIGNATURE "// launch f(x, y)\n", {"k.cl:3", "over EXTENT"}},
        BadHeader{"launch_name", TAPML_SIGNATURE "// launch (x, y) over n\n", {"k.cl:3", "ENTRY"}},
        BadHeader{"argument",
                  TAPML_SIGNATURE "// launch f(x, z) over n\n",
                  {"k.cl:3", "\"z\"", "x, y, n"}},
        BadHeader{
            "order", TAPML_SIGNATURE "// launch f(n, x) over n\n", {"k.cl:3", "after a scalar"}},
        BadHeader{"extent", TAPML_SIGNATURE "// launch f(x) over n + \n", {"k.cl:"}},
        BadHeader{"extent_name", TAPML_SIGNATURE "// launch f(x) over m\n", {"k.cl:3:21", "m"}},
        BadHeader{"group",
                  TAPML_SIGNATURE "// launch f(x) over n in groups of 0\n",
                  {"k.cl:3", "from 1 to"}},
        BadHeader{"group_text",
                  TAPML_SIGNATURE "// launch f(x) over n in groups of many\n",
                  {"k.cl:3", "many"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml::topdown
