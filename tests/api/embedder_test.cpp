// The embedder of the C interface, with a package of a golden encoder.
#include <gtest/gtest.h>
#include <tapml/embedder.h>

#include <cmath>

#include "app/executable.h"
#include "llm/package.h"
#include "pipeline/compile.h"
#include "support/encoder_folder.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::EncoderFolder;

class CEmbedder : public ::testing::Test {
 protected:
  static const EncoderFolder& model() {
    static const EncoderFolder folder("bert");
    return folder;
  }
  static const std::string& package() {
    static const testing::TempFolder folder;
    static const bool made = [] {
      const target::Target target = target::parse_target("cpu");
      const Module fixed = pipeline::form_kernels(model().golden().model.module, {});
      const auto executable = pipeline::implement(fixed, target, {});
      unwrap(llm::write_package(folder.path(),
                                {.file = app::executable_file(*executable, target, fixed, {}),
                                 .weights = model().golden().model.weights,
                                 .end_tokens = {},
                                 .model_folder = model().path()}));
      return true;
    }();
    EXPECT_TRUE(made);
    return folder.path();
  }

  void SetUp() override {
    ASSERT_EQ(tapml_session_open("cpu", 0, &session_), TAPML_OK) << tapml_last_error();
    ASSERT_EQ(tapml_embedder_load(session_, package().c_str(), &embedder_), TAPML_OK)
        << tapml_last_error();
  }
  void TearDown() override {
    tapml_embedder_free(embedder_);
    tapml_session_close(session_);
  }
  tapml_status embed(const std::vector<const char*>& texts, const size_t* bytes = nullptr) {
    return tapml_embedder_embed(embedder_, texts.data(), bytes, std::ssize(texts), &vectors_,
                                &width_);
  }
  void refused(const std::vector<const char*>& texts, const std::vector<std::string>& parts) {
    EXPECT_EQ(embed(texts), TAPML_BAD_INPUT);
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(tapml_last_error()).find(part), std::string::npos)
          << tapml_last_error();
    }
  }

  tapml_session* session_ = nullptr;
  tapml_embedder* embedder_ = nullptr;
  const float* vectors_ = nullptr;
  int64_t width_ = 0;
};

TEST_F(CEmbedder, MakesTheVectorsOfPyTorch) {
  EXPECT_EQ(tapml_embedder_context(embedder_), 40);
  const HostTensor expected = testing::expected_embeddings(model().golden(), {});
  std::vector<const char*> texts;
  std::vector<size_t> bytes;
  for (const std::string& text : model().texts()) {
    texts.push_back(text.c_str());
    bytes.push_back(text.size());
  }
  for (const bool has_sizes : {false, true}) {
    ASSERT_EQ(embed(texts, has_sizes ? bytes.data() : nullptr), TAPML_OK) << tapml_last_error();
    ASSERT_EQ(width_, expected.shape()[1]);
    for (int64_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(vectors_[i], expected.at_f64(i), 1e-4) << i;
    }
  }
}

TEST_F(CEmbedder, RefusesBadTexts) {
  refused({}, {"no text"});
  refused({"t1", ""}, {"text 1", "no tokens"});
  refused({"t1 \xff"}, {"text 0"});
  refused({nullptr}, {"text 0", "null"});
  std::string longest;
  for (int i = 0; i < 41; ++i) longest += "t1 ";
  refused({longest.c_str()}, {"text 0", "41 tokens"});
  EXPECT_EQ(tapml_embedder_embed(nullptr, nullptr, nullptr, 0, nullptr, nullptr), TAPML_BAD_INPUT);
  EXPECT_EQ(embed({"t1"}), TAPML_OK) << tapml_last_error();
}

TEST(CEmbedderLoad, RefusesOtherFolders) {
  tapml_session* session = nullptr;
  ASSERT_EQ(tapml_session_open("cpu", 0, &session), TAPML_OK);
  tapml_embedder* embedder = nullptr;
  EXPECT_EQ(tapml_embedder_load(session, "absent", &embedder), TAPML_BAD_INPUT);
  EXPECT_EQ(embedder, nullptr);
  EXPECT_EQ(tapml_embedder_context(nullptr), 0);
  tapml_session_close(session);
}

}  // namespace
}  // namespace tapml
