// Which rule the cpu uses for the tensor program of an operator: rows stay in one item.
#include <gtest/gtest.h>

#include "op/operator.h"
#include "schedule/rules.h"
#include "text/printer.h"

namespace tapml::schedule {
namespace {

using relax::Expr;

Expr tensor(Dims shape, DType dtype) {
  return relax::make_variable("x", relax::tensor_annotation(std::move(shape), dtype));
}

std::string rule_of(const char* op, std::vector<Dims> shapes, AttrMap attrs = {},
                    DType dtype = DType::kF32) {
  std::vector<Expr> args;
  for (Dims& shape : shapes) args.push_back(tensor(std::move(shape), dtype));
  Expr call = relax::make_op_call(op, std::move(args), std::move(attrs));
  op::CallView view = op::view_call(*relax::as<relax::CallNode>(call));
  return schedule_for(*view.info.legalize(view), target::parse_target("cpu")).rule;
}

TEST(OperatorRules, NormalizationsAreOneItemPerRow) {
  Var n = make_var("n"), b = make_var("b");
  AttrMap last = {{"axes", std::vector<int64_t>{-1}}};
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    EXPECT_EQ(rule_of("softmax", {{n, 64}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("log_softmax", {{b, n, 64}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("rms_norm", {{b, n, 64}, {64}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("layer_norm", {{b, n, 64}, {64}, {64}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("layer_norm", {{b, n, 64}, {n, 64}, {n, 64}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("instance_norm", {{b, n, 8, 8}, {n}, {n}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("batch_norm", {{b, n, 8}, {n}, {n}, {n}, {n}}, {}, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("variance", {{b, n, 64}}, last, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("logsumexp", {{b, n, 64}}, last, dtype), "cpu_rows");
    EXPECT_EQ(rule_of("argmin", {{b, n}}, {}, dtype), "cpu_rows");
  }
}

TEST(OperatorRules, OneStageIsOneLaunch) {
  Var n = make_var("n");
  AttrMap last = {{"axes", std::vector<int64_t>{-1}}};
  for (const char* name : {"gelu", "floor", "isnan", "square", "asinh"}) {
    EXPECT_EQ(rule_of(name, {{n, 64}}), "cpu_elementwise") << name;
  }
  for (const char* name : {"floor_mod", "power", "less_equal", "logical_xor"}) {
    EXPECT_EQ(rule_of(name, {{n, 64}, {64}}), "cpu_elementwise") << name;
  }
  for (const char* name : {"sum", "mean", "prod", "min", "all"}) {
    EXPECT_EQ(rule_of(name, {{n, 64}}, last), "cpu_reduction") << name;
    EXPECT_EQ(rule_of(name, {{n, 64}}, last, DType::kF16), "cpu_reduction") << name;
  }
}

// A scale of a group is read once for its elements, whose loop is then a vector.
TEST(OperatorRules, GroupsAreLoopsOfTheirOwn) {
  const auto text_of = [](int64_t group) {
    Expr call = relax::make_op_call("quantize", {tensor({make_var("n"), 96}, DType::kF32)},
                                    {{"group", group}});
    op::CallView view = op::view_call(*relax::as<relax::CallNode>(call));
    Module module;
    module.functions["k"] =
        schedule_for(*view.info.legalize(view), target::parse_target("cpu")).func;
    return text::print(module);
  };
  const std::string wide = text_of(32);
  EXPECT_NE(wide.find("_place in vectorized(32)"), std::string::npos) << wide;
  EXPECT_EQ(wide.find("//32"), std::string::npos) << wide;
  const std::string narrow = text_of(3);
  EXPECT_NE(narrow.find("in vectorized(96)"), std::string::npos) << narrow;
}

}  // namespace
}  // namespace tapml::schedule
