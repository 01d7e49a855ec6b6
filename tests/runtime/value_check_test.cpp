#include "runtime/value_check.h"

#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::check_value;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;

const VmFunction function;

// check_value reads no bytes.
Value tensor(DType dtype, Shape shape) { return Tensor{nullptr, 0, dtype, std::move(shape)}; }

Value tuple(ValueList fields) {
  Value value;
  value.data = std::make_shared<const ValueList>(std::move(fields));
  return value;
}

ValueCheck tensor_check(std::vector<DimCheck> dims) {
  ValueCheck check;
  check.kind = ValueCheck::Kind::kTensor;
  check.has_dtype = true;
  check.dtype = DType::kF32;
  check.has_dims = true;
  check.dims = std::move(dims);
  check.where = "parameter x of main";
  return check;
}

TEST(ValueCheckTest, FirstOccurrencesDefineAndLaterOnesCompare) {
  ValueCheck check = tensor_check({{0, {}, "n"},
                                   {-1, slot(0), "n"},
                                   {-1, affine(0, 2, 1), "n * 2 + 1"},
                                   {-1, constant(8), "8"}});
  std::vector<int64_t> slots(1);
  Status fine = check_value(function, check, tensor(DType::kF32, {3, 3, 7, 8}), slots);
  EXPECT_TRUE(fine) << fine.error().to_string();
  EXPECT_EQ(slots[0], 3);

  Status wrong = check_value(function, check, tensor(DType::kF32, {4, 4, 8, 8}), slots);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kUser);
  EXPECT_EQ(wrong.error().message, "dimension 2 of parameter x of main is 8, not n * 2 + 1 = 9");
  EXPECT_EQ(wrong.error().found, "8 (a tensor f32[4, 4, 8, 8])");

  wrong = check_value(function, check, tensor(DType::kF32, {4, 4, 9, 9}), slots);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().expected, "8") << "a constant is not said twice";
}

TEST(ValueCheckTest, ExpectationsSayWhereSymbolsGotTheirValues) {
  VmFunction main;
  main.name = "main";
  main.slots = 3;
  main.sources = {{"n", "", "dimension 0 of parameter x"},
                  {"m", "m + 1", "the value of parameter k"}};
  std::vector<int64_t> slots = {3, 5, 7};
  auto expected = [&](const ScalarProgram& equals, const char* expression) {
    return check_value(main, tensor_check({{-1, equals, expression}}), tensor(DType::kF32, {1}),
                       slots)
        .error()
        .expected;
  };
  EXPECT_EQ(expected(slot(0), "n"), "n = 3 (n is dimension 0 of parameter x)");
  EXPECT_EQ(expected(affine(0, 2, 1), "n*2 + 1"),
            "n*2 + 1 = 7 (n = 3 is dimension 0 of parameter x)");
  EXPECT_EQ(expected(slot(1), "m"), "m = 5 (m + 1 is the value of parameter k)");
  EXPECT_EQ(expected(affine(1, 1, 2), "m + 2"),
            "m + 2 = 7 (m = 5 as m + 1 is the value of parameter k)");
  EXPECT_EQ(expected(slot(2), "found"), "found = 7") << "a slot without a name";
  ScalarProgram sum{{{ScalarOp::kSlot, 1}, {ScalarOp::kSlot, 0}, {ScalarOp::kAdd, 0}}};
  EXPECT_EQ(expected(sum, "n + m"),
            "n + m = 8 (n = 3 is dimension 0 of parameter x, m = 5 as m + 1 is the value of "
            "parameter k)");
  EXPECT_EQ(expected(sum, "nm"), "nm = 8") << "names are whole words";
}

TEST(ValueCheckTest, ABoundNamesTheVariableAndItsSource) {
  VmFunction main;
  main.name = "main";
  main.slots = 1;
  main.sources = {{"n", "", "dimension 0 of parameter x"}};
  std::vector<int64_t> slots(1);
  const ValueCheck check = tensor_check({{0, {}, "n", 4}});
  EXPECT_TRUE(check_value(main, check, tensor(DType::kF32, {4}), slots));
  Status wrong = check_value(main, check, tensor(DType::kF32, {5}), slots);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "n is 5, above its bound of 4 (n is dimension 0 of parameter x)");
  EXPECT_EQ(wrong.error().where, "function main");
  EXPECT_EQ(wrong.error().expected, "n <= 4");
  EXPECT_EQ(wrong.error().found, "5");
}

TEST(ValueCheckTest, RankAndDtype) {
  std::vector<int64_t> slots(1);
  ValueCheck check = tensor_check({{0, {}, "n"}});
  EXPECT_EQ(check_value(function, check, tensor(DType::kF32, {1, 2}), slots).error().expected,
            "a tensor of f32 with 1 dimensions");
  EXPECT_EQ(check_value(function, check, tensor(DType::kBF16, {1}), slots).error().found,
            "a tensor bf16[1]");
  check.has_dims = false;
  check.dims.clear();
  EXPECT_TRUE(check_value(function, check, tensor(DType::kF32, {1, 2, 3}), slots));
  check.has_dtype = false;
  check.ndim = 2;
  EXPECT_TRUE(check_value(function, check, tensor(DType::kI64, {1, 2}), slots));
  EXPECT_EQ(check_value(function, check, tensor(DType::kI64, {1}), slots).error().expected,
            "a tensor with 2 dimensions");
  EXPECT_TRUE(check_value(function, ValueCheck{}, Value(), slots)) << "anything";
}

TEST(ValueCheckTest, TuplesNameTheField) {
  std::vector<int64_t> slots(1);
  ValueCheck check;
  check.kind = ValueCheck::Kind::kTuple;
  check.where = "result of f";
  check.fields = {tensor_check({{0, {}, "n"}}), tensor_check({{-1, slot(0), "n"}})};
  check.fields[0].where = "";
  check.fields[1].where = "";
  EXPECT_TRUE(check_value(function, check,
                          tuple({tensor(DType::kF32, {2}), tensor(DType::kF32, {2})}), slots));
  Status wrong = check_value(function, check,
                             tuple({tensor(DType::kF32, {2}), tensor(DType::kF32, {3})}), slots);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "field 1 of result of f, dimension 0");
  wrong = check_value(function, check, tuple({tensor(DType::kF32, {2})}), slots);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().expected, "a tuple of 2 fields");
  EXPECT_EQ(wrong.error().found, "a tuple of 1 fields");
}

TEST(ValueCheckTest, AnExpressionThatCannotBeComputed) {
  std::vector<int64_t> slots(1);
  ScalarProgram divides{{{ScalarOp::kConst, 4}, {ScalarOp::kSlot, 0}, {ScalarOp::kFloorDiv, 0}}};
  ValueCheck check = tensor_check({{0, {}, "n"}, {-1, divides, "4 // n"}});
  EXPECT_FALSE(check_value(function, check, tensor(DType::kF32, {0, 1}), slots));
}

}  // namespace
}  // namespace tapml::test
