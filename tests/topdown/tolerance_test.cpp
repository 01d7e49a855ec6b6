// Tolerances: their file, and their effect on a verdict.
#include "topdown/reference_run/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "topdown/reference_run/compare.h"

namespace tapml::topdown {
namespace {

TEST(Tolerances, TheFirstMatchApplies) {
  const Tolerances all = Tolerances::parse(
      "{\"tolerances\": [{\"kernel\": \"rms_norm_1*\", \"factor\": 4, \"reason\": \"a\"},\n"
      "{\"kernel\": \"rms_norm_*\", \"absolute\": 0.5, \"reason\": \"b\"},\n"
      "{\"kernel\": \"rms_norm_12\", \"factor\": 2, \"reason\": \"c\"}]}",
      "t.json");
  ASSERT_NE(all.find("rms_norm_12"), nullptr);
  EXPECT_EQ(all.find("rms_norm_12")->factor, 4);
  EXPECT_EQ(all.find("rms_norm_12")->absolute, 0);
  EXPECT_EQ(all.find("rms_norm_2")->absolute, 0.5);
  EXPECT_EQ(all.find("rms_norm_2")->factor, 1);
  EXPECT_EQ(all.find("matmul_1"), nullptr);
  const std::vector<Tolerance> unused = all.unused({"rms_norm_12", "matmul_1"});
  ASSERT_EQ(unused.size(), 2u);
  EXPECT_EQ(unused[0].reason, "b");
  EXPECT_EQ(unused[1].reason, "c") << "another one comes before it";
  EXPECT_EQ(Tolerances().text(), "");
  EXPECT_NE(all.text(), "");
}

TEST(Tolerances, BadFilesAreRefusedWithTheirPosition) {
  struct Case {
    const char* item;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"{\"kernel\": \"a\", \"factor\": 2}", {"t.json:2:", "\"tolerances[0].reason\" is missing"}},
      {"{\"kernel\": \"a\", \"factor\": 2, \"reason\": \" \"}", {"t.json:2:", "reason", "empty"}},
      {"{\"kernel\": \"a\", \"reason\": \"r\"}", {"t.json:2:", "changes nothing", "factor"}},
      {"{\"kernel\": \"\", \"factor\": 2, \"reason\": \"r\"}", {"t.json:2:", "kernel", "empty"}},
      {"{\"kernel\": \"a\", \"factor\": -1, \"reason\": \"r\"}", {"t.json:2:", "factor"}},
      {"{\"kernel\": \"a\", \"absolute\": \"x\", \"reason\": \"r\"}", {"t.json:2:", "a number"}},
      {"{\"kernel\": \"a\", \"absolute\": 1, \"reason\": \"r\", \"rtol\": 1}",
       {"t.json:2:", "rtol", "unknown"}},
      {"3", {"t.json:2:", "an object"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.item);
    testing::expect_user_error(
        [&] { Tolerances::parse(std::string("{\"tolerances\": [\n") + one.item + "]}", "t.json"); },
        one.parts);
  }
  testing::expect_user_error([] { Tolerances::parse("{}", "t.json"); }, {"t.json", "tolerances"});
  testing::expect_user_error([] { Tolerances::load("/nowhere/t.json"); }, {"/nowhere/t.json"});
}

TEST(Tolerances, WidenTheBound) {
  const HostTensor exact = HostTensor::from<float>(DType::kF32, {2}, std::vector<float>{1, 2});
  const HostTensor off = HostTensor::from<float>(DType::kF32, {2}, std::vector<float>{1, 2.25});
  op::RefTensor reference = op::RefTensor::from(exact);
  reference.bound = {0.1, 0.1};
  EXPECT_FALSE(compare(off, exact, reference).target_ok);
  const Tolerance twice{"k", 2, 0, "r"}, thrice{"k", 3, 0, "r"}, both{"k", 2, 0.05, "r"};
  EXPECT_FALSE(compare(off, exact, reference, &twice).target_ok);
  const Comparison granted = compare(off, exact, reference, &thrice);
  EXPECT_TRUE(granted.target_ok);
  EXPECT_TRUE(granted.tolerated);
  EXPECT_DOUBLE_EQ(granted.allowed, 0.1 * 3);
  EXPECT_TRUE(compare(off, exact, reference, &both).target_ok);
  EXPECT_FALSE(compare(exact, exact, reference, &thrice).tolerated) << "it is not needed";
  // The source still has to be within its own bound.
  EXPECT_EQ(compare(off, off, reference, &thrice).outcome, Outcome::kSourceWrong);
  // No tolerance excuses a NaN.
  const HostTensor nan =
      HostTensor::from<float>(DType::kF32, {2}, std::vector<float>{1, std::nanf("")});
  const Tolerance huge{"k", 1, 1e30, "r"};
  EXPECT_FALSE(compare(nan, exact, reference, &huge).target_ok);
}

}  // namespace
}  // namespace tapml::topdown
