#include "runtime/launch_note.h"

#include <gtest/gtest.h>

namespace tapml::runtime {
namespace {

TEST(LaunchNote, StrayAccessesAreFoundInTheirText) {
  for (const StrayAccess& access :
       {StrayAccess{true, -4, 0, "scale"}, StrayAccess{false, 1 << 20, 63, "matmul_0a1b2c3d_a"}}) {
    for (const char* more : {"", "\n  at 0x10", ", and more"}) {
      const auto found =
          find_stray("SIGSEGV at address 0x10, " + out_of_bounds_text(access) + more);
      ASSERT_TRUE(found) << out_of_bounds_text(access) + more;
      EXPECT_EQ(found->write, access.write);
      EXPECT_EQ(found->byte, access.byte);
      EXPECT_EQ(found->argument, access.argument);
      EXPECT_EQ(found->entry, access.entry);
    }
  }
  for (const char* text :
       {"", "a write", "a write to byte", " to byte 4 of argument 1 of x", "a write to byte x",
        "a write to byte 4 of argument", "a write to byte 4 of argument 99999999999999999999 of x",
        "a write to byte 4 of argument 1"}) {
    EXPECT_FALSE(find_stray(text)) << text;
  }
  EXPECT_EQ(find_stray("a write to byte ?, a read to byte 8 of argument 2 of x")->byte, 8);
}

TEST(LaunchNote, FindsTheArgumentOfAnAddress) {
  LaunchNote note;
  note.argument[0] = {0x1000, 0x800, 0x2000};
  note.argument[1] = {};  // not a host address
  note.argument[2] = {0x3000, 0x2000, 0x4000};
  note.arguments = 3;
  EXPECT_EQ(note.find(0x800), 0);
  EXPECT_EQ(note.find(0x1fff), 0);
  EXPECT_EQ(note.find(0x2000), 2);
  EXPECT_EQ(note.find(0x4000), -1);
  EXPECT_EQ(note.find(0), -1);
  note.set_entry(std::string(1000, 'x'));
  EXPECT_EQ(std::string(note.entry), std::string(sizeof note.entry - 1, 'x'));
}

TEST(LaunchNote, MisbehaviorIsNotACrash) {
  EXPECT_TRUE(is_misbehavior(misbehavior("writes to a standard stream")));
  EXPECT_FALSE(is_misbehavior(platform_error(PlatformFault::kCrash, "the process crashed")));
  EXPECT_FALSE(is_misbehavior(user_error("the kernel is not there")));
}

}  // namespace
}  // namespace tapml::runtime
