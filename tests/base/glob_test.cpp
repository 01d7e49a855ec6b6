#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace tapml {
namespace {

TEST(Glob, Matches) {
  struct Case {
    const char *pattern, *text;
    bool matches;
  };
  const Case cases[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "rms_norm_485247dc", true},
      {"matmul", "matmul_add", false},
      {"matmul*", "matmul_add", true},
      {"*_add_*", "matmul_add_1234", true},
      {"*_add", "matmul_add_add", true},
      {"*a*b", "aab", true},
      {"*a*b", "aba", false},
      {"rms_norm_????", "rms_norm_4852", true},
      {"rms_norm_????", "rms_norm_485", false},
      {"a**c", "abc", true},
      {"a?c*", "abc", true},
      {"[a]", "a", false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(glob_matches(one.pattern, one.text), one.matches) << one.pattern << " " << one.text;
  }
}

TEST(Glob, ManyStarsDoNotTakeLong) {
  std::string pattern, text(20000, 'a');
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", text));
  EXPECT_TRUE(glob_matches(pattern, text));
}

}  // namespace
}  // namespace tapml
