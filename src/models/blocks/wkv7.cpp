#include "models/blocks/wkv7.h"

#include "models/blocks/linear.h"
#include "models/blocks/token_shift.h"

namespace tapml::models {

using relax::Variable;

namespace {

// S is a head's state and r, k, v, w its parts of a token, `key` the unit vector whose value is
// replaced, `rate` that vector times how much of it is:
//   S[j, c] = w[c] * S[j, c] - (sum over d of S[j, d] * key[d]) * rate[c] + v[j] * k[c]
//   out[j] = sum over c of S[j, c] * r[c]
// `keys` has `key` and then `rate`, since a kernel takes 8 tensors. Rows run in parallel and sums
// in lanes, as in RWKV 5's scan.
constexpr const char* kWkv7Scan = R"(
module

prim def wkv7(r: Buffer((b, n, HEADS, SIZE), f32), k: Buffer((b, n, HEADS, SIZE), f32), v: Buffer((b, n, HEADS, SIZE), f32), decay: Buffer((b, n, HEADS, SIZE), f32), keys: Buffer((b, n, HEADS, PAIR), f32), slots: Buffer((b,), i32), inout state: Buffer((rows, HEADS, SIZE, SIZE), f32), out out: Buffer((b, n, HEADS, SIZE), f32), b: i64, n: i64, rows: i64) {
  for i in parallel(b*ALL) {
    block "scan" (vi: spatial(b) = i//ALL, vh: spatial(HEADS) = i//SIZE % HEADS, vj: spatial(SIZE) = i % SIZE) {
      reads r[vi, 0 +: n, vh, 0 +: SIZE], k[vi, 0 +: n, vh, 0 +: SIZE], v[vi, 0 +: n, vh, vj], decay[vi, 0 +: n, vh, 0 +: SIZE], keys[vi, 0 +: n, vh, 0 +: PAIR], slots[vi], state[0 +: rows, vh, vj, 0 +: SIZE]
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
              sum[l] = sum[l] + row[c*LANES + l] * keys[vi, t, vh, c*LANES + l]
            }
          }
          total[0] = f32(0.0)
          for l in serial(LANES) {
            total[0] = total[0] + sum[l]
          }
          for l in vectorized(LANES) {
            sum[l] = f32(0.0)
          }
          for c in serial(SIZE//LANES) {
            for l in vectorized(LANES) {
              row[c*LANES + l] = decay[vi, t, vh, c*LANES + l] * row[c*LANES + l] - total[0] * keys[vi, t, vh, SIZE + c*LANES + l] + v[vi, t, vh, vj] * k[vi, t, vh, c*LANES + l]
              sum[l] = sum[l] + row[c*LANES + l] * r[vi, t, vh, c*LANES + l]
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

constexpr double kLargestDecay = 0.60653065971263342;  // exp(-1/2), in the exponent

// x times two matrices, with an operator between them: "<path>.lora.0" and ".2".
Variable low_rank(Graph& g, const std::string& path, const Variable& x, int64_t rank,
                  const char* between, bool bias) {
  Variable y = linear(g, path + ".lora.0", x, rank, {.narrow = true});
  if (between) {
    g.origin(path + ".lora.1");
    y = g.op(between, {y});
  }
  return linear(g, path + ".lora.2", y, Graph::width(x), {.bias = bias, .narrow = true});
}

// A weight with a number for each channel, [heads, size] in f32.
Variable by_head(Graph& g, const std::string& name, Shape shape, const WkvConfig& c) {
  const Variable weight = g.stored_weight({name, std::move(shape), {}});
  return g.op("reshape", {g.widened(weight), relax::make_shape({c.heads, c.size})});
}

// Each head of x with length 1.
Variable unit_heads(Graph& g, const Variable& x) {
  const Variable squares = g.op("sum", {g.op("multiply", {x, x})},
                                {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  const Variable length =
      g.op("maximum", {g.op("sqrt", {squares}), Graph::number(1e-12, DType::kF32)});
  return g.op("divide", {x, length});
}

}  // namespace

std::string wkv7_program(const Wkv7Config& config) { return wkv_program(kWkv7Scan, config.heads); }

Variable wkv7(Graph& g, int64_t layer, const std::string& path, const Variable& x,
              const Variable& before, Variable& first_v, const Wkv7Config& c) {
  const int64_t hidden = c.heads.heads * c.heads.size;
  const auto mixed = [&](const char* name) {
    g.origin(path);
    return interpolated(g, x, before, g.stored_weight({path + "." + name, {1, 1, hidden}, {}}));
  };
  const auto heads = [&](const Variable& y) { return in_wkv_heads(g, y, c.heads); };
  const auto sigmoid = [&](const Variable& y) {
    g.origin(path);
    return g.op("sigmoid", {g.widened(y)});
  };
  const Variable r = heads(linear(g, path + ".r_proj", mixed("x_r"), hidden));
  Variable k = heads(linear(g, path + ".k_proj", mixed("x_k"), hidden));
  const Variable of_v = mixed("x_v");
  Variable v = linear(g, path + ".v_proj", of_v, hidden);
  if (layer == 0) {
    first_v = v;
  } else {
    const Variable share =
        sigmoid(low_rank(g, path + ".v_lora", of_v, c.value_rank, nullptr, true));
    v = interpolated(g, v, first_v, share);
  }
  const Variable rate =
      heads(sigmoid(low_rank(g, path + ".a_lora", mixed("x_a"), c.rate_rank, nullptr, true)));
  const Variable gate = low_rank(g, path + ".g_lora", mixed("x_g"), c.gate_rank, "sigmoid", false);
  Variable decay = sigmoid(low_rank(g, path + ".w_lora", mixed("x_w"), c.decay_rank, "tanh", true));
  decay = heads(g.op("exp", {g.scaled(decay, -kLargestDecay)}));
  const Variable key =
      unit_heads(g, g.op("multiply", {k, by_head(g, path + ".k_k", {hidden}, c.heads)}));
  // k * (1 + (rate - 1) * k_a)
  k = g.add(k, g.op("multiply", {g.op("subtract", {g.op("multiply", {k, rate}), k}),
                                 by_head(g, path + ".k_a", {hidden}, c.heads)}));
  const Variable values = heads(v);
  const Variable keys = g.op("concat", {relax::make_tuple({key, g.op("multiply", {key, rate})})},
                             {{"axis", int64_t{3}}});
  Variable out = wkv_scan(g, layer, path, {r, k, values, decay, keys}, c.heads);
  g.origin(path);
  // What a token gives to itself.
  const Variable own =
      g.op("multiply", {g.op("multiply", {r, k}),
                        by_head(g, path + ".r_k", {c.heads.heads, c.heads.size}, c.heads)});
  const Variable factor =
      g.op("sum", {own}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  out = heads(out);
  out = g.add(out, g.op("multiply", {factor, values}));
  out = g.op("reshape", {g.op("multiply", {out, heads(gate)}),
                         relax::make_shape({g.batch(), g.tokens(), hidden})});
  return linear(g, path + ".o_proj", g.narrowed(out), hidden);
}

}  // namespace tapml::models
