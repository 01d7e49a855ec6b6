#include "base/units.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(Units, Counts) {
  EXPECT_EQ(counted(0, "kernel"), "0 kernels");
  EXPECT_EQ(counted(1, "kernel"), "1 kernel");
  EXPECT_EQ(counted(28, "call site"), "28 call sites");
}

TEST(Units, Sizes) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(-1023), "-1023 bytes");
  EXPECT_EQ(size_text(1536), "1.50 KiB");
  EXPECT_EQ(size_text(1023 * 1024 + 1000), "1.00 MiB");
  EXPECT_EQ(size_text(int64_t{270} << 20), "270 MiB");
  EXPECT_EQ(size_text(INT64_MAX), "8.00 EiB");
}

TEST(Units, Times) {
  EXPECT_EQ(time_text(0), "0 s");
  EXPECT_EQ(time_text(850e-9), "850 ns");
  EXPECT_EQ(time_text(12.3e-6), "12.3 µs");
  EXPECT_EQ(time_text(-4.56e-3), "-4.56 ms");
  EXPECT_EQ(time_text(1.2), "1.20 s");
  EXPECT_EQ(time_text(1e300), "inf");
}

}  // namespace
}  // namespace tapml
