#include "abi/origin.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(OriginTest, MergeIsASortedUnion) {
  Origin merged = merge_origins({"b", "a"}, {"c", "b"});
  EXPECT_EQ(merged, (Origin{"a", "b", "c"}));
  EXPECT_EQ(merge_origins({}, {"x"}), Origin{"x"});
}

TEST(OriginTest, SummaryWritesRunsOfLayers) {
  EXPECT_EQ(origin_summary({}), "");
  EXPECT_EQ(origin_summary({"model.norm"}), "model.norm");
  EXPECT_EQ(origin_summary({"model.layers.3.mlp"}), "model.layers.3.mlp");
  Origin origin;
  for (int i = 0; i < 12; ++i) origin.insert("model.layers." + std::to_string(i) + ".mlp.up_proj");
  EXPECT_EQ(origin_summary(origin), "model.layers.{0..11}.mlp.up_proj");
  origin.erase("model.layers.4.mlp.up_proj");
  origin.erase("model.layers.10.mlp.up_proj");
  EXPECT_EQ(origin_summary(origin), "model.layers.{0..3,5..9,11}.mlp.up_proj");
  EXPECT_EQ(origin_summary({"l.0", "l.1"}), "l.{0,1}");
}

TEST(OriginTest, SummaryKeepsDifferentPathsApart) {
  EXPECT_EQ(origin_summary({"layers.0.mlp", "layers.1.mlp", "layers.1.attn", "lm_head"}),
            "layers.{0,1}.mlp, layers.1.attn, lm_head");
}

TEST(OriginTest, SummaryJoinsTwoNumbersOnlyIfAllPairsOccur) {
  EXPECT_EQ(origin_summary({"l.0.e.0", "l.0.e.1", "l.1.e.0", "l.1.e.1"}), "l.{0,1}.e.{0,1}");
  EXPECT_EQ(origin_summary({"l.0.e.0", "l.0.e.1", "l.1.e.0"}), "l.0.e.{0,1}, l.1.e.0");
}

TEST(OriginTest, OddPathsSurvive) {
  EXPECT_EQ(origin_summary({".", "a..b", "x.007", "x.99999999999999999999"}),
            "., a..b, x.007, x.99999999999999999999");
}

}  // namespace
}  // namespace tapml
