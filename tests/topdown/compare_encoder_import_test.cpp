// The import's comparison of an encoder, with a program in place of Python that gives prepared
// values; "make test-torch" makes the golden ones with the real package.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "pipeline/compile.h"
#include "support/golden_encoders.h"
#include "support/temp_folder.h"
#include "topdown/reference_run/compare_import.h"
#include "topdown/reference_run/model_reference.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::topdown {
namespace {

namespace fs = std::filesystem;

class CompareEncoderImport : public ::testing::Test {
 protected:
  // Compares with the reference's own vector, the first number of which is changed by `by`.
  ImportCheck compare(double by) {
    const op::RefTensor vector =
        evaluate_logits(golden_.model.module, golden_.interface(), golden_.model.weights,
                        import_tokens({}, golden_.interface()));
    HostTensor published = HostTensor::zeros(DType::kF64, {1, 1, vector.shape.back()});
    for (int64_t i = 0; i < published.size(); ++i) {
      published.set_f64(i, vector.values[static_cast<size_t>(i)] + (i == 0 ? by : 0));
    }
    unwrap(write_file_atomic(folder_ / "prepared", write_safetensors({{"logits", published}},
                                                                     {{"implementation", "paper"},
                                                                      {"class", "Written"},
                                                                      {"dtype", "f64"},
                                                                      {"missing", "[]"}})));
    // Only if the request says how to pool.
    unwrap(write_text_atomic(
        folder_ / "python",
        "#!/bin/sh\ngrep -q '\"mode\":\"cls\",\"normalized\":false' $2 || exit 1\ncp " +
            (folder_ / "prepared") + " $(sed 's/.*\"output\":\"\\([^\"]*\\)\".*/\\1/' $2)\n"));
    fs::permissions(folder_ / "python", fs::perms::owner_all);
    return compare_import(golden_.model.module, pipeline::form_kernels(golden_.model.module),
                          golden_.interface(), golden_.model.weights,
                          {.folder = "model",
                           .python = folder_ / "python",
                           .tokens = {},
                           .pooling = kPooling,
                           .poll = {},
                           .cancelled = {},
                           .watcher = {}});
  }

  static constexpr models::PoolingConfig kPooling = {models::Pooling::kFirstToken, false};
  const testing::GoldenModel golden_ = testing::golden_encoder("bert_one_type", kPooling);
  testing::TempFolder folder_;
};

TEST_F(CompareEncoderImport, EqualVectorsPass) {
  const ImportCheck check = compare(0);
  EXPECT_TRUE(check.passed());
  EXPECT_EQ(check.compared, "vector");
  EXPECT_NE(import_text(check).find("vector of 16 tokens"), std::string::npos);
  EXPECT_NE(import_verdict_line(check).text().find("vector of 16 tokens"), std::string::npos);
}

TEST_F(CompareEncoderImport, AnotherVectorFails) {
  const ImportCheck check = compare(1e-4);
  ASSERT_FALSE(check.passed());
  EXPECT_EQ(check.first->module, "pooling");
  EXPECT_NEAR(check.first->max_abs, 1e-4, 1e-8);
}

}  // namespace
}  // namespace tapml::topdown
