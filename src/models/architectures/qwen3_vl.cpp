// Images in Qwen3-VL: a vision transformer with positions in two directions; squares of its hidden
// states, of the last layer and of some before, become one vector each, which the first layers of
// the language model add (Bai et al. 2025; the layout and names of Hugging Face's
// Qwen3VLForConditionalGeneration). Images have the one size for which the files have positions.
#include <algorithm>
#include <array>
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/image_readers.h"
#include "models/blocks/layer.h"
#include "models/blocks/rope.h"
#include "models/vision_fields.h"

namespace tapml::models::qwen3_vl {

using relax::make_shape;
using relax::Variable;

namespace {

// From transformers' Qwen3VLVisionConfig.
constexpr int64_t kLayers = 27, kHidden = 1152, kIntermediate = 4304, kHeads = 16, kPatch = 16;
constexpr int64_t kMerge = 2, kFrames = 2, kPositions = 2304, kMostPositions = int64_t{1} << 16;
constexpr int32_t kImageToken = 151655;
constexpr const char* kTower = "model.visual";
const NormConfig kNorm = {.kind = NormConfig::Kind::kLayer, .epsilon = 1e-6, .bias = true};

struct Config {
  int64_t layers = 0, hidden = 0, intermediate = 0, heads = 0;
  int64_t patch = 0, frames = 0;   // pixels of a side, and images that a patch has
  int64_t side = 0;                // patches in a row and in a column
  int64_t merge = 0;               // of these that become one vector, in a row and in a column
  std::vector<int64_t> deepstack;  // the layers whose hidden states the language model adds, too
  Activation activation = Activation::kGeluTanh;
  RopeConfig rope;
  int64_t width = 0;  // of the language model

  int64_t pixels() const { return side * patch; }
  int64_t patches() const { return side * side; }
  int64_t grid() const { return side / merge; }
};

// A patch has the same image in each of its frames, so the kernel is the sum of those of the
// frames.
Variable embed_patches(Graph& g, const Config& c) {
  const std::string path = std::string(kTower) + ".patch_embed.proj";
  g.origin(path);
  const Variable patches = in_patches(g, g.narrowed(g.pixels()), 3, c.pixels(), c.patch);
  const int64_t size = c.patch * c.patch;
  Variable kernel =
      g.stored_weight({path + ".weight", {c.hidden, 3, c.frames, c.patch, c.patch}, {}});
  kernel = g.op("reshape", {kernel, make_shape({c.hidden, 3, c.frames, size})});
  kernel = g.op("sum", {g.widened(kernel)}, {{"axes", std::vector<int64_t>{2}}});
  kernel = g.op("reshape", {kernel, make_shape({c.hidden, 3 * size})});
  AttrMap attrs = {{"transpose_b", true}};
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  const Variable x = g.op("matmul", {patches, kernel}, std::move(attrs));
  const Variable biased = g.add(x, g.stored_weight({path + ".bias", {c.hidden}, {}}));
  g.origin(kTower);
  const Variable positions =
      g.stored_weight({std::string(kTower) + ".pos_embed.weight", {c.patches(), c.hidden}, {}});
  return g.narrowed(g.add(biased, positions));
}

// By row for half of the pairs of a head, by column for the others: f32[1, patches, 1, width / 2].
Variable angles(Graph& g, const Config& c) {
  g.origin(std::string(kTower) + ".rotary_pos_emb");
  const int64_t head = c.hidden / c.heads, quarter = head / 4;
  const Variable numbers =
      g.op("arange", {relax::make_prim_value(0), relax::make_prim_value(c.side)},
           {{"dtype", DType::kF32}});
  const relax::Expr frequencies = g.constant(rope_frequencies(c.rope, head / 2));
  const auto along = [&](Dims shape) {
    const Variable turned =
        g.op("multiply", {g.op("reshape", {numbers, make_shape(std::move(shape))}), frequencies});
    return g.op("broadcast_to", {turned, make_shape({c.side, c.side, quarter})});
  };
  const Variable both =
      g.op("concat", {relax::make_tuple({along({c.side, 1, 1}), along({1, c.side, 1})})},
           {{"axis", int64_t{2}}});
  return g.op("reshape", {both, make_shape({1, c.patches(), 1, 2 * quarter})});
}

Variable self_attention(Graph& g, const std::string& path, const Variable& x, const Config& c,
                        const Variable& cosine, const Variable& sine) {
  const Variable qkv = linear(g, path + ".qkv", x, 3 * c.hidden, {.bias = true});
  g.origin(path);
  const Variable parts =
      g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sizes", std::vector<int64_t>(3, c.hidden)}});
  const auto heads = [&](int64_t part) {
    return g.op("reshape", {g.field(parts, part),
                            make_shape({g.batch(), c.patches(), c.heads, c.hidden / c.heads})});
  };
  const Variable q = rotate_by(g, heads(0), cosine, sine), k = rotate_by(g, heads(1), cosine, sine);
  const Variable mixed = attend_to_all(g, q, k, heads(2), c.patches(), c.heads);
  return linear(g, path + ".proj", mixed, c.hidden, {.bias = true});
}

// Squares of patches as vectors of the language model; the norm is of patches, or of squares.
Variable merged(Graph& g, const std::string& path, Variable x, const Config& c, bool of_squares) {
  if (!of_squares) x = norm(g, path + ".norm", x, kNorm);
  g.origin(path);
  const int64_t grid = c.grid(), inner = c.merge * c.merge * c.hidden;
  x = g.op("reshape", {x, make_shape({g.batch(), grid, c.merge, grid, c.merge * c.hidden})});
  x = g.op("permute", {x}, {{"axes", std::vector<int64_t>{0, 1, 3, 2, 4}}});
  x = g.op("reshape", {x, make_shape({g.batch(), grid * grid, inner})});
  if (of_squares) x = norm(g, path + ".norm", x, kNorm);
  x = linear(g, path + ".linear_fc1", x, inner, {.bias = true});
  g.origin(path + ".act_fn");
  x = activate(g, x, Activation::kGelu);
  return g.widened(linear(g, path + ".linear_fc2", x, c.width, {.bias = true}));
}

Variable embeddings(Graph& g, const Config& c) {
  const std::string tower = kTower;
  Variable x = embed_patches(g, c);
  const Variable turned = angles(g, c);
  const Variable cosine = g.op("cos", {turned}), sine = g.op("sin", {turned});
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "linear_fc1",
                                 .down = "linear_fc2"};
  std::vector<relax::Expr> vectors(1);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string own = tower + ".blocks." + std::to_string(layer);
    x = pre_norm_layer(
        g, own, x, kNorm,
        [&](const Variable& y) { return self_attention(g, own + ".attn", y, c, cosine, sine); },
        [&](const Variable& y) { return feed_forward(g, own + ".mlp", y, mlp); },
        {.before_mix = "norm1", .before_feed = "norm2"});
    const size_t level = vectors.size() - 1;
    if (level < c.deepstack.size() && c.deepstack[level] == layer) {
      const std::string path = tower + ".deepstack_merger_list." + std::to_string(level);
      vectors.emplace_back(merged(g, path, x, c, true));
    }
  }
  const Variable last = merged(g, tower + ".merger", x, c, false);
  if (vectors.size() == 1) return last;
  vectors[0] = last;
  g.origin("model");
  return g.op("concat", {relax::make_tuple(vectors)}, {{"axis", int64_t{-1}}});
}

