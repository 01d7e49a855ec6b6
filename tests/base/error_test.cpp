#include "base/error.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace tapml {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(user_error("odd", "here", "an even number", "3", "add one"));
  return value / 2;
}

Result<int> quarter(int value) {
  TAPML_ASSIGN(int once, half(value));
  TAPML_ASSIGN(int twice, half(once));
  return twice;
}

Status check(int value) {
  TAPML_TRY(quarter(value));
  return {};
}

TEST(ErrorTest, TextListsThePartsThatArePresent) {
  EXPECT_EQ(half(3).error().to_string(),
            "odd\n  where: here\n  expected: an even number\n  found: 3\n  hint: add one");
  EXPECT_EQ(internal_error("broken").to_string(), "broken");
  EXPECT_EQ(platform_error(PlatformFault::kLost, "gone", "gpu").to_string(), "gone\n  where: gpu");
}

TEST(ErrorTest, KindsAndFaults) {
  EXPECT_EQ(half(3).error().kind, ErrorKind::kUser);
  EXPECT_EQ(platform_error(PlatformFault::kLost, "gone").kind, ErrorKind::kPlatform);
  EXPECT_EQ(internal_error("broken").kind, ErrorKind::kInternal);
  EXPECT_STREQ(error_kind_name(ErrorKind::kPlatform), "platform");
  EXPECT_STREQ(platform_fault_name(PlatformFault::kOutOfMemory), "out of memory");
  EXPECT_STREQ(platform_fault_name(PlatformFault::kCrash), "crash");
  EXPECT_STREQ(platform_fault_name(PlatformFault::kUnauthorized), "unauthorized");
  EXPECT_STREQ(platform_fault_name(PlatformFault::kCompile), "compile");
}

TEST(ResultTest, MacrosPassTheErrorOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(check(4));
  EXPECT_EQ(check(5).error().hint, "add one");
}

}  // namespace
}  // namespace tapml
