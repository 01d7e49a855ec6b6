// Suites of earlier schema versions, and what this one stores.
#include <gtest/gtest.h>

#include "io/host/files.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/small_model.h"
#include "topdown/suite/merge_suites.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {
namespace {

// The last one is of this version.
class StoredVersion : public ::testing::TestWithParam<int> {};

TEST_P(StoredVersion, IsBroughtUp) {
  const std::string number = std::to_string(GetParam());
  const std::string kept = std::string(TAPML_SOURCE_DIR) + "/tests/golden/suites/version" + number;
  const std::string text = unwrap(read_text_file(kept + "/suite.json"));
  ASSERT_NE(text.find("\"version\": " + number), std::string::npos);
  const Suite old = unwrap(load_suite(kept));
  // Version 3 has a tensor whose zero rows are left out, version 4 a group.
  const std::vector<size_t> kernels = {3, 3, 3, 2, 2}, calls = {4, 4, 6, 1, 1};
  const auto index = static_cast<size_t>(GetParam() - 1);
  ASSERT_EQ(old.kernels.size(), kernels[index]);
  ASSERT_EQ(old.calls.size(), calls[index]);
  EXPECT_EQ(old.calls[0].times, 1);
  EXPECT_EQ(old.kernels[0].dropped, 0);
  EXPECT_TRUE(old.weights.empty());
  EXPECT_EQ(old.groups.size(), GetParam() < 4 ? 0u : 1u);
  testing::TempFolder folder;
  unwrap(save_suite(old, folder / "new"));
  EXPECT_NE(unwrap(read_text_file(folder / "new/suite.json")).find("\"version\": 5"),
            std::string::npos);
  const Suite again = unwrap(load_suite(folder / "new"));
  EXPECT_EQ(suite_text(again), suite_text(old));
  EXPECT_EQ(again.tensors.size(), old.tensors.size());
}

INSTANTIATE_TEST_SUITE_P(SuiteVersions, StoredVersion, ::testing::Range(1, int(kSuiteVersion) + 1));

TEST(SuiteVersions, WhatIsWrittenIsReadBack) {
  Suite suite = carved();
  suite.calls[0].times = 3;
  suite.kernels[0].dropped = 5;
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "s"));
  const Suite again = unwrap(load_suite(folder / "s"));
  EXPECT_EQ(suite_text(again), suite_text(suite));
  EXPECT_EQ(again.calls[0].times, 3);
  EXPECT_EQ(again.kernels[0].dropped, 5);
}

// A smaller suite into the folder of a larger one: nothing of that stays.
TEST(SuiteVersions, AFolderHoldsOneSuite) {
  testing::TempFolder folder;
  Suite suite = carved();
  unwrap(save_suite(suite, folder / "s"));
  const size_t all = testing::names_under(folder / "s/tensors").size();
  EXPECT_EQ(all, named_tensors(suite).size());
  suite.calls.resize(1);
  unwrap(save_suite(suite, folder / "s"));
  EXPECT_EQ(testing::names_under(folder / "s/tensors").size(), named_tensors(suite).size());
  EXPECT_LT(named_tensors(suite).size(), all);
  unwrap(load_suite(folder / "s"));
}

// Whatever ends the writer, the suite that suite.json tells of is whole.
TEST(SuiteVersions, ASuiteIsWholeUntilTheNextIsThere) {
  testing::TempFolder folder;
  Suite suite = carved();
  unwrap(save_suite(suite, folder / "s"));
  SuiteFolder files = unwrap(SuiteFolder::open(folder / "s"));
  const std::string hash = suite.calls[0].after.back();
  unwrap(files.put(hash, suite.tensors.at(hash)));
  unwrap(files.remove(hash));
  EXPECT_EQ(suite_text(unwrap(load_suite(folder / "s"))), suite_text(suite));
  Suite last = suite;
  last.calls = {suite.calls.back()};
  ASSERT_FALSE(named_tensors(last).contains(hash));
  for (const std::string& one : named_tensors(last)) unwrap(files.put(one, suite.tensors.at(one)));
  unwrap(files.write_index(last));
  EXPECT_FALSE(std::filesystem::exists(folder / ("s/" + tensor_file(hash))));
  EXPECT_EQ(suite_text(unwrap(load_suite(folder / "s"))), suite_text(last));
}

TEST(SuiteWeights, AModelThatIsNotThereIsNamed) {
  Suite suite = carved();
  const std::string hash = *named_tensors(suite).begin();
  suite.weights[hash] = "model.norm.weight";
  suite.model_folder = "/nonexistent/model";
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "s"));
  EXPECT_FALSE(std::filesystem::exists(folder / ("s/tensors/" + hash + ".safetensors")));
  auto loaded = load_suite(folder / "s");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kUser);
  testing::expect_parts(loaded.error(),
                        {"model.norm.weight", hash, "/nonexistent/model", "--model DIR"});
}

TEST(SuiteWeights, OfTwoQuantizationsAreNotMerged) {
  Suite suite = carved();
  suite.weights[*named_tensors(suite).begin()] = "model.norm.weight";
  Suite other = suite;
  other.quantization = "q4f16";
  auto merged = guard([&] { return merge({suite, other}, {"a", "b"}); });
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().kind, ErrorKind::kUser);
  testing::expect_parts(merged.error(),
                        {"quantized in another way", "b", "none, as in a", "q4f16"});
}

// The engine runs the same prompt twice: the second adds no test, and the suite is as large.
TEST(Carving, WithAFolderMemoryHoldsNoTensors) {
  testing::TempFolder folder;
  SuiteFolder files = unwrap(SuiteFolder::open(folder / "s"));
  auto engine = small_model().engine();
  Carver carver(*small_model().executable, CarveOptions{.folder = &files});
  engine->vm().call_point().set_observer(&carver);
  logits_of(*engine);
  const size_t calls = carver.suite().calls.size();
  const int64_t bytes = carver.bytes();
  logits_of(*engine);
  EXPECT_EQ(carver.suite().calls.size(), calls);
  EXPECT_EQ(carver.bytes(), bytes);
  EXPECT_TRUE(carver.suite().tensors.empty());
  unwrap(files.finish(carver.suite()));
  const Suite loaded = unwrap(load_suite(folder / "s"));
  EXPECT_EQ(loaded.calls.size(), calls);
  EXPECT_EQ(std::ssize(loaded.tensors), carver.tensors());
}

TEST(Carving, WeightsByReference) {
  const auto& weights = small_model().golden.model.weights;
  auto engine = small_model().engine();
  Carver carver(*small_model().executable, CarveOptions{.weights = &weights});
  engine->vm().call_point().set_observer(&carver);
  logits_of(*engine);
  const Suite& suite = carver.suite();
  ASSERT_FALSE(suite.weights.empty());
  for (const auto& [hash, name] : suite.weights) {
    EXPECT_EQ(content_hash(weights.at(name)), hash);
    EXPECT_EQ(suite.tensors.at(hash).bytes().data(), weights.at(name).bytes().data());
  }
  EXPECT_EQ(std::ssize(suite.tensors) - std::ssize(suite.weights), carver.tensors());
}

}  // namespace
}  // namespace tapml::topdown
