// Every entry of the operator table is whole, and documented.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "op/operator.h"

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
    EXPECT_NE(info->legalize, nullptr);
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
  EXPECT_GE(names.size(), 35u);
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

// docs/operators.md: a section "## name" for each operator, with its description, and each argument
// and attribute in backticks.
TEST(OperatorTable, IsDocumented) {
  std::ifstream file(std::string(TAPML_SOURCE_DIR) + "/docs/operators.md");
  // Line breaks and indentation are free.
  std::string text, word;
  while (file >> word) text += word + " ";
  ASSERT_FALSE(text.empty());
  for (const OperatorInfo* info : operator_table()) {
    SCOPED_TRACE(info->name);
    size_t start = text.find("## " + std::string(info->name) + " ");
    ASSERT_NE(start, std::string::npos);
    std::string section = text.substr(start, text.find(" ## ", start + 1) - start);
    EXPECT_NE(section.find(info->doc), std::string::npos);
    for (const ArgumentSpec& arg : info->args) {
      EXPECT_NE(section.find("`" + std::string(arg.name) + "`: " + arg.doc), std::string::npos)
          << arg.name;
    }
    for (const AttributeSpec& attr : info->attrs) {
      EXPECT_NE(section.find("`" + std::string(attr.name) + "` "), std::string::npos) << attr.name;
      EXPECT_NE(section.find(attr.doc), std::string::npos) << attr.name;
    }
  }
}

}  // namespace
}  // namespace tapml::op
