#include "base/printable.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text :
       {"", "plain", "two\nlines\tand a tab", "C:\\x1b", "ä, € and 😀", "\u00a0"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("over\rwritten\b\x7f"), "over\\x0dwritten\\x08\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // C1 in UTF-8: U+009B starts a control sequence, and U+0080 to U+009F all may.
  EXPECT_EQ(printable("\u009b31m"), "\\xc2\\x9b31m");
  EXPECT_EQ(printable("\u0080\u009f\u00a0"), "\\xc2\\x80\\xc2\\x9f\u00a0");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");                    // C1 as a byte
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");           // not a lead byte; truncated
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xc2"), "\\xc2");
}

TEST(Printable, OneLineStaysOne) {
  EXPECT_EQ(printable_line("session 7: opened\nsession 8: ended\t."),
            "session 7: opened\\nsession 8: ended\t.");
  EXPECT_EQ(printable_line("\x1b\n\u009b"), "\\x1b\\n\\xc2\\x9b");
  // The function is idempotent.
  EXPECT_EQ(printable_line(printable_line("\x1b\n")), printable_line("\x1b\n"));
}

}  // namespace
}  // namespace tapml
