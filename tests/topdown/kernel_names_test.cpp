#include "topdown/suite/kernel_names.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "topdown/reference_run/tolerance.h"

namespace tapml::topdown {
namespace {

const std::vector<std::string> kNamed = {"matmul_0a1b2c3d", "matmul_add_11112222",
                                         "rms_norm_485247dc", "rms_norm_99998888", "mine"};
const KernelQuestion kAsked{"--kernel", "the suite"};

TEST(KernelNames, OneByNamePrefixOrPattern) {
  EXPECT_EQ(find_kernel(kNamed, "rms_norm_485247dc", kAsked), "rms_norm_485247dc");
  EXPECT_EQ(find_kernel(kNamed, "matmul_a", kAsked), "matmul_add_11112222");
  EXPECT_EQ(find_kernel(kNamed, "*norm_4*", kAsked), "rms_norm_485247dc");
  EXPECT_EQ(find_kernel(kNamed, "mi?e", kAsked), "mine");
  // A full name that is also a prefix of others selects that kernel.
  EXPECT_EQ(find_kernel({"mine", "mine_2"}, "mine", kAsked), "mine");
}

TEST(KernelNames, OneOfSeveralIsRefused) {
  testing::expect_user_error([] { find_kernel(kNamed, "rms", kAsked); },
                             {"several kernels of the suite", "--kernel",
                              "one of rms_norm_485247dc, rms_norm_99998888", "\"rms\""});
  testing::expect_user_error([] { find_kernel(kNamed, "*_*", kAsked); }, {"several kernels"});
}

TEST(KernelNames, SeveralByPattern) {
  EXPECT_EQ(find_kernels(kNamed, "rms", kAsked),
            (std::vector<std::string>{"rms_norm_485247dc", "rms_norm_99998888"}));
  EXPECT_EQ(find_kernels(kNamed, "*add*", kAsked), std::vector<std::string>{"matmul_add_11112222"});
  EXPECT_EQ(find_kernels(kNamed, "*", kAsked), kNamed);
  EXPECT_EQ(find_kernels({"mine", "mine_2"}, "mine", kAsked), std::vector<std::string>{"mine"});
}

TEST(KernelNames, AnUnknownOneIsAnsweredWithTheNearest) {
  for (const auto& find : {+[] { find_kernel(kNamed, "matmull", kAsked); },
                           +[] { find_kernels(kNamed, "matmull", kAsked); }}) {
    testing::expect_user_error(find, {"the suite has no such kernel", "rms_norm_99998888",
                                      "did you mean 'matmul_0a1b2c3d'?"});
  }
  // The hash of another version of the model.
  EXPECT_EQ(kernel_suggestion("rms_norm_00000000", kNamed),
            "did you mean 'rms_norm_485247dc' or 'rms_norm_99998888'?");
  EXPECT_EQ(kernel_suggestion("rmsnorm", kNamed),
            "did you mean 'rms_norm_485247dc' or 'rms_norm_99998888'?");
  EXPECT_EQ(kernel_suggestion("softmax", kNamed), "");
  EXPECT_EQ(kernel_suggestion("", kNamed), "");
  testing::expect_user_error([] { find_kernel({}, "a", kAsked); }, {"there is none"});
  testing::expect_user_error([] { find_kernels(kNamed, "", kAsked); }, {"no such kernel"});
}

TEST(KernelNames, OperatorsPrecedeTheHash) {
  EXPECT_EQ(operators_in("rms_norm_485247dc"), "rms_norm");
  EXPECT_EQ(operators_in("rms_norm_485247dx"), "rms_norm_485247dx");
  EXPECT_EQ(operators_in("mine"), "mine");
}

TEST(KernelNames, OfTolerances) {
  const Tolerances all = Tolerances::parse(
      R"({"tolerances": [{"kernel": "rms_norm", "factor": 2, "reason": "r"},
                         {"kernel": "mat?ul_0*", "factor": 3, "reason": "r"},
                         {"kernel": "matmull", "factor": 4, "reason": "r"}]})",
      "loose.json");
  ASSERT_NE(all.find("rms_norm_485247dc"), nullptr);
  EXPECT_EQ(all.find("rms_norm_485247dc")->factor, 2);
  ASSERT_NE(all.find("matmul_0a1b2c3d"), nullptr);
  EXPECT_EQ(all.find("matmul_0a1b2c3d")->factor, 3);
  EXPECT_EQ(all.find("mine"), nullptr);
  const auto texts = all.unused_texts({kNamed.begin(), kNamed.end()});
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0],
            "the tolerance of \"matmull\" applies to no kernel (r); did you mean "
            "'matmul_0a1b2c3d'?");
}

}  // namespace
}  // namespace tapml::topdown
