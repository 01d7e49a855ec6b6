// RWKV 6, "Finch": token shifts whose shares depend on the token, linear attention whose decay does
// too (Peng et al. 2024; version 6.0 of the package `rwkv`, and the names of RWKV/rwkv-6-world).
#include "models/architectures/architectures.h"
#include "models/architectures/rwkv.h"
#include "models/blocks/channel_mix.h"
#include "models/blocks/linear.h"
#include "models/blocks/token_shift.h"

namespace tapml::models::rwkv6 {

using relax::make_shape;
using relax::Variable;

namespace {

// RWKV 5's scan with a decay for each token.
constexpr const char* kScan = R"(
module

prim def wkv6(r: Buffer((b, n, HEADS, SIZE), f32), k: Buffer((b, n, HEADS, SIZE), f32), v: Buffer((b, n, HEADS, SIZE), f32), decay: Buffer((b, n, HEADS, SIZE), f32), first: Buffer((HEADS, SIZE), f32), slots: Buffer((b,), i32), inout state: Buffer((rows, HEADS, SIZE, SIZE), f32), out out: Buffer((b, n, HEADS, SIZE), f32), b: i64, n: i64, rows: i64) {
  for i in parallel(b*ALL) {
    block "scan" (vi: spatial(b) = i//ALL, vh: spatial(HEADS) = i//SIZE % HEADS, vj: spatial(SIZE) = i % SIZE) {
      reads r[vi, 0 +: n, vh, 0 +: SIZE], k[vi, 0 +: n, vh, 0 +: SIZE], v[vi, 0 +: n, vh, vj], decay[vi, 0 +: n, vh, 0 +: SIZE], first[vh, 0 +: SIZE], slots[vi], state[0 +: rows, vh, vj, 0 +: SIZE]
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
              sum[l] = sum[l] + r[vi, t, vh, c*LANES + l] * (first[vh, c*LANES + l] * (k[vi, t, vh, c*LANES + l] * v[vi, t, vh, vj]) + row[c*LANES + l])
              row[c*LANES + l] = k[vi, t, vh, c*LANES + l] * v[vi, t, vh, vj] + decay[vi, t, vh, c*LANES + l] * row[c*LANES + l]
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

constexpr int64_t kShares = 5;  // w, k, v, r, g

// The widths of the low-rank products, which no configuration has: those of the published sizes.
int64_t share_rank(const RwkvConfig& c) { return c.hidden == 4096 ? 64 : 32; }
int64_t decay_rank(const RwkvConfig& c) { return c.hidden == 4096 ? 128 : 64; }

// x times a matrix [inputs, outputs] that is never quantized.
Variable product(Graph& g, const Variable& x, const std::string& name, Shape shape) {
  AttrMap attrs;
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  return g.op("matmul", {x, g.stored_weight({name, std::move(shape), {}})}, std::move(attrs));
}

// What each of the five mixes takes of the token before, added to its own share: [b, n, hidden].
std::vector<Variable> token_shares(Graph& g, const RwkvConfig& c, const std::string& path,
                                   const Variable& x, const Variable& before) {
  const int64_t rank = share_rank(c);
  const PrimExpr count = g.batch() * g.tokens();
  const std::string prefix = path + ".time_maa_";
  Variable y = interpolated(g, x, before, time_weight(g, prefix + "x", c.hidden));
  y = g.op("tanh", {product(g, y, prefix + "w1", {c.hidden, kShares * rank})});
  y = g.op("reshape", {y, make_shape({count, kShares, rank})});
  y = g.op("permute", {y}, {{"axes", std::vector<int64_t>{1, 0, 2}}});
  y = product(g, y, prefix + "w2", {kShares, rank, c.hidden});
  const Variable parts = g.op("split", {y}, {{"axis", int64_t{0}}, {"sections", kShares}});
  std::vector<Variable> shares;
  for (const char* name : {"w", "k", "v", "r", "g"}) {
    const Variable own = g.op("reshape", {g.field(parts, std::ssize(shares)),
                                          make_shape({g.batch(), g.tokens(), c.hidden})});
    shares.push_back(g.narrowed(g.add(own, time_weight(g, prefix + name, c.hidden))));
  }
  return shares;
}

Variable time_mix(Graph& g, const RwkvConfig& c, int64_t layer, const std::string& path,
                  const Variable& x, const Variable& before) {
  g.origin(path);
  const std::vector<Variable> shares = token_shares(g, c, path, x, before);
  const auto part = [&](size_t index, const char* name) {
    g.origin(path);
    return linear(g, path + "." + name, interpolated(g, x, before, shares[index]), c.hidden);
  };
  const Variable k = part(1, "key"), v = part(2, "value"), r = part(3, "receptance"),
                 gate = part(4, "gate");
  g.origin(path);
  const std::string prefix = path + ".time_decay";
  Variable decay =
      product(g, interpolated(g, x, before, shares[0]), prefix + "_w1", {c.hidden, decay_rank(c)});
  decay = product(g, g.op("tanh", {decay}), prefix + "_w2", {decay_rank(c), c.hidden});
  decay = g.widened(g.add(g.widened(decay), time_weight(g, prefix, c.hidden)));
  // exp(-exp(w)) is between 0 and 1.
  decay = g.op("exp", {g.op("negative", {g.op("exp", {decay})})});
  const Variable mixed = wkv(g, layer, path, r, k, v, in_wkv_heads(g, decay, c.wkv), c.wkv);
  g.origin(path);
  return linear(g, path + ".output", g.narrowed(g.op("multiply", {mixed, g.op("silu", {gate})})),
                c.hidden);
}

Variable feed_forward(Graph& g, const RwkvConfig& c, int64_t /*layer*/, const std::string& path,
                      const Variable& x, const Variable& before) {
  const auto mixed = [&](const char* name) {
    return interpolated(g, x, before, time_weight(g, path + ".time_maa_" + name, c.hidden));
  };
  g.origin(path);
  const Variable k = mixed("k"), r = mixed("r");
  return channel_mix(g, path, k, r, c.intermediate);
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  RwkvConfig c = read_rwkv_config(json, notes);
  c.wkv.program = "wkv6";
  return rwkv_model("rwkv6", c, {.time_mix = time_mix, .channel_mix = feed_forward, .scan = kScan});
}

}  // namespace tapml::models::rwkv6
