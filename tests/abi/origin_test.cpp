#include "abi/origin.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(OriginTest, MergeIsASortedUnion) {
  Origin merged = merge_origins({"b", "a"}, {"c", "b"});
  EXPECT_EQ(merged, (Origin{"a", "b", "c"}));
  EXPECT_EQ(merge_origins({}, {"x"}), Origin{"x"});
}

TEST(OriginTest, LinesAreMergedAndSummarizedByFile) {
  Origin a, b;
  a.lines = {"blocks/norm.cpp:9", "blocks/norm.cpp:101"};
  b.lines = {"blocks/linear.cpp:20", "elsewhere", "blocks/norm.cpp:9"};
  const Origin merged = merge_origins(a, b);
  EXPECT_EQ(merged.lines.size(), 4u);
  EXPECT_TRUE(merged.layers.empty());
  EXPECT_EQ(lines_summary(merged), "elsewhere, blocks/linear.cpp:20, blocks/norm.cpp:9,101");
  EXPECT_EQ(lines_summary(Origin{"model.norm"}), "");
  EXPECT_FALSE(merged == a);
}

TEST(OriginTest, SummaryWritesRunsOfLayers) {
  EXPECT_EQ(layers_summary(Origin{}), "");
  EXPECT_EQ(layers_summary(Origin{"model.norm"}), "model.norm");
  EXPECT_EQ(layers_summary(Origin{"model.layers.3.mlp"}), "model.layers.3.mlp");
  Origin origin;
  for (int i = 0; i < 12; ++i)
    origin.layers.insert("model.layers." + std::to_string(i) + ".mlp.up_proj");
  EXPECT_EQ(layers_summary(origin), "model.layers.{0..11}.mlp.up_proj");
  origin.layers.erase("model.layers.4.mlp.up_proj");
  origin.layers.erase("model.layers.10.mlp.up_proj");
  EXPECT_EQ(layers_summary(origin), "model.layers.{0..3,5..9,11}.mlp.up_proj");
  EXPECT_EQ(layers_summary(Origin{"l.0", "l.1"}), "l.{0,1}");
}

TEST(OriginTest, SummaryKeepsDifferentPathsApart) {
  EXPECT_EQ(layers_summary(Origin{"layers.0.mlp", "layers.1.mlp", "layers.1.attn", "lm_head"}),
            "layers.{0,1}.mlp, layers.1.attn, lm_head");
}

TEST(OriginTest, SummaryJoinsTwoNumbersOnlyIfAllPairsOccur) {
  EXPECT_EQ(layers_summary(Origin{"l.0.e.0", "l.0.e.1", "l.1.e.0", "l.1.e.1"}), "l.{0,1}.e.{0,1}");
  EXPECT_EQ(layers_summary(Origin{"l.0.e.0", "l.0.e.1", "l.1.e.0"}), "l.0.e.{0,1}, l.1.e.0");
}

TEST(OriginTest, OddPathsSurvive) {
  EXPECT_EQ(layers_summary(Origin{".", "a..b", "x.007", "x.99999999999999999999"}),
            "., a..b, x.007, x.99999999999999999999");
}

}  // namespace
}  // namespace tapml
