// Text and elements of pages.
#include "topdown/report/html.h"

#include <gtest/gtest.h>

#include "support/well_formed.h"

namespace tapml::topdown {
namespace {

using testing::markup_fault;

TEST(Html, EscapesEverySpecialCharacter) {
  EXPECT_EQ(escaped("a<b>&\"c\" é\n\t"), "a&lt;b&gt;&amp;&quot;c&quot; é\n\t");
  EXPECT_EQ(escaped("\x01\xff\xef\xbf\xbe\xc3"), "????");
  EXPECT_EQ(element("a", {{"href", "\"<"}, {"class", ""}}, "x"), "<a href=\"&quot;&lt;\">x</a>");
}

TEST(MarkupFault, FindsFaults) {
  EXPECT_EQ(markup_fault("<!doctype html><a b=\"&lt;\"><br/>x</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=c></a>", "<a>&x</a>", "<a b=\"1\" b=\"2\"></a>",
                          "<a></a><a></a>", "<a b=\"<\"></a>", "x", "<a>b > c</a>", "<a"}) {
    EXPECT_NE(markup_fault(bad), "") << bad;
  }
}

}  // namespace
}  // namespace tapml::topdown
