// Migrations that move one layer of the model after another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/forwarding_session.h"
#include "support/expect_error.h"
#include "support/well_formed.h"
#include "topdown/asked_migration.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/losing_session.h"
#include "topdown/migrate/layer_moves.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/report_files.h"
#include "topdown/report/side_by_side.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {
namespace {

Asked by_layers() {
  Asked options = short_run();
  options.plan = parse_plan("execution", {"layer-by-layer"});
  return options;
}

// The result of an ordinary layer-by-layer migration.
const Migration& moved() {
  static const Migration migration = migrated(by_layers());
  return migration;
}

std::vector<std::string> names_of(const std::vector<LayerStep>& layers) {
  std::vector<std::string> names;
  for (const LayerStep& layer : layers) names.push_back(layer.layer);
  return names;
}

const LayerStep& layer(const Migration& migration, const std::string& name) {
  return *std::ranges::find(migration.layers, name, &LayerStep::layer);
}

// The kernel that normalizes the inputs of all layers in the prefill.
std::string shared_norm() {
  for (const MigrationStep& step : moved().steps) {
    if (step.verdict.kernel.starts_with("rms_norm") &&
        step.verdict.origin.layers.contains("model.layers.1.input_layernorm")) {
      return step.verdict.kernel;
    }
  }
  ADD_FAILURE() << "no kernel of a layer's norm";
  return "";
}

// That kernel for the cpu: `factor` times too large when called with the weight of one layer,
// correct otherwise.
std::vector<CustomSource> wrong_in_one_layer(const std::string& kernel, const std::string& layer,
                                             double factor, const testing::TempFolder& folder) {
  const testing::CompiledModel& model = small_model();
  const std::string weight = layer + ".input_layernorm.weight";
  auto bits_of = [](const HostTensor& tensor) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes().data(), sizeof bits);
    return bits;
  };
  const uint32_t wanted = bits_of(model.golden.model.weights.at(weight));
  for (const auto& [name, tensor] : model.golden.model.weights) {
    if (name != weight && name.find("norm") != std::string::npos) {
      EXPECT_NE(bits_of(tensor), wanted) << name << " begins like " << weight;
    }
  }
  const target::Target target = target::parse_target("cpu");
  std::string text =
      kernel_skeleton(pipeline::form_kernels(model.golden.model.module), kernel, target);
  const size_t loop = text.rfind("  for (int64_t item = begin");
  const size_t store = text.find(" = ", text.find("    out[", loop));
  EXPECT_NE(store, std::string::npos) << text;
  text.insert(store + 3, "factor * ");
  text.insert(loop, "  const float factor = *(const uint32_t*)buffers[1] == " +
                        std::to_string(wanted) + "u ? " + std::to_string(factor) + "f : 1.0f;\n");
  testing::write_bytes(folder / "k.c", text);
  return read_custom_sources(folder / ".", target);
}

