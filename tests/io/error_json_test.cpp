// Error kinds as text, and parsed again.
#include "io/error_json.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(ErrorJson, EveryKindIsReadAgain) {
  for (const ErrorKind kind : {ErrorKind::kUser, ErrorKind::kPlatform, ErrorKind::kInternal}) {
    for (int fault = 0; fault <= static_cast<int>(kLastFault); ++fault) {
      Error error;
      error.kind = kind;
      error.fault = static_cast<PlatformFault>(fault);
      Error read;
      ASSERT_TRUE(read_error_kind(error_kind_text(error), read)) << error_kind_text(error);
      EXPECT_EQ(read.kind, error.kind);
      EXPECT_EQ(read.fault, error.fault);
    }
  }
}

TEST(ErrorJson, OtherTextIsNotAKind) {
  Error error = platform_error(PlatformFault::kLost, "gone");
  EXPECT_EQ(error_kind_text(error), "platform: lost");
  EXPECT_FALSE(read_error_kind("platform: tired", error));
  EXPECT_FALSE(read_error_kind("", error));
  EXPECT_EQ(error.fault, PlatformFault::kLost);
  EXPECT_EQ(error_json(error).find("kind")->as_string(), "platform: lost");
}

}  // namespace
}  // namespace tapml
