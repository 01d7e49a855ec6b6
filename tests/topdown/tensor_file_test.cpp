// Tensors in a suite's folder: zero rows are omitted, inconsistent files are refused.
#include "topdown/suite/tensor_file.h"

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

// `rows` rows of 4 KiB, of which the live ones hold their number.
HostTensor pages(int64_t rows, const std::vector<int64_t>& live) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, {rows, 4, 256});
  for (int64_t row : live) tensor.set_f64(row * 1024 + 5, static_cast<double>(row + 1));
  return tensor;
}

HostTensor integers(const std::vector<int64_t>& values) {
  return HostTensor::from(DType::kI64, {std::ssize(values)}, std::span<const int64_t>(values));
}

Result<HostTensor> read(const std::vector<std::byte>& bytes) {
  return read_tensor_file(bytes, nullptr, "t.safetensors");
}

TEST(TensorFile, OnlyLiveRowsAreStored) {
  for (const std::vector<int64_t>& live :
       {std::vector<int64_t>{}, {0}, {7}, {1, 2, 6}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}}) {
    const HostTensor tensor = pages(8, live);
    const std::vector<std::byte> file = write_tensor_file(tensor);
    const int64_t expected = (live.size() > 4 ? 8 : std::ssize(live)) * 4096;
    EXPECT_EQ(stored_bytes(tensor), expected);
    EXPECT_LT(std::ssize(file), expected + 1024);
    const HostTensor again = unwrap(read(file));
    EXPECT_EQ(again.shape(), tensor.shape());
    EXPECT_EQ(content_hash(again), content_hash(tensor));
  }
}

TEST(TensorFile, NegativeZeroIsStored) {
  HostTensor tensor = pages(8, {});
  tensor.set_f64(3 * 1024, -0.0);
  EXPECT_EQ(stored_bytes(tensor), 4096);
  EXPECT_EQ(content_hash(unwrap(read(write_tensor_file(tensor)))), content_hash(tensor));
}

TEST(TensorFile, SmallAndFlatTensorsAreStoredCompletely) {
  for (const Shape& shape : {Shape{}, {0}, {2, 0, 3}, {100000}, {8, 128}}) {
    const HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
    EXPECT_EQ(stored_bytes(tensor), static_cast<int64_t>(tensor.byte_size()));
    EXPECT_EQ(content_hash(unwrap(read(write_tensor_file(tensor)))), content_hash(tensor));
  }
}

TEST(TensorFile, RefusesInconsistentFiles) {
  const HostTensor two = pages(2, {0, 1});
  const auto refused = [&](const std::map<std::string, HostTensor>& file,
                           const std::vector<std::string>& says) {
    const auto tensor = read(write_safetensors(file));
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().kind, ErrorKind::kUser);
    testing::expect_parts(tensor.error(), says);
  };
  refused({{"other", two}}, {"t.safetensors", "data"});
  refused({{"data", two}, {"rows", integers({0, 1})}}, {"t.safetensors", "shape"});
  refused({{"data", two}, {"rows", two}, {"shape", integers({8, 4, 256})}}, {"rows"});
  refused({{"data", two}, {"rows", integers({1})}, {"shape", integers({8, 4, 256})}},
          {"[1, 4, 256]", "[2, 4, 256]"});
  refused({{"data", two}, {"rows", integers({0, 1})}, {"shape", integers({8, 256, 4})}},
          {"[2, 256, 4]"});
  for (const std::vector<int64_t>& rows : {std::vector<int64_t>{1, 1}, {3, 2}, {0, 8}, {-1, 2}}) {
    refused({{"data", two}, {"rows", integers(rows)}, {"shape", integers({8, 4, 256})}},
            {"ascending rows below 8"});
  }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{int64_t{1} << 40, 4, 256},
                                            {int64_t{1} << 62, 4, 256},
                                            {-8, 4, 256},
                                            {}}) {
    refused({{"data", two}, {"rows", integers({0, 1})}, {"shape", integers(shape)}},
            {"t.safetensors"});
  }
}

// A cache with space for many more tokens than it holds.
TEST(TensorFile, OfACacheOnlyLivePagesAreStored) {
  auto engine = small_model().engine({.first_capacity = 256});
  testing::TempFolder folder;
  SuiteFolder files = unwrap(SuiteFolder::open(folder / "s"));
  Carver carver(*small_model().executable, CarveOptions{.folder = &files});
  engine->local_vm().call_point().set_observer(&carver);
  logits_of(*engine);
  engine->local_vm().call_point().set_observer(nullptr);
  unwrap(files.finish(carver.suite()));
  int64_t stored = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "s/tensors")) {
    stored += static_cast<int64_t>(entry.file_size());
  }
  const Suite suite = unwrap(load_suite(folder / "s"));
  const int64_t page_size = small_model().executable->model.page_size;
  int64_t pools = 0, expected = 0;
  for (const auto& [hash, tensor] : suite.tensors) {
    expected += stored_bytes(tensor);
    if (tensor.shape().size() != 4 || tensor.shape()[1] != page_size) continue;
    ++pools;
    // At most seven tokens of 256.
    EXPECT_LT(4 * stored_bytes(tensor), static_cast<int64_t>(tensor.byte_size()));
  }
  ASSERT_GT(pools, 0);
  EXPECT_EQ(carver.bytes(), expected);
  EXPECT_LT(stored, expected + 1024 * std::ssize(suite.tensors));
}

}  // namespace
}  // namespace tapml::topdown