void read_positions(const JsonObjectReader& vision, Config& c, ConfigNotes& notes) {
  const char* key = "num_position_embeddings";
  const int64_t count = int_or_default(vision, key, kPositions, 1, kMostPositions, notes);
  c.side = std::llround(std::sqrt(static_cast<double>(count)));
  c.merge = int_or_default(vision, "spatial_merge_size", kMerge, 1, kMostPositions, notes);
  if (c.patches() == count && c.side % c.merge == 0) return;
  throw_error(vision.field_error(
      key, "is not the number of patches of a square image",
      "the square of a multiple of " + std::to_string(c.merge) + ", \"spatial_merge_size\""));
}

void read_deepstack(const JsonObjectReader& vision, Config& c) {
  const char* key = "deepstack_visual_indexes";
  c.deepstack = {8, 16, 24};
  if (vision.has(key)) c.deepstack = unwrap(vision.required_int_array(key, 0, c.layers - 1));
  const bool ascends =
      std::ranges::adjacent_find(c.deepstack, std::ranges::greater_equal()) == c.deepstack.end();
  if (ascends && (c.deepstack.empty() || c.deepstack.back() < c.layers)) return;
  throw_error(vision.field_error(key, "are not different layers in order",
                                 "ascending numbers below " + std::to_string(c.layers)));
}

Config read_config(const JsonObjectReader& vision, int64_t width, ConfigNotes& notes) {
  static constexpr std::array<std::string_view, 2> kNames = {"qwen3_vl_vision", "qwen3_vl"};
  if (vision.has("model_type")) unwrap(vision.required_choice("model_type", kNames));
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(vision, key, fallback, 1, most, notes);
  };
  Config c;
  c.width = width;
  c.layers = size("depth", kLayers, kMaxLayers);
  c.hidden = size("hidden_size", kHidden, kMaxWidth);
  c.intermediate = size("intermediate_size", kIntermediate, kMaxWidth);
  c.heads = size("num_heads", kHeads, kMaxWidth);
  if (c.hidden % (4 * c.heads) != 0) {
    throw_error(vision.field_error(
        "hidden_size", "does not divide into heads of whole quarters",
        "a multiple of " + std::to_string(4 * c.heads) + ", 4 times \"num_heads\""));
  }
  c.patch = size("patch_size", kPatch, 1024);
  c.frames = size("temporal_patch_size", kFrames, 16);
  unwrap(vision.int_or("in_channels", 3, 3, 3));
  unwrap(vision.int_or("out_hidden_size", width, width, width));
  c.activation = activation_or(vision, "hidden_act", "gelu_pytorch_tanh");
  if (const auto rope = unwrap(vision.optional_object("rope_parameters"))) {
    static constexpr std::array<std::string_view, 1> kTypes = {"axial"};
    if (rope->has("rope_type")) unwrap(rope->required_choice("rope_type", kTypes));
    c.rope.theta = unwrap(rope->float_or("rope_theta", c.rope.theta, 1, 1e12));
  }
  read_positions(vision, c, notes);
  read_deepstack(vision, c);
  return c;
}

}  // namespace

ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes) {
  const Config c =
      read_config(unwrap(json.required_object("vision_config")), text.embedding_width, notes);
  static constexpr std::array kTokenKeys = {"image_token_id"};
  ImageInput input;
  input.token = read_image_token(json, kTokenKeys, kImageToken, text.vocabulary);
  input.rows = c.grid() * c.grid();
  return {.image = {3, c.pixels(), c.pixels()},
          .input = std::move(input),
          .embeddings = [c](Graph& g) { return embeddings(g, c); },
          .grid = c.grid(),
          .levels = std::ssize(c.deepstack),
          .tower = kTower};
}

}  // namespace tapml::models::qwen3_vl
