// The format of suites: what is stored and read back.
#include <gtest/gtest.h>

#include "io/host/files.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/small_model.h"
#include "topdown/suite/merge_suites.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {
namespace {

// Suites in the repository are in the current format: a suite that is read is written with the same
// bytes.
TEST(SuiteFormat, StoredSuitesAreCurrent) {
  for (const char* name : {"calls", "groups"}) {
    SCOPED_TRACE(name);
    const std::string folder = std::string(TAPML_SOURCE_DIR) + "/tests/golden/suites/" + name;
    const Suite suite = unwrap(load_suite(folder));
    EXPECT_FALSE(suite.kernels.empty());
    EXPECT_EQ(suite_text(suite), unwrap(read_text_file(folder + "/suite.json")));
  }
}

TEST(SuiteFormat, RoundTrips) {
  Suite suite = carved();
  suite.calls[0].times = 3;
  suite.kernels[0].dropped = 5;
  suite.incomplete = "no space \"left\"";
  suite.untested = {{"relu_00c0ffee", {"model.layers.0", "model.norm"}}};
  suite.untested[0].origin.lines = {"src/models/blocks/norm.cpp:1"};
  suite.calls[1].origin.lines.clear();
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "s"));
  const Suite again = unwrap(load_suite(folder / "s"));
  EXPECT_EQ(suite_text(again), suite_text(suite));
  EXPECT_EQ(again.calls[0].times, 3);
  EXPECT_EQ(again.kernels[0].dropped, 5);
  EXPECT_EQ(again.incomplete, suite.incomplete);
  ASSERT_EQ(again.untested.size(), 1u);
  EXPECT_EQ(again.untested[0].origin, suite.untested[0].origin);
  ASSERT_EQ(again.calls.size(), suite.calls.size());
  size_t with_lines = 0;
  for (size_t i = 0; i < suite.calls.size(); ++i) {
    EXPECT_EQ(again.calls[i].origin, suite.calls[i].origin) << i;
    with_lines += suite.calls[i].origin.lines.empty() ? 0 : 1;
  }
  EXPECT_EQ(with_lines, suite.calls.size() - 1) << "every call of a model has a line";
}

TEST(SuiteFormat, ACompleteSuiteHasNoReason) {
  Suite suite = carved();
  const std::string complete = suite_text(suite);
  suite.incomplete = "interrupted";
  const std::string incomplete = suite_text(suite);
  for (std::string text : {complete, incomplete}) {
    EXPECT_TRUE(parse_suite_index(text, "s.json"));
    const std::string was = text == complete ? "true" : "false";
    text.replace(text.find("\"complete\": " + was) + 12, was.size(),
                 was == "true" ? "false" : "true");
    const auto read = parse_suite_index(text, "s.json");
    ASSERT_FALSE(read);
    testing::expect_parts(read.error(), {"s.json:4", "a reason if the suite is incomplete"});
  }
}

// A carve that is killed at any time after its start leaves a suite that reads as incomplete.
TEST(SuiteFormat, AFolderThatIsBeingCarvedIsIncomplete) {
  testing::TempFolder folder;
  SuiteFolder fresh = unwrap(SuiteFolder::open(folder / "fresh"));
  Suite empty;
  empty.incomplete = "the carve did not end";
  unwrap(fresh.begin(empty));
  const Suite begun = unwrap(load_suite(folder / "fresh"));
  EXPECT_EQ(begun.incomplete, "the carve did not end");
  EXPECT_TRUE(begun.calls.empty());
  // An existing suite stays, with a note that it is not the one to be carved.
  const Suite suite = carved();
  unwrap(save_suite(suite, folder / "s"));
  EXPECT_EQ(unwrap(load_suite(folder / "s")).incomplete, "");
  SuiteFolder again = unwrap(SuiteFolder::open(folder / "s"));
  unwrap(again.begin(empty));
  const Suite old = unwrap(load_suite(folder / "s"));
  EXPECT_EQ(old.calls.size(), suite.calls.size());
  EXPECT_EQ(old.incomplete, "a later carve into its folder did not finish");
  for (const auto& [hash, tensor] : suite.tensors) unwrap(again.put(hash, tensor));
  unwrap(again.finish(suite));
  EXPECT_EQ(suite_text(unwrap(load_suite(folder / "s"))), suite_text(suite));
}

TEST(SuiteFormat, AMergedSuiteIsAsIncompleteAsItsParts) {
  Suite suite = carved();
  Suite part = suite;
  part.calls = {suite.calls[0]};
  part.incomplete = "interrupted";
  const std::string known = suite.kernels[static_cast<size_t>(suite.calls.back().kernel)].name;
  part.untested = {{known, {"model.norm"}}, {"relu_00c0ffee", {"model.layers.0"}}};
  Suite other = part;
  other.incomplete = "";
  other.untested = {{"relu_00c0ffee", {"model.layers.1"}}};
  const Suite merged = merge({suite, part, other}, {"a", "b", "c"});
  EXPECT_EQ(merged.incomplete, "b: interrupted");
  // The other one has a test of the first.
  ASSERT_EQ(merged.untested.size(), 1u);
  EXPECT_EQ(merged.untested[0].kernel, "relu_00c0ffee");
  EXPECT_EQ(merged.untested[0].origin, (Origin{"model.layers.0", "model.layers.1"}));
  // A suite of a few selected kernels covers only those.
  Suite chosen = part;
  keep_kernels(chosen, {suite.calls[0].kernel});
  EXPECT_TRUE(chosen.untested.empty());
  EXPECT_EQ(chosen.incomplete, "interrupted");
}

// A smaller suite in the folder of a larger one: no file of the larger one stays.
TEST(SuiteFormat, AFolderHoldsOneSuite) {
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

// However the writer ends, the suite that suite.json describes is complete.
TEST(SuiteFormat, ASuiteIsCompleteUntilItIsReplaced) {
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

TEST(SuiteWeights, NamesAMissingModel) {
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

// The engine runs the same prompt twice: the second run adds no test, and the suite has the same
// size.
TEST(Carving, WithAFolderMemoryHoldsNoTensors) {
  testing::TempFolder folder;
  SuiteFolder files = unwrap(SuiteFolder::open(folder / "s"));
  auto engine = small_model().engine();
  Carver carver(*small_model().executable, CarveOptions{.folder = &files});
  engine->local_vm().call_point().set_observer(&carver);
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
  engine->local_vm().call_point().set_observer(&carver);
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
