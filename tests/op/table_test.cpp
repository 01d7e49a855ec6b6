// Every entry of the operator table is complete and documented.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "op/operator.h"
#include "operators_page.h"

namespace tapml::op {
namespace {

TEST(OperatorTable, EveryEntryHasEveryPart) {
  std::set<std::string> names;
  for (const OperatorInfo* info : operator_table()) {
    SCOPED_TRACE(info->name);
    EXPECT_TRUE(names.insert(info->name).second) << "listed twice";
    EXPECT_EQ(find_operator(info->name), info);
    EXPECT_GT(std::string(info->doc).size(), 5u);
    EXPECT_NE(info->deduce, nullptr);
    EXPECT_TRUE(info->legalize || info->decompose);
    EXPECT_NE(info->reference, nullptr);
    EXPECT_GE(info->outputs, kTupleOfOutputs);
    EXPECT_FALSE(info->args.empty());
    EXPECT_FALSE(info->generator.dtypes.empty());
    EXPECT_LT(info->generator.low, info->generator.high);
    bool takes_tensor = false;
    for (size_t i = 0; i < info->args.size(); ++i) {
      const ArgumentSpec& arg = info->args[i];
      EXPECT_GT(std::string(arg.name).size(), 0u);
      EXPECT_GT(std::string(arg.doc).size(), 2u) << arg.name;
      takes_tensor |= arg.kind == ArgumentKind::kTensor || arg.kind == ArgumentKind::kTensors;
      if (arg.kind == ArgumentKind::kTensors) {
        EXPECT_EQ(i + 1, info->args.size());
      }
    }
    EXPECT_EQ(info->generator.ranks.empty(), !takes_tensor);
    for (const AttributeSpec& attr : info->attrs) {
      EXPECT_GT(std::string(attr.doc).size(), 2u) << attr.name;
    }
    for (int64_t source : info->inout) EXPECT_LT(source, static_cast<int64_t>(info->args.size()));
  }
  EXPECT_GE(names.size(), 120u);
}

TEST(OperatorTable, HasWhatLlamaNeeds) {
  for (const char* name :
       {"take", "matmul", "add", "multiply", "silu", "rms_norm", "rope", "reshape", "permute",
        "concat", "split", "slice", "cast", "kv_append", "paged_attention", "argmax"}) {
    EXPECT_NE(find_operator(name), nullptr) << name;
  }
  EXPECT_EQ(find_operator("kv_append")->inout, std::vector<int64_t>{0});
  EXPECT_EQ(find_operator("split")->outputs, kTupleOfOutputs);
  EXPECT_EQ(find_operator("no_such_operator"), nullptr);
}

// Binary and unary operators of published compiler fuzzers (HirGen, section 4).
TEST(OperatorTable, HasWhatFuzzersDraw) {
  const std::set<std::string> drawn = {
      "add",           "subtract",     "multiply",    "divide",      "power",       "mod",
      "floor_mod",     "floor_divide", "logical_and", "logical_or",  "logical_xor", "bitwise_and",
      "bitwise_or",    "equal",        "not_equal",   "less",        "less_equal",  "greater",
      "greater_equal", "maximum",      "minimum",     "right_shift", "left_shift",  "log",
      "log2",          "log10",        "tan",         "tanh",        "cos",         "cosh",
      "sin",           "sinh",         "acos",        "acosh",       "asin",        "asinh",
      "atan",          "atanh",        "exp",         "erf",         "sqrt",        "rsqrt",
      "sigmoid",       "floor",        "ceil",        "trunc",       "round",       "abs",
      "sign",          "negative",     "logical_not", "bitwise_not", "zeros_like",  "ones_like",
      "copy",          "isnan",        "isfinite",    "isinf"};
  EXPECT_EQ(drawn.size(), 58u);
  for (const std::string& name : drawn) EXPECT_NE(find_operator(name), nullptr) << name;
}

// TAPML_UPDATE_DOCS=1 rewrites the page.
TEST(OperatorTable, IsDocumented) {
  const std::string path = std::string(TAPML_SOURCE_DIR) + "/docs/operators.md";
  const char* update = std::getenv("TAPML_UPDATE_DOCS");
  if (update && *update == '1') std::ofstream(path) << operators_page();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_FALSE(text.str().empty());
  EXPECT_TRUE(text.str() == operators_page())
      << "docs/operators.md is not what the table says: run test_op with TAPML_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tapml::op
