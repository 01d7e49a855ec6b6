#include "runtime/storage_op.h"

#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::storage_operation;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;

// Views of f32[2, 3] with elements 0 to 5.
class StorageOp : public ::testing::Test {
 protected:
  void SetUp() override {
    auto tensor = runtime::upload(*test_, f32({0, 1, 2, 3, 4, 5}));
    ASSERT_TRUE(tensor);
    tensor_ = std::move(*tensor);
    tensor_.shape = Shape{2, 3};
  }

  Result<Value> slice(const Value& of, Shape begin, Shape size) {
    const Value from(std::move(begin)), wanted(std::move(size));
    const Value* operands[] = {&from, &wanted};
    return storage_operation(StorageAction::kSlice, of, operands, {});
  }
  Result<Value> transpose(const Value& of, std::vector<int32_t> axes) {
    return storage_operation(StorageAction::kTranspose, of, {}, axes);
  }
  Result<Value> reshape(const Value& of, Shape shape) {
    const Value wanted(std::move(shape));
    const Value* operands[] = {&wanted};
    return storage_operation(StorageAction::kReshape, of, operands, {});
  }
  Shape layout(const Value& of) {
    auto numbers = storage_operation(StorageAction::kLayout, of, {}, {});
    return numbers && numbers->shape() ? *numbers->shape() : Shape{};
  }
  std::vector<float> elements(const Value& value) {
    auto own = runtime::without_views(value, *test_);
    if (!own || !own->tensor()) return {};
    return floats(*runtime::download(*own->tensor()));
  }

  TestSession test_;
  Tensor tensor_;
};

TEST_F(StorageOp, RowsAreTensorsAtAnOffset) {
  auto row = slice(tensor_, {1, 0}, {1, 3});
  ASSERT_TRUE(row && row->tensor());
  EXPECT_EQ(row->tensor()->offset, 12);
  EXPECT_EQ(elements(*row), (std::vector<float>{3, 4, 5}));
  auto part = slice(*row, {0, 1}, {1, 2});
  ASSERT_TRUE(part && part->tensor()) << "the elements of one row are contiguous";
  EXPECT_EQ(elements(*part), (std::vector<float>{4, 5}));
  auto none = slice(tensor_, {2, 3}, {0, 0});
  ASSERT_TRUE(none && none->tensor());
  EXPECT_EQ(none->tensor()->byte_size(), 0);
}

TEST_F(StorageOp, ColumnsAndTransposesAreViews) {
  auto turned = transpose(tensor_, {1, 0});
  ASSERT_TRUE(turned && turned->view());
  EXPECT_EQ(turned->view()->shape, (Shape{3, 2}));
  EXPECT_EQ(layout(*turned), (Shape{0, 1, 3}));
  EXPECT_EQ(elements(*turned), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  auto part = slice(*turned, {1, 0}, {2, 2});
  ASSERT_TRUE(part && part->view());
  EXPECT_EQ(layout(*part), (Shape{1, 1, 3}));
  EXPECT_EQ(elements(*part), (std::vector<float>{1, 4, 2, 5}));
  auto back = transpose(*turned, {1, 0});
  ASSERT_TRUE(back && back->tensor()) << "transposed back it is contiguous";
  auto base = storage_operation(StorageAction::kBase, *part, {}, {});
  ASSERT_TRUE(base && base->tensor());
  EXPECT_EQ(base->tensor()->shape, Shape{6});
  auto answer = storage_operation(StorageAction::kIsTensor, *part, {}, {});
  ASSERT_TRUE(answer && answer->prim());
  EXPECT_EQ(answer->prim()->value, 0);
}

TEST_F(StorageOp, ReportsInvalidArguments) {
  auto message = [](const Result<Value>& result) {
    return result ? std::string("fine") : result.error().message;
  };
  const std::string outside = "a part of a tensor is out of bounds";
  EXPECT_EQ(message(slice(tensor_, {0, 1}, {2, 3})), outside);
  EXPECT_EQ(slice(tensor_, {0, 1}, {2, 3}).error().found, "[2, 3] from [0, 1]");
  EXPECT_EQ(message(slice(tensor_, {0}, {1})), outside);
  EXPECT_EQ(message(slice(tensor_, {INT64_MAX, 0}, {1, 1})), outside);
  EXPECT_EQ(message(slice(tensor_, {-1, 0}, {1, 1})), outside);
  EXPECT_EQ(message(transpose(tensor_, {0})),
            "view_transpose needs an axis for each dimension of its tensor");
  auto turned = transpose(tensor_, {1, 0});
  ASSERT_TRUE(turned);
  EXPECT_EQ(message(reshape(*turned, {6})), "a view that is not compact cannot be reshaped");
  EXPECT_EQ(message(reshape(tensor_, {5})),
            "the shape of a view has a different number of elements");
  EXPECT_EQ(message(reshape(tensor_, {INT64_MAX, 4})),
            "the shape of a view has a different number of elements");
  EXPECT_EQ(message(reshape(tensor_, {3, 2})), "fine");
  EXPECT_EQ(message(transpose(Value(Shape{2}), {0})), "the value to write or view is not a tensor");
  const Value other = tensor_;
  const Value* operands[] = {&other};
  EXPECT_EQ(message(storage_operation(StorageAction::kCheckAssign, *turned, operands, {})),
            "the assigned value does not have the shape and dtype of its target");
  EXPECT_EQ(message(storage_operation(StorageAction::kCheckAssign, other, operands, {})), "fine");
}

TEST_F(StorageOp, OnlyViewsAreCopied) {
  auto turned = transpose(tensor_, {1, 0});
  ASSERT_TRUE(turned);
  ValueList fields;
  fields.push_back(tensor_);
  fields.push_back(*turned);
  Value tuple;
  tuple.data = std::make_shared<const ValueList>(std::move(fields));
  auto own = runtime::without_views(tuple, *test_);
  ASSERT_TRUE(own && own->tuple());
  EXPECT_EQ((*own->tuple())[0].tensor()->storage, tensor_.storage);
  EXPECT_NE((*own->tuple())[1].tensor()->storage, tensor_.storage);
  EXPECT_EQ(elements((*own->tuple())[1]), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

}  // namespace
}  // namespace tapml::test
