#include "base/sha256_blocks.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapml {
namespace {

TEST(Sha256Blocks, BothImplementationsAgree) {
  std::vector<uint8_t> bytes(64 * 9 + 1);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i * 37 + i);
  Sha256State start = {1, 2, 3, 0xffffffff, 0x80000000, 6, 7, 8};
  for (size_t count : {0, 1, 2, 9}) {
    // Also at an odd address: the message may start anywhere.
    for (size_t offset : {0, 1}) {
      Sha256State portable = start, native = start, chosen = start;
      sha256_blocks_portable(portable, bytes.data() + offset, count);
      sha256_blocks(chosen, bytes.data() + offset, count);
      EXPECT_EQ(chosen, portable) << count;
      if (sha256_blocks_native(native, bytes.data() + offset, count)) {
        EXPECT_EQ(native, portable) << count;
      } else {
        EXPECT_EQ(native, start) << "untouched where the instructions lack";
      }
      EXPECT_EQ(portable == start, count == 0);
    }
  }
}

}  // namespace
}  // namespace tapml
