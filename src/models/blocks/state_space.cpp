#include "models/blocks/state_space.h"

#include <algorithm>
#include <numeric>

#include "models/blocks/norm.h"
#include "models/blocks/program_text.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

// A row of the state belongs to one element of a head, and its elements to the elements of B and C.
constexpr const char* kScan = R"(
module

prim def state_space(x: Buffer((b, n, HEADS, SIZE), f32), dt: Buffer((b, n, HEADS), f32), decay: Buffer((b, n, HEADS), f32), B: Buffer((b, n, GROUPS, STATE), f32), C: Buffer((b, n, GROUPS, STATE), f32), slots: Buffer((b,), i32), inout state: Buffer((rows, HEADS, SIZE, STATE), f32), out out: Buffer((b, n, HEADS, SIZE), f32), b: i64, n: i64, rows: i64) {
  for i in parallel(b*ALL) {
    block "scan" (vi: spatial(b) = i//ALL, vh: spatial(HEADS) = i//SIZE % HEADS, vj: spatial(SIZE) = i % SIZE) {
      reads x[vi, 0 +: n, vh, vj], dt[vi, 0 +: n, vh], decay[vi, 0 +: n, vh], B[vi, 0 +: n, vh//SHARED, 0 +: STATE], C[vi, 0 +: n, vh//SHARED, 0 +: STATE], slots[vi], state[0 +: rows, vh, vj, 0 +: STATE]
      writes state[0 +: rows, vh, vj, 0 +: STATE], out[vi, 0 +: n, vh, vj]
      alloc row: Buffer((STATE,), f32, local)
      alloc sum: Buffer((LANES,), f32, local)
      alloc step: Buffer((1,), f32, local)
      alloc total: Buffer((1,), f32, local)
      if 0 < rows {
        for c in serial(STATE) {
          row[c] = state[max(0, min(cast(i64, slots[vi]), rows - 1)), vh, vj, c]
        }
        for t in serial(n) {
          step[0] = dt[vi, t, vh] * x[vi, t, vh, vj]
          for l in vectorized(LANES) {
            sum[l] = f32(0.0)
          }
          for c in serial(STATE//LANES) {
            for l in vectorized(LANES) {
              row[c*LANES + l] = decay[vi, t, vh] * row[c*LANES + l] + step[0] * B[vi, t, vh//SHARED, c*LANES + l]
              sum[l] = sum[l] + C[vi, t, vh//SHARED, c*LANES + l] * row[c*LANES + l]
            }
          }
          total[0] = f32(0.0)
          for l in serial(LANES) {
            total[0] = total[0] + sum[l]
          }
          out[vi, t, vh, vj] = total[0]
        }
        for c in serial(STATE) {
          state[max(0, min(cast(i64, slots[vi]), rows - 1)), vh, vj, c] = row[c]
        }
      }
    }
  }
}
)";

class StateSpace {
 public:
  StateSpace(Graph& g, int64_t layer, std::string path, const StateSpaceConfig& config)
      : g_(g), config_(config), path_(std::move(path)), layer_(std::to_string(layer)) {}

  Variable build(const Variable& x) {
    const int64_t inner = config_.inner(), shared = config_.groups * config_.state_size;
    const Variable projected = linear(
        g_, path_ + ".in_proj", x, 2 * (inner + shared) + config_.heads, {.bias = config_.in_bias});
    g_.origin(path_);
    const std::vector<Variable> parts =
        split(multiplied(projected), {inner, inner + 2 * shared, config_.heads});
    const Variable mixed = short_convolution(g_, "convolution." + layer_, path_ + ".conv1d",
                                             parts[1], config_.convolution);
    g_.origin(path_);
    const std::vector<Variable> inputs =
        split(activate(g_, mixed, config_.activation), {inner, shared, shared});
    const Variable out = scan(inputs[0], inputs[1], inputs[2], parts[2]);
    const Variable normed = gated(out, g_.op("silu", {g_.widened(parts[0])}));
    return linear(g_, path_ + ".out_proj", g_.narrowed(normed), Graph::width(x),
                  {.bias = config_.out_bias});
  }

 private:
  std::vector<Variable> split(const Variable& x, const std::vector<int64_t>& sizes) {
    const Variable parts = g_.op("split", {x}, {{"axis", int64_t{-1}}, {"sizes", sizes}});
    std::vector<Variable> fields;
    for (int64_t i = 0; i < std::ssize(sizes); ++i) fields.push_back(g_.field(parts, i));
    return fields;
  }

  Variable multiplied(const Variable& x) {
    const auto& factors = config_.factors;
    if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) return x;
    const int64_t inner = config_.inner(), shared = config_.groups * config_.state_size;
    std::vector<float> all;
    const int64_t sizes[] = {inner, inner, shared, shared, config_.heads};
    for (size_t part = 0; part < factors.size(); ++part) {
      all.insert(all.end(), static_cast<size_t>(sizes[part]), static_cast<float>(factors[part]));
    }
    return g_.narrowed(g_.op("multiply", {x, g_.constant(all)}));
  }

  // "<path>.<name>" [heads], in f32.
  Variable of_heads(const char* name) {
    return g_.widened(g_.stored_weight({path_ + "." + name, {config_.heads}, {}}));
  }

  Variable time_steps(const Variable& dt) {
    const Variable steps = g_.op("softplus", {g_.add(g_.widened(dt), of_heads("dt_bias"))});
    AttrMap limits;
    if (config_.least_step > 0) limits["min"] = config_.least_step;
    if (config_.largest_step < std::numeric_limits<double>::infinity()) {
      limits["max"] = config_.largest_step;
    }
    return limits.empty() ? steps : g_.op("clip", {steps}, std::move(limits));
  }

  Variable scan(const Variable& x, const Variable& b, const Variable& c, const Variable& dt) {
    const auto& n = g_.tokens();
    const auto in_groups = [&](const Variable& y) {
      return g_.op("reshape", {g_.widened(y),
                               make_shape({g_.batch(), n, config_.groups, config_.state_size})});
    };
    const Dims heads = {g_.batch(), n, config_.heads, config_.head_dim};
    const Variable steps = time_steps(dt);
    const Variable rates = g_.op("negative", {g_.op("exp", {of_heads("A_log")})});
    const Variable decay = g_.op("exp", {g_.op("multiply", {steps, rates})});
    relax::Expr& state = g_.state({.name = "state_space." + layer_,
                                   .kind = StateKind::kRecurrent,
                                   .shape = {config_.heads, config_.head_dim, config_.state_size}});
    const Variable values = g_.op("reshape", {g_.widened(x), make_shape(heads)});
    Variable out = g_.call_program("state_space",
                                   {values, steps, decay, in_groups(b), in_groups(c), g_.slots()},
                                   state, relax::tensor_annotation(heads, DType::kF32));
    // Outside of the scan, which has as many tensors as every platform can bind.
    const Variable own = g_.op("reshape", {of_heads("D"), make_shape({config_.heads, 1})});
    out = g_.add(out, g_.op("multiply", {own, values}));
    return g_.op("reshape", {out, make_shape({g_.batch(), n, config_.inner()})});
  }

  Variable gated(Variable x, const Variable& gate) {
    const std::string path = path_ + ".norm";
    if (config_.norm == GatedNorm::kGateAlone) return g_.op("multiply", {x, gate});
    g_.origin(path);
    if (config_.norm == GatedNorm::kGateFirst) x = g_.op("multiply", {x, gate});
    x = normed(path, x);
    return config_.norm == GatedNorm::kNormFirst ? g_.op("multiply", {x, gate}) : x;
  }

  Variable normed(const std::string& path, const Variable& x) {
    if (config_.groups == 1) return norm(g_, path, x, {.epsilon = config_.norm_epsilon});
    const int64_t inner = config_.inner();
    Variable y =
        g_.op("reshape",
              {x, make_shape({g_.batch(), g_.tokens(), config_.groups, inner / config_.groups})});
    y = norm(g_, path, y, {.epsilon = config_.norm_epsilon, .weightless = true});
    y = g_.op("reshape", {y, make_shape({g_.batch(), g_.tokens(), inner})});
    return g_.op("multiply", {y, g_.widened(g_.stored_weight({path + ".weight", {inner}, {}}))});
  }

  Graph& g_;
  const StateSpaceConfig& config_;
  std::string path_, layer_;
};

}  // namespace

std::string state_space_program(const StateSpaceConfig& config) {
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"HEADS", config.heads},
      {"GROUPS", config.groups},
      {"SIZE", config.head_dim},
      {"STATE", config.state_size},
      {"SHARED", config.heads / config.groups},
      {"ALL", config.inner()},
      {"LANES", std::gcd(config.state_size, int64_t{8})}};
  return with_numbers(kScan, numbers);
}

Variable state_space(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                     const StateSpaceConfig& config) {
  return StateSpace(g, layer, path, config).build(x);
}

}  // namespace tapml::models
