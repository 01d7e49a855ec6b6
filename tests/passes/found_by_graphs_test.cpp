// Regressions that random programs found, as small as they go.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "interp/interpreter.h"
#include "passes/legalize.h"
#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

Module legalized(const std::string& text) {
  Module result = legalize(text::parse("module\n" + text, "test"));
  analysis::verify(result, "legalize");
  build::check_annotations(result, "legalize");
  return result;
}

TEST(FoundByGraphs, OneSectionOfASplitIsATupleStill) {
  Module module = legalized(R"(
def main(x: Tensor((n, 2), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    parts: Tuple(Tensor((n, 2), f32)) = op "split"(x) {axis: 0, sections: 1}
    y: Tensor((n, 2), f32) = parts[0]
    output y
  }
  return y
})");
  op::RefTensor x = op::RefTensor::zeros(DType::kF32, {1, 2});
  x.values = {3, 4};
  for (auto body : {interp::KernelBody::kSpec, interp::KernelBody::kLoops}) {
    EXPECT_EQ(interp::call(module, "main", {interp::Value::tensor(x)}, body).as_tensor().values,
              x.values);
  }
}

TEST(FoundByGraphs, ABoolIsPaddedWithABool) {
  Module module = legalized(R"(
def main(x: Tensor((1,), bool)) -> Tensor((3,), bool) {
  dataflow {
    y: Tensor((3,), bool) = op "pad"(x) {mode: "constant", value: 3.0, widths: [1, 1]}
    output y
  }
  return y
})");
  interp::Value x = interp::Value::tensor(op::RefTensor::zeros(DType::kBool, {1}));
  EXPECT_EQ(interp::call(module, "main", {x}, interp::KernelBody::kLoops).as_tensor().values,
            (std::vector<double>{1, 0, 1}));
}

const char* const kUpdate = R"(
def main(pool: Tensor((3, 2, 1, 1), f32), fresh: Tensor((1, 2, 1, 1), f32),
         table: Tensor((1, 2), i32), lengths: Tensor((1,), i32)) -> Tensor((3, 2, 1, 1), f32) {
  dataflow {
)";
const char* const kEnd = R"(
    output b
  }
  return b
})";

TEST(FoundByGraphs, WhatWasUpdatedInPlaceIsNotReadAgain) {
  testing::expect_user_error(
      [] {
        legalized(std::string(kUpdate) + R"(
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((3, 2, 1, 1), f32) = add(a, pool))" +
                  kEnd);
      },
      {"'pool' is used after kv_append updated it in place", "@main, b", "copy(pool)"});
  // Another name of the same storage is no way around it.
  testing::expect_user_error(
      [] {
        legalized(std::string(kUpdate) + R"(
    flat: Tensor((6,), f32) = reshape(pool, shape(6))
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((6,), f32) = negative(flat))" +
                  kEnd);
      },
      {"'flat' is used after kv_append"});
  legalized(std::string(kUpdate) + R"(
    kept: Tensor((3, 2, 1, 1), f32) = copy(pool)
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((3, 2, 1, 1), f32) = add(a, kept))" +
            kEnd);
}

}  // namespace
}  // namespace tapml::passes
