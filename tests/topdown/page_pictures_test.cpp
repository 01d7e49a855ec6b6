// The pictures of pages: the map of the model, plots, heat maps and timelines.
#include <gtest/gtest.h>

#include <limits>

#include "support/well_formed.h"
#include "topdown/report/error_plot.h"
#include "topdown/report/heat_map.h"
#include "topdown/report/model_map.h"
#include "topdown/report/timeline_chart.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

using testing::markup_fault;

TEST(ModelMap, SortsPathsIntoLayers) {
  EXPECT_EQ(layer_position("model.layers.12.self_attn.q_proj"),
            (LayerPosition{"model.layers", 12}));
  EXPECT_EQ(layer_position("model.layers.12.self_attn").name(), "layers 12");
  EXPECT_EQ(layer_position("model.norm"), (LayerPosition{"model.norm", -1}));
  EXPECT_EQ(layer_position("model.norm").name(), "norm");
  EXPECT_EQ(layer_position("3").name(), "3");
  EXPECT_EQ(layer_position("").name(), "");
  EXPECT_EQ(layer_positions({"m.layers.0", "m.layers.0.mlp", "m.layers.1"}),
            (std::vector<LayerPosition>{{"m.layers", 0}, {"m.layers", 1}}));
  EXPECT_EQ(layer_positions({}), (std::vector<LayerPosition>{{"elsewhere", -1}}));
}

PageKernel page_kernel(const KernelVerdict& verdict, KernelState state) {
  PageKernel kernel;
  kernel.name = verdict.kernel;
  kernel.state = state;
  kernel.verdict = &verdict;
  kernel.groups = verdict.groups;
  return kernel;
}

TEST(ModelMap, MarksTheLayersInWhichAKernelDiffers) {
  const KernelVerdict good = verdict_in_two_layers("a_1", 0, 0),
                      bad = verdict_in_two_layers("b_2", 0.5, 40);
  const std::string map = model_map(
      {page_kernel(good, KernelState::kPassed), page_kernel(bad, KernelState::kMismatch)});
  EXPECT_EQ(markup_fault("<div>" + map + "</div>"), "");
  const size_t first = map.find("layers 0</th>"), second = map.find("layers 1</th>");
  ASSERT_LT(first, second);
  ASSERT_NE(second, std::string::npos);
  // Unmarked in layer 0, marked in layer 1: outlined there, filled here. The sign is beside the
  // number.
  EXPECT_EQ(count_in(map.substr(first, second - first), "chip mismatch spared\""), 1);
  EXPECT_EQ(count_in(map.substr(second), "chip mismatch\""), 1);
  EXPECT_EQ(count_in(map.substr(second), ">≠2</a>"), 1);
  EXPECT_EQ(count_in(map.substr(second), ">1</a>"), 1);
}

TEST(ModelMap, ManyLayersThatAreAlikeShareARow) {
  KernelVerdict everywhere = verdict_in_two_layers("a_1", 0, 0),
                once = verdict_in_two_layers("b_2", 40, 0);
  everywhere.groups.clear();
  for (int64_t layer = 0; layer < 80; ++layer) {
    everywhere.groups.push_back(
        {"prefill", {"model.layers." + std::to_string(layer)}, layer, 1, 1, 0});
  }
  once.groups = {{"prefill", {"model.layers.40"}, 40, 1, 1, 40}};
  const std::string map = model_map(
      {page_kernel(everywhere, KernelState::kPassed), page_kernel(once, KernelState::kMismatch)});
  for (const char* row : {">layers 0 – 39<", ">layers 40<", ">layers 41 – 79<"}) {
    EXPECT_EQ(count_in(map, row), 1) << row;
  }
  EXPECT_EQ(count_in(map, "<tr>"), 4) << "with the head";
}

TEST(ErrorPlot, DrawsEveryComparedGroup) {
  const KernelVerdict good = verdict_in_two_layers("a_1", 0, 1e-3),
                      bad =
                          verdict_in_two_layers("b_2", 1, std::numeric_limits<double>::infinity());
  const std::vector<PageKernel> kernels = {page_kernel(good, KernelState::kPassed),
                                           page_kernel(bad, KernelState::kMismatch)};
  const std::string plot = error_plot(kernels);
  EXPECT_EQ(markup_fault(plot), "");
  EXPECT_EQ(count_in(plot, "class=\"inside\""), 3) << "a ratio of 1 is within the bound";
  EXPECT_EQ(count_in(plot, "class=\"outside\""), 1);
  EXPECT_EQ(count_in(plot, "href=\"#kernel-2\""), 2);
  EXPECT_EQ(count_in(plot, ">bound 1<"), 1);
  EXPECT_EQ(count_in(plot, ">NaN, inf<"), 1);
  EXPECT_EQ(count_in(plot, ">1e-3<"), 1);
  EXPECT_EQ(error_plot({}), "<p>No call was compared.</p>");
}

TEST(HeatMap, ShowsWhereTheDifferencesAre) {
  DifferenceMap map = *wrong_migration().steps[2].verdict.difference;
  EXPECT_EQ(difference_text(map), "2 of 4 elements are outside of their bounds, in columns 2 to 3");
  const std::string drawn = heat_map(map);
  EXPECT_EQ(markup_fault("<div>" + drawn + "</div>"), "");
  // The shades of the picture and of the legend.
  EXPECT_EQ(count_in(drawn, "<path class=\"h1\""), 1);
  EXPECT_EQ(count_in(drawn, "<path class=\"h3\""), 1);
  EXPECT_EQ(count_in(drawn, "<path class=\"h5\""), 1);
  EXPECT_EQ(count_in(drawn, "<path class=\"h7\""), 1);
  EXPECT_EQ(count_in(drawn, "<path class=\"h0\""), 0);
  map.outside = 1;
  map.last_column = 2;
  EXPECT_EQ(difference_text(map), "1 of 4 elements is outside of their bounds, in column 2");
  map.first_column = 0;
  map.last_column = 3;
  map.outside = 4;
  EXPECT_EQ(difference_text(map), "4 of 4 elements are outside of their bounds");
  EXPECT_EQ(heat_map({}), "");
}

TEST(TimelineChart, HasALaneForEachKind) {
  const std::string chart = timeline_chart(
      {{"steps", "compile", 0, 2}, {"replay", "a_1", 2, 0.5}, {"replay", "b_2", 2.5, 0.5}});
  EXPECT_EQ(markup_fault("<div>" + chart + "</div>"), "");
  EXPECT_EQ(count_in(chart, "class=\"span\""), 3);
  EXPECT_EQ(count_in(chart, "a_1: 0.50 s"), 1);
  EXPECT_EQ(count_in(chart, "text-anchor=\"end\">replay<"), 1);
  EXPECT_EQ(timeline_chart({}), "<p>No step was timed.</p>");
}

}  // namespace
}  // namespace tapml::topdown
