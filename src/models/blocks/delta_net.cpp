#include "models/blocks/delta_net.h"

#include <numeric>

#include "models/blocks/linear.h"
#include "models/blocks/norm.h"
#include "models/blocks/program_text.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

// A row of the state belongs to one element j of the values, and needs no other row. A token with
// the key k, the query q, the value v, the factor d and the rate r:
//   row = d * row
//   change = r * (v[j] - row . k)
//   row = row + change * k
//   out[j] = row . q
constexpr const char* kDeltaRule = R"(
module

prim def delta_rule(q: Buffer((b, n, KEYS, SIZE), f32), k: Buffer((b, n, KEYS, SIZE), f32), v: Buffer((b, n, HEADS, WIDTH), f32), decay: Buffer((b, n, HEADS), f32), rate: Buffer((b, n, HEADS), f32), slots: Buffer((b,), i32), inout state: Buffer((rows, HEADS, WIDTH, SIZE), f32), out out: Buffer((b, n, HEADS, WIDTH), f32), b: i64, n: i64, rows: i64) {
  for i in parallel(b*ALL) {
    block "scan" (vi: spatial(b) = i//ALL, vh: spatial(HEADS) = i//WIDTH % HEADS, vj: spatial(WIDTH) = i % WIDTH) {
      reads q[vi, 0 +: n, vh//GROUP, 0 +: SIZE], k[vi, 0 +: n, vh//GROUP, 0 +: SIZE], v[vi, 0 +: n, vh, vj], decay[vi, 0 +: n, vh], rate[vi, 0 +: n, vh], slots[vi], state[0 +: rows, vh, vj, 0 +: SIZE]
      writes state[0 +: rows, vh, vj, 0 +: SIZE], out[vi, 0 +: n, vh, vj]
      alloc row: Buffer((SIZE,), f32, local)
      alloc sum: Buffer((LANES,), f32, local)
      alloc total: Buffer((1,), f32, local)
      if 0 < rows {
        for c in serial(SIZE) {
          row[c] = state[max(0, min(cast(i64, slots[vi]), rows - 1)), vh, vj, c]
        }
        for t in serial(n) {
          for l in vectorized(LANES) {
            sum[l] = f32(0.0)
          }
          for c in serial(SIZE//LANES) {
            for l in vectorized(LANES) {
              row[c*LANES + l] = decay[vi, t, vh] * row[c*LANES + l]
              sum[l] = sum[l] + row[c*LANES + l] * k[vi, t, vh//GROUP, c*LANES + l]
            }
          }
          total[0] = f32(0.0)
          for l in serial(LANES) {
            total[0] = total[0] + sum[l]
          }
          total[0] = rate[vi, t, vh] * (v[vi, t, vh, vj] - total[0])
          for l in vectorized(LANES) {
            sum[l] = f32(0.0)
          }
          for c in serial(SIZE//LANES) {
            for l in vectorized(LANES) {
              row[c*LANES + l] = row[c*LANES + l] + total[0] * k[vi, t, vh//GROUP, c*LANES + l]
              sum[l] = sum[l] + row[c*LANES + l] * q[vi, t, vh//GROUP, c*LANES + l]
            }
          }
          total[0] = f32(0.0)
          for l in serial(LANES) {
            total[0] = total[0] + sum[l]
          }
          out[vi, t, vh, vj] = total[0]
        }
        for c in serial(SIZE) {
          state[max(0, min(cast(i64, slots[vi]), rows - 1)), vh, vj, c] = row[c]
        }
      }
    }
  }
}
)";

// Heads of f32 with the length 1, x / sqrt(x . x + 1e-6), or 1 / sqrt(size) if they are queries. No
// factor of it is a number that f32 rounds.
Variable unit_heads(Graph& g, const Variable& x, int64_t heads, int64_t size, bool queries) {
  constexpr double kEpsilon = 1e-6;  // fixed in the published code
  const auto number = [](double value) { return Graph::number(value, DType::kF32); };
  const Variable y =
      g.op("reshape", {g.widened(x), make_shape({g.batch(), g.tokens(), heads, size})});
  Variable length = g.op("sum", {g.op("multiply", {y, y})},
                         {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  length = g.add(length, number(kEpsilon));
  if (queries) length = g.op("multiply", {length, number(static_cast<double>(size))});
  return g.op("divide", {y, g.op("sqrt", {length})});
}

// What the state keeps of itself, [b, n, value_heads] between 0 and 1: exp(-exp(A) * softplus(x))
// is sigmoid(-x)^exp(A), which neither overflows nor cancels.
Variable kept(Graph& g, const std::string& path, const Variable& decay, int64_t heads) {
  const auto weight = [&](const char* name) {
    return g.widened(g.stored_weight({path + "." + name, {heads}, {}}));
  };
  const Variable x = g.add(g.widened(decay), weight("dt_bias"));
  return g.op("power", {g.op("sigmoid", {g.op("negative", {x})}), g.op("exp", {weight("A_log")})});
}

}  // namespace

std::string delta_net_program(const DeltaNetConfig& config) {
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"KEYS", config.key_heads},
      {"HEADS", config.value_heads},
      {"GROUP", config.value_heads / config.key_heads},
      {"SIZE", config.key_size},
      {"WIDTH", config.value_size},
      {"ALL", config.value_width()},
      {"LANES", std::gcd(config.key_size, int64_t{8})}};
  return with_numbers(kDeltaRule, numbers);
}

Variable delta_net(Graph& g, int64_t layer, const std::string& path, const DeltaNetInputs& inputs,
                   int64_t hidden, const DeltaNetConfig& c) {
  g.origin(path);
  const Dims values = {g.batch(), g.tokens(), c.value_heads, c.value_size};
  const Variable q = unit_heads(g, inputs.q, c.key_heads, c.key_size, true);
  const Variable k = unit_heads(g, inputs.k, c.key_heads, c.key_size, false);
  const Variable v = g.op("reshape", {g.widened(inputs.v), make_shape(values)});
  const Variable rate = g.scaled(g.op("sigmoid", {g.widened(inputs.rate)}), c.largest_rate);
  relax::Expr& state = g.state({.name = "delta." + std::to_string(layer),
                                .kind = StateKind::kRecurrent,
                                .shape = {c.value_heads, c.value_size, c.key_size}});
  Variable y = g.call_program(
      "delta_rule", {q, k, v, kept(g, path, inputs.decay, c.value_heads), rate, g.slots()}, state,
      relax::tensor_annotation(values, DType::kF32));
  const std::string norm_path = path + "." + c.norm;
  y = norm(g, norm_path, y, {.epsilon = c.norm_epsilon});
  g.origin(norm_path);
  const Variable gate = g.op("reshape", {g.widened(inputs.gate), make_shape(values)});
  y = g.narrowed(g.op("multiply", {y, g.op("silu", {gate})}));
  y = g.op("reshape", {y, make_shape({g.batch(), g.tokens(), c.value_width()})});
  return linear(g, path + "." + c.output, y, hidden);
}

}  // namespace tapml::models