TEST(ModelLayers, AreInTheOrderOfTheRun) {
  EXPECT_EQ(layer_of_path("model.layers.10.self_attn.q_proj"), "model.layers.10");
  EXPECT_EQ(layer_of_path("model.layers.3.mlp.experts.5"), "model.layers.3");
  EXPECT_EQ(layer_of_path("model.norm"), "model.norm");
  EXPECT_EQ(layer_of_path("7.x"), "7.x");
  Suite suite;
  suite.kernels.resize(3);
  auto call = [&](int32_t kernel, const Origin& origin) {
    suite.calls.push_back({.kernel = kernel, .origin = origin});
  };
  call(2, {"model.embed"});
  call(0, {"model.layers.9.a"});
  call(1, {"model.layers.9.b", "model.layers.10"});
  call(0, {"model.layers.10.a"});
  call(0, {"model.layers.9.c"});
  call(2, {});
  const ModelLayers layers(suite);
  ASSERT_EQ(layers.all().size(), 4u);
  EXPECT_EQ(layers.all()[0].name, "model.embed");
  EXPECT_EQ(layers.all()[3].name, "elsewhere");
  // The origin is a sorted set, in which 10 precedes 9.
  const size_t ten = layers.of({"model.layers.10.x"}), nine = layers.of({"model.layers.9"});
  EXPECT_EQ(layers.all()[ten].kernels, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(layers.all()[nine].kernels, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(layers.of({"model.layers.9.x", "model.layers.10.y"}), std::max(nine, ten));
  EXPECT_EQ(layers.of({"model.layers.11"}), layers.all().size());
  EXPECT_EQ(layers.of({}), 3u);
}

TEST(LayerByLayer, RefusesOtherGranularities) {
  EXPECT_TRUE(parse_plan("cost", {"layer-by-layer"}).layer_by_layer);
  for (const int64_t every : {0, 2}) {
    testing::expect_user_error([&] { parse_plan("cost", {"layer-by-layer"}, every); },
                               {"--hybrid-every", "layer", std::to_string(every)});
  }
  testing::expect_user_error([] { parse_plan("cost", {"kernel"}, -1); }, {"--hybrid-every", "-1"});
  for (const char* other : {"layer", "kernel", "norms=rms*"}) {
    testing::expect_user_error([&] { parse_plan("cost", {"layer-by-layer", other}); },
                               {"--granularity layer-by-layer", "no other --granularity"});
  }
}

TEST(LayerByLayer, EveryLayerMovesAndEveryCallWithIt) {
  const Migration& migration = moved();
  EXPECT_TRUE(migration.passed());
  const std::vector<std::string> names = names_of(migration.layers);
  ASSERT_GE(names.size(), 5u);
  EXPECT_EQ(names.front(), "model.embed_tokens");
  EXPECT_EQ(names[1], "model.layers.0");
  EXPECT_EQ(names[2], "model.layers.1");
  int64_t before = 0;
  for (const LayerStep& one : migration.layers) {
    EXPECT_TRUE(one.left.empty()) << one.layer;
    EXPECT_FALSE(one.kernels.empty()) << one.layer;
    EXPECT_TRUE(one.hybrid.passed) << one.layer;
    EXPECT_GE(one.dispatched, before) << one.layer;
    before = one.dispatched;
  }
  // Layers have the same kernels, so each adds the same number of calls.
  const int64_t embedding = migration.layers[0].dispatched;
  const int64_t first = migration.layers[1].dispatched - embedding;
  EXPECT_GT(first, 0);
  EXPECT_EQ(migration.layers[1].kernels, migration.layers[2].kernels);
  EXPECT_EQ(migration.layers[2].dispatched - migration.layers[1].dispatched, first);
  // At the end all calls are moved, as when migrating kernel by kernel.
  const Migration plain = migrated(short_run());
  EXPECT_EQ(before, plain.steps.back().dispatched);
  EXPECT_EQ(kernels_of(migration), kernels_of(plain));
  for (const MigrationStep& step : migration.steps) {
    EXPECT_TRUE(step.migrated) << step.verdict.kernel;
    EXPECT_GT(step.hybrid.positions, 0) << step.verdict.kernel;
  }
}

TEST(LayerByLayer, AFaultInOneLayersCallsKeepsTheKernelOnlyThere) {
  const std::string victim = shared_norm();
  testing::TempFolder folder;
  Asked options = by_layers();
  options.custom_sources = wrong_in_one_layer(victim, "model.layers.1", 1.5, folder);
  const Migration migration = migrated(options);
  EXPECT_FALSE(migration.passed());
  EXPECT_FALSE(migration.target_ran);
  ASSERT_EQ(migration.culprits().size(), 1u);
  EXPECT_EQ(migration.culprits()[0]->verdict.kernel, victim);
  EXPECT_EQ(outcome_of(*migration.culprits()[0]), "mismatch");
  for (const LayerStep& one : migration.layers) {
    const bool wrong = one.layer == "model.layers.1";
    EXPECT_EQ(one.left, wrong ? std::vector{victim} : std::vector<std::string>()) << one.layer;
    EXPECT_TRUE(one.hybrid.passed) << one.layer;
  }
  // Kernel by kernel, none of its calls would have moved.
  const int64_t calls = moved().layers.back().dispatched - migration.layers.back().dispatched;
  EXPECT_GT(calls, 0);
  const int64_t of_layer = moved().layers[2].dispatched - moved().layers[1].dispatched;
  EXPECT_LT(calls, of_layer);
}

// Its tests cannot detect it, as tolerances may be widened: the model does, in the layer with the
// fault.
TEST(LayerByLayer, AFaultThatOnlyTheModelShowsStaysInItsLayer) {
  const std::string victim = shared_norm();
  testing::TempFolder folder;
  Asked options = by_layers();
  options.custom_sources = wrong_in_one_layer(victim, "model.layers.1", 1.5, folder);
  options.tolerances = Tolerances::parse(
      R"({"tolerances": [{"kernel": ")" + victim + R"(", "absolute": 100, "reason": "a test"}]})",
      "tolerances.json");
  const Migration migration = migrated(options);
  EXPECT_FALSE(migration.passed());
  ASSERT_EQ(migration.culprits().size(), 1u);
  const MigrationStep& step = *migration.culprits()[0];
  EXPECT_EQ(step.verdict.kernel, victim);
  EXPECT_TRUE(step.verdict.passed);
  EXPECT_EQ(outcome_of(step), "hybrid mismatch");
  EXPECT_GT(step.hybrid.max_abs, step.hybrid.bound) << "the run that was wrong";
  for (const LayerStep& one : migration.layers) {
    const bool wrong = one.layer == "model.layers.1";
    EXPECT_EQ(one.left, wrong ? std::vector{victim} : std::vector<std::string>()) << one.layer;
    EXPECT_TRUE(one.hybrid.passed) << one.layer;
  }
  EXPECT_EQ(layer_outcome(layer(migration, "model.layers.1")),
            "1 of " + std::to_string(layer(migration, "model.layers.1").kernels.size()) +
                " kernels stays");
  // The migration may end there.
  options.stop_at_first = true;
  const Migration stopped = migrated(options);
  EXPECT_EQ(names_of(stopped.layers), names_of(migration.layers));
  for (size_t i = 0; i < stopped.layers.size(); ++i) {
    EXPECT_EQ(stopped.layers[i].tried, i <= 2) << stopped.layers[i].layer;
  }
  EXPECT_EQ(stopped.culprits().size(), 1u);
  EXPECT_FALSE(stopped.passed());
}

TEST(LayerByLayer, ResumesAfterADeviceLoss) {
  Asked options = by_layers();
  testing::TempFolder folder;
  options.state = folder / "state";
  // As many launches as the tests need, and a few layers.
  int64_t launches = 0, layers = 0;
  {
    Asked counted = options;
    counted.state.clear();
    class Counting : public runtime::ForwardingSession {
     public:
      explicit Counting(int64_t& count)
          : ForwardingSession(testing::open_session("cpu")), count_(count) {}
      Status launch(runtime::StreamId stream,
                    const runtime::LaunchRequest& request) noexcept override {
        ++count_;
        return ForwardingSession::launch(stream, request);
      }

     private:
      int64_t& count_;
    };
    int64_t count = 0;
    counted.progress = [&](const std::string& step, int64_t, int64_t) {
      if (step == "model.layers.1") launches = count;
    };
    migrated(counted, std::make_unique<Counting>(count));
  }
  ASSERT_GT(launches, 0);
  testing::expect_platform_error(
      [&] { migrated(options, std::make_unique<LosingSession>(static_cast<int>(launches) + 2)); },
      PlatformFault::kLost, {"the device is lost"});
  const std::string file = folder / "state/state.json";
  const std::string kept = testing::read_bytes(file);
  const Json json = unwrap(parse_json(kept, "state.json"));
  EXPECT_EQ(json.find("steps")->items().size(), moved().steps.size());
  ASSERT_EQ(json.find("layers")->items().size(), 2u) << "the embedding and layer 0";
  options.progress = [&](const std::string& step, int64_t, int64_t total) {
    layers += total > 0 && step.starts_with("model.");
  };
  const Migration resumed = migrated(options);
  const std::vector<std::string> names = names_of(moved().layers);
  EXPECT_EQ(layers, std::count_if(names.begin() + 2, names.end(), [](const std::string& name) {
              return name.starts_with("model.");
            }));
  EXPECT_EQ(resumed.resumed, std::ssize(moved().steps));
  auto without_copies = [](Migration migration) {
    for (LayerStep& one : migration.layers) one.copies = {};
    return result_of(migration);
  };
  EXPECT_EQ(without_copies(resumed), without_copies(moved()));
  // Another kernel's code discards the layers and their results.
  std::string other = testing::read_bytes(file);
  const size_t at = other.find("\"code\": \"") + 9;
  other[at] = other[at] == '0' ? '1' : '0';
  testing::write_bytes(file, other);
  layers = 0;
  const Migration again = migrated(options);
  EXPECT_EQ(again.resumed, std::ssize(moved().steps) - 1);
  EXPECT_GT(layers, 2);
  EXPECT_EQ(without_copies(again), without_copies(moved()));
}

TEST(LayerByLayer, SeveralTargetsEachAsAlone) {
  const std::string victim = shared_norm();
  testing::TempFolder folder;
  Asked options = by_layers();
  options.cache = &kernel_cache();
  auto from = testing::open_session("cpu"), a = testing::open_session("cpu"),
       b = testing::open_session("cpu");
  MigrationTarget right = options.target(*a), wrong = options.target(*b);
  wrong.custom_sources = wrong_in_one_layer(victim, "model.layers.0", 2, folder);
  const Migrations both =
      migrate(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
              {target::parse_target("cpu"), from.get(), {}}, {right, wrong}, options);
  EXPECT_TRUE(both.targets[0].passed());
  EXPECT_EQ(names_of(both.targets[0].layers), names_of(both.targets[1].layers));
  for (const LayerStep& one : both.targets[1].layers) {
    EXPECT_EQ(one.left.empty(), one.layer != "model.layers.0") << one.layer;
  }
  const std::vector<std::string> lines = side_by_side(both, 200, false);
  const auto line = std::ranges::find_if(
      lines, [](const std::string& text) { return text.starts_with("layer model.layers.0 "); });
  ASSERT_NE(line, lines.end());
  EXPECT_LT(line->find("  moved  "), line->find("  1 of "));
  const std::string page = migrations_html(both, {{{}, {}}, {"a", "b"}, ""});
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_NE(page.find("Layers on every target"), std::string::npos);
  EXPECT_NE(page.find("b/report.html#layers\">1 of "), std::string::npos);
}

TEST(LayerByLayer, ReportsShowTheLayers) {
  Migration migration = moved();
  migration.layers[2].left = {migration.layers[2].kernels.at(0)};
  migration.layers.back().tried = false;
  migration.layers.back().hybrid = {};
  const std::string page = migration_html(migration, {});
  EXPECT_EQ(testing::markup_fault(page), "");
  for (const std::string part :
       {"Layer by layer", "model.layers.0", "not tried", "kernels stays"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(migration_html(Migration(), {}).find("Layer by layer"), std::string::npos);
  const std::vector<std::string> lines = layer_lines(migration.layers, 200, false);
  ASSERT_EQ(lines.size(), migration.layers.size() + 1);
  EXPECT_NE(lines[1].find("moved"), std::string::npos);
  EXPECT_NE(lines[3].find("stays  " + migration.layers[2].left[0]), std::string::npos);
  const CiReport report = ci_report("t", migration);
  const auto of = [&](const std::string& name) {
    return std::ranges::find(report.cases, "layer " + name, &CiCase::name)->result;
  };
  EXPECT_EQ(of("model.layers.0"), CiCase::Result::kPassed);
  EXPECT_EQ(of("model.layers.1"), CiCase::Result::kFailed);
  EXPECT_EQ(of(migration.layers.back().layer), CiCase::Result::kSkipped);
  // The state reads them again.
  const Json json = layers_json(migration.layers);
  for (size_t i = 0; i < migration.layers.size(); ++i) {
    const LayerStep read = unwrap(read_layer(JsonObjectReader(json.items()[i], "layers")));
    EXPECT_EQ(layers_json({read}).items()[0].dump(), json.items()[i].dump());
  }
}

}  // namespace
}  // namespace tapml::topdown
