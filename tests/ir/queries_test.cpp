#include "ir/queries.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tapml {
namespace {

class QueriesTest : public testing::Test {
 protected:
  const Var n = make_var("n"), m = make_var("m"), k = make_var("k");
  const PrimExpr sum = n * 4 + max(m, 1);
};

TEST_F(QueriesTest, AnyNodeLooksAtEveryNode) {
  EXPECT_TRUE(any_node(sum, [](const PrimExpr& e) { return e.kind() == ExprKind::kAdd; }));
  EXPECT_TRUE(any_node(sum, [](const PrimExpr& e) { return e.is_int(1); }));
  EXPECT_FALSE(any_node(sum, [](const PrimExpr& e) { return e.is_int(2); }));
}

TEST_F(QueriesTest, AVariableIsUsedByItsIdentity) {
  EXPECT_TRUE(uses(sum, n));
  EXPECT_TRUE(uses(sum, m));
  EXPECT_FALSE(uses(sum, k));
  EXPECT_FALSE(uses(sum, make_var("n")));
  EXPECT_TRUE(uses(std::vector<PrimExpr>{k, sum}, m));
  EXPECT_FALSE(uses(std::vector<PrimExpr>{n, 3}, m));
}

TEST_F(QueriesTest, SetsAndMapsNameTheVariables) {
  EXPECT_TRUE(uses_any(sum, std::set<const ExprNode*>{k.get(), m.get()}));
  EXPECT_FALSE(uses_any(sum, std::set<const ExprNode*>{k.get()}));
  EXPECT_TRUE(uses_any(sum, VarMap{{n.get(), 1}}));
}

TEST_F(QueriesTest, QuotientsRoundUp) {
  EXPECT_TRUE(ceil_div(9, 4).is_int(3));
  EXPECT_TRUE(round_up(9, 4).is_int(12));
  EXPECT_EQ(to_string(ceil_div(n, 4)), "(n + 3)//4");
  EXPECT_EQ(to_string(round_up(n, 16)), "(n + 15)//16*16");
  EXPECT_EQ(to_string(ceil_div(n, m)), "(n + (m - 1))//m");
}

}  // namespace
}  // namespace tapml
