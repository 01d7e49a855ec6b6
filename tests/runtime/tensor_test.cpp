#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <limits>

#include "conformance/programs.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::Storage;
using runtime::Tensor;

TEST(RuntimeTensor, UploadAndDownload) {
  TestSession test;
  auto tensor = runtime::upload(*test, f32({1, 2, 3}));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, Shape{3});
  EXPECT_EQ(tensor->byte_size(), 12);
  EXPECT_EQ(tensor->storage->bytes(), 16) << "padded to whole vectors";
  EXPECT_EQ(tensor->storage->version(), 1u);
  auto back = runtime::download(*tensor);
  ASSERT_TRUE(back);
  EXPECT_EQ(floats(*back), (std::vector<float>{1, 2, 3}));

  Tensor tail{tensor->storage, 4, DType::kF32, {2}};
  EXPECT_EQ(floats(*runtime::download(tail)), (std::vector<float>{2, 3}));
}

TEST(RuntimeTensor, WritesBesideATensorDoNotChangeIt) {
  TestSession test;
  auto storage = *Storage::allocate(*test, 1024);
  const uint64_t before = storage->version();
  EXPECT_FALSE(storage->written_since(before, 0, 1024));
  storage->written(256, 256);
  EXPECT_TRUE(storage->written_since(before, 0, 257));
  EXPECT_TRUE(storage->written_since(before, 511, 1));
  EXPECT_FALSE(storage->written_since(before, 0, 256));
  EXPECT_FALSE(storage->written_since(before, 512, 512));
  EXPECT_FALSE(storage->written_since(storage->version(), 256, 256));
  storage->written();
  EXPECT_TRUE(storage->written_since(before, 0, 1));
  // Very old writes are not remembered.
  const uint64_t seen = storage->version();
  for (int i = 0; i < 40; ++i) storage->written(0, 16);
  EXPECT_TRUE(storage->written_since(seen, 512, 16));
  EXPECT_FALSE(storage->written_since(storage->version() - 1, 512, 16));
}

TEST(RuntimeTensor, StoragesReleaseTheirBuffers) {
  TestSession test;
  {
    auto a = runtime::make_tensor(*test, DType::kI64, {4, 4});
    auto b = runtime::make_tensor(*test, DType::kBool, {});
    ASSERT_TRUE(a && b);
    EXPECT_NE(a->storage->id(), b->storage->id());
    EXPECT_EQ(test.behaviour().live_bytes, 128 + 16);
  }
  EXPECT_EQ(test.behaviour().live_bytes, 0);
}

TEST(RuntimeTensor, SizesAreChecked) {
  TestSession test;
  EXPECT_FALSE(runtime::make_tensor(*test, DType::kF32, {-1}));
  EXPECT_FALSE(runtime::make_tensor(*test, DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(Storage::allocate(*test, -1));
  auto most = Storage::allocate(*test, std::numeric_limits<int64_t>::max());
  ASSERT_FALSE(most);
  EXPECT_EQ(most.error().fault, PlatformFault::kLimit);
  EXPECT_FALSE(runtime::download(Tensor{}));
}

}  // namespace
}  // namespace tapml::test
