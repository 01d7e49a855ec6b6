// Inputs that the engine of the C interface rejects, and its tokenizer.
#include <cstddef>
#include <limits>

#include "api/engine_fixture.h"

namespace tapml {
namespace {

using testing::at_most;
using testing::CAnswer;
using testing::CEngine;
using testing::expect_refused;

class EngineRefuses : public ::testing::Test {
 protected:
  // Loads the package in `folder_`.
  tapml_status load() {
    tapml_engine* engine = nullptr;
    const tapml_status status =
        tapml_engine_load(engine_.session(), folder_.path().c_str(), nullptr, &engine);
    EXPECT_EQ(engine, nullptr);
    tapml_engine_free(engine);
    return status;
  }
  void copy_package() {
    std::filesystem::remove_all(folder_.path());
    std::filesystem::copy(testing::demo_package("cpu"), folder_.path());
  }

  CEngine engine_{"cpu"};
  testing::TempFolder folder_;
};

TEST_F(EngineRefuses, AFolderThatIsNotAPackage) {
  expect_refused(load(), {"is not a model package", "package.json", "--package"});
  tapml_engine* engine = nullptr;
  expect_refused(tapml_engine_load(engine_.session(), "/nonexistent/package", nullptr, &engine),
                 {"/nonexistent/package", "no such folder"});
  const std::string demo = std::string(TAPML_SOURCE_DIR) + "/models/demo";
  expect_refused(tapml_engine_load(engine_.session(), demo.c_str(), nullptr, &engine),
                 {"is not a model package"});
  EXPECT_EQ(engine, nullptr);
}

TEST_F(EngineRefuses, AlteredFiles) {
  for (const char* name :
       {"model.tapml", "weights.safetensors", "tokenizer.json", "tokenizer_config.json"}) {
    const std::string path = folder_ / name;
    copy_package();
    const std::string bytes = testing::read_bytes(path);
    std::string altered = bytes;
    altered[altered.size() / 2] ^= 1;
    testing::write_bytes(path, altered);
    expect_refused(load(), {name, "was altered", "copy the whole folder again"});
    testing::write_bytes(path, bytes.substr(0, bytes.size() - 1));
    expect_refused(load(), {name, "does not have the size that the package lists",
                            std::to_string(bytes.size() - 1) + " bytes"});
    std::filesystem::remove(path);
    expect_refused(load(), {name, "does not exist"});
  }
  copy_package();
  testing::write_bytes(folder_ / "added_tokens.json", "{}");
  expect_refused(load(), {"added_tokens.json does not belong to the package", "remove it"});
}

TEST_F(EngineRefuses, InvalidFileLists) {
  const std::string list = folder_ / "package.json";
  const std::pair<const char*, const char*> changes[] = {
      {"\"version\": 1", "\"version\": 2"},
      {"tapml-package", "something"},
      {"\"name\": \"model.tapml\"", "\"name\": \"../model.tapml\""},
      {"\"name\": \"tokenizer.json\"", "\"name\": \"model.tapml\""},
      {"\"end_tokens\"", "\"ends\""},
      {"2047", "-1"},
      {"\"files\"", "\"documents\""},
      {"{", "{{"}};
  for (const auto& [from, to] : changes) {
    copy_package();
    testing::replace_in(list, from, to);
    SCOPED_TRACE(to);
    expect_refused(load(), {list});
  }
  testing::write_bytes(
      list, R"({"format": "tapml-package", "version": 1, "end_tokens": [], "files": []})");
  expect_refused(load(), {"the package has no model.tapml"});
}

TEST_F(EngineRefuses, AnotherPlatform) {
  tapml_session* null = nullptr;
  ASSERT_EQ(tapml_session_open("null", 0, &null), TAPML_OK) << tapml_last_error();
  tapml_engine* engine = nullptr;
  expect_refused(tapml_engine_load(null, testing::demo_package("cpu").c_str(), nullptr, &engine),
                 {"was made for another platform", "expected: null", "found: cpu"});
  tapml_program* program = nullptr;
  expect_refused(
      tapml_program_load(null, (testing::demo_package("cpu") + "/model.tapml").c_str(), &program),
      {"was made for another platform"});
  tapml_session_close(null);
}

TEST_F(EngineRefuses, EngineOptionsOutOfRange) {
  const std::string& package = testing::demo_package("cpu");
  tapml_engine* engine = nullptr;
  for (const int64_t context : {int64_t{-1}, int64_t{513}, INT64_MAX}) {
    tapml_engine_options options = TAPML_ENGINE_OPTIONS;
    options.context = context;
    expect_refused(tapml_engine_load(engine_.session(), package.c_str(), &options, &engine),
                   {"capacity is out of range", std::to_string(context)});
  }
  for (const size_t size : {size_t{0}, sizeof(tapml_engine_options) + 1}) {
    const tapml_engine_options options = {size, 0, nullptr};
    expect_refused(tapml_engine_load(engine_.session(), package.c_str(), &options, &engine),
                   {"the size of the structure is out of range", std::to_string(size)});
  }
}

TEST_F(EngineRefuses, DraftModelsThatDoNotFit) {
  const std::string& package = testing::demo_package("cpu");
  tapml_engine_options options = TAPML_ENGINE_OPTIONS;
  tapml_engine* engine = nullptr;
  options.draft = "/nowhere";
  expect_refused(tapml_engine_load(engine_.session(), package.c_str(), &options, &engine),
                 {"/nowhere"});
  EXPECT_EQ(engine, nullptr);
}

TEST_F(EngineRefuses, GenerateOptionsOutOfRange) {
  auto refused = [&](const tapml_generate_options& options, const std::vector<std::string>& parts) {
    CAnswer answer;
    answer.ask(engine_.get(), "In the beginning", options);
    expect_refused(answer.status, parts);
    EXPECT_TRUE(answer.pieces.empty());
    EXPECT_EQ(engine_.length(), 0);
  };
  refused(at_most(-1), {"max_tokens", "-1"});
  tapml_generate_options options = TAPML_GENERATE_OPTIONS;
  for (const int64_t count : {int64_t{-1}, int64_t{65}}) {
    options = TAPML_GENERATE_OPTIONS;
    options.draft_tokens = count;
    refused(options, {"draft_tokens", std::to_string(count)});
    options = TAPML_GENERATE_OPTIONS;
    options.lookup = count;
    refused(options, {"lookup", std::to_string(count)});
  }
  options = TAPML_GENERATE_OPTIONS;
  for (const double temperature : {-0.5, 2e6, std::numeric_limits<double>::quiet_NaN()}) {
    options.temperature = temperature;
    refused(options, {"temperature"});
  }
  options = TAPML_GENERATE_OPTIONS;
  for (const double top_p : {0.0, 1.5}) {
    options.top_p = top_p;
    refused(options, {"top-p"});
  }
  options = TAPML_GENERATE_OPTIONS;
  options.top_k = -2;
  refused(options, {"top-k"});
  options = TAPML_GENERATE_OPTIONS;
  options.size = 1000;
  refused(options, {"the size of the structure"});
}

TEST_F(EngineRefuses, PromptsThatCannotRun) {
  CAnswer answer;
  auto refused = [&](const std::string& prompt, const std::vector<std::string>& parts) {
    const int64_t before = engine_.length();
    answer.ask(engine_.get(), prompt, at_most(4));
    expect_refused(answer.status, parts);
    EXPECT_EQ(engine_.length(), before);
  };
  refused("", {"the prompt is empty"});
  refused("Mary \xff said", {"UTF-8", "5"});
  std::string long_text;
  for (int i = 0; i < 600; ++i) long_text += "word ";
  refused(long_text, {"too long for the model", "fewer than 512 tokens"});
  testing::ask(engine_.get(), "In the beginning", 4);
  refused(long_text, {"too long for what is left"});
  refused("\xe2\x82", {"UTF-8"});
}

TEST_F(EngineRefuses, Null) {
  tapml_engine* engine = nullptr;
  const char* package = testing::demo_package("cpu").c_str();
  expect_refused(tapml_engine_load(nullptr, package, nullptr, &engine), {"null"});
  expect_refused(tapml_engine_load(engine_.session(), nullptr, nullptr, &engine), {"null"});
  expect_refused(tapml_engine_load(engine_.session(), package, nullptr, nullptr), {"null"});
  expect_refused(tapml_engine_generate(nullptr, "a", 1, nullptr, nullptr, nullptr, nullptr),
                 {"null"});
  expect_refused(
      tapml_engine_generate(engine_.get(), nullptr, 1, nullptr, nullptr, nullptr, nullptr),
      {"null"});
  int64_t count = -1;
  expect_refused(tapml_engine_tokenize(nullptr, "a", 1, 0, nullptr, 0, &count), {"null"});
  expect_refused(tapml_engine_tokenize(engine_.get(), "a", 1, 0, nullptr, 4, &count), {"null"});
  expect_refused(tapml_engine_tokenize(engine_.get(), "a", 1, 0, nullptr, 0, nullptr), {"null"});
  expect_refused(tapml_engine_detokenize(engine_.get(), nullptr, 1, nullptr, 0, &count), {"null"});
  EXPECT_EQ(tapml_engine_answer(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(tapml_engine_length(nullptr), 0);
  EXPECT_EQ(tapml_engine_context(nullptr), 0);
  EXPECT_EQ(tapml_engine_vocabulary(nullptr), 0);
  tapml_engine_reset(nullptr);
  tapml_engine_cancel(nullptr);
  tapml_engine_free(nullptr);
}

TEST(EngineTokens, RoundTrip) {
  CEngine engine("cpu");
  constexpr char kText[] = "Emma said: \xe2\x80\x9cYes\0no\xe2\x80\x9d";
  const std::string text(kText, sizeof kText - 1);
  int64_t count = 0;
  ASSERT_EQ(tapml_engine_tokenize(engine.get(), text.data(), text.size(), 0, nullptr, 0, &count),
            TAPML_OK)
      << tapml_last_error();
  ASSERT_GT(count, 4);
  std::vector<int32_t> tokens(static_cast<size_t>(count), -7), special(tokens.size() + 4);
  // Not more than the buffer holds.
  ASSERT_EQ(
      tapml_engine_tokenize(engine.get(), text.data(), text.size(), 0, tokens.data(), 3, &count),
      TAPML_OK);
  EXPECT_EQ(count, std::ssize(tokens));
  EXPECT_GE(tokens[2], 0);
  EXPECT_EQ(tokens[3], -7);
  ASSERT_EQ(tapml_engine_tokenize(engine.get(), text.data(), text.size(), 0, tokens.data(), count,
                                  &count),
            TAPML_OK);
  int64_t bytes = 0;
  std::string back(64, '#');
  ASSERT_EQ(tapml_engine_detokenize(engine.get(), tokens.data(), count, back.data(), 64, &bytes),
            TAPML_OK);
  EXPECT_EQ(back.substr(0, static_cast<size_t>(bytes)), text);
  EXPECT_EQ(back[text.size()], '#');
  int64_t more = 0;
  ASSERT_EQ(tapml_engine_tokenize(engine.get(), text.data(), text.size(), 1, special.data(),
                                  std::ssize(special), &more),
            TAPML_OK);
  EXPECT_GE(more, count);

  expect_refused(tapml_engine_tokenize(engine.get(), "\xc0", 1, 0, nullptr, 0, &count), {"UTF-8"});
  expect_refused(tapml_engine_tokenize(engine.get(), "a", 1, 0, tokens.data(), -1, &count),
                 {"capacity is negative"});
  expect_refused(tapml_engine_detokenize(engine.get(), tokens.data(), -1, nullptr, 0, &count),
                 {"number of tokens is negative"});
  const int32_t strangers[] = {-5, 1 << 30};
  ASSERT_EQ(tapml_engine_detokenize(engine.get(), strangers, 2, nullptr, 0, &bytes), TAPML_OK);
  EXPECT_EQ(bytes, 0);
  ASSERT_EQ(tapml_engine_detokenize(engine.get(), nullptr, 0, nullptr, 0, &bytes), TAPML_OK);
  EXPECT_EQ(bytes, 0);
}

// An application built against a header with shorter structures.
TEST(EngineStructures, MayBeOlder) {
  CEngine engine("cpu");
  tapml_generate_options options = at_most(5);
  options.size = offsetof(tapml_generate_options, top_p);
  options.top_p = -1;  // ignored
  tapml_generation done = TAPML_GENERATION;
  done.size = offsetof(tapml_generation, prefill_seconds);
  done.prefill_seconds = -3;
  ASSERT_EQ(tapml_engine_generate(engine.get(), "Emma", 4, &options, nullptr, nullptr, &done),
            TAPML_OK)
      << tapml_last_error();
  EXPECT_EQ(done.tokens, 5);
  EXPECT_EQ(done.prefill_seconds, -3);
  EXPECT_EQ(done.size, offsetof(tapml_generation, prefill_seconds));
}

}  // namespace
}  // namespace tapml
