// RWKV 5, "Eagle": token shifts with fixed shares, linear attention with a fixed decay for each
// channel (Peng et al. 2024; version 5.2 of the package `rwkv`, and the names of
// RWKV/rwkv-5-world).
#include "models/architectures/architectures.h"
#include "models/architectures/rwkv.h"
#include "models/blocks/channel_mix.h"
#include "models/blocks/linear.h"
#include "models/blocks/token_shift.h"

namespace tapml::models::rwkv5 {

using relax::Variable;

namespace {

// S is a head's state and k, v, r its parts of a token, u the share of the token itself, w the
// decay:
//   out[j] = sum over c of r[c] * (u[c] * k[c] * v[j] + S[j, c])
//   S[j, c] = k[c] * v[j] + w[c] * S[j, c]
// A head's row j needs no other row, so rows are what runs in parallel; sums in lanes do not wait
// for each other. The bounds of `slots` are written at its use, so that the program does not need a
// separate process.
constexpr const char* kScan = R"(
module

prim def wkv5(r: Buffer((b, n, HEADS, SIZE), f32), k: Buffer((b, n, HEADS, SIZE), f32), v: Buffer((b, n, HEADS, SIZE), f32), decay: Buffer((HEADS, SIZE), f32), first: Buffer((HEADS, SIZE), f32), slots: Buffer((b,), i32), inout state: Buffer((rows, HEADS, SIZE, SIZE), f32), out out: Buffer((b, n, HEADS, SIZE), f32), b: i64, n: i64, rows: i64) {
  for i in parallel(b*ALL) {
    block "scan" (vi: spatial(b) = i//ALL, vh: spatial(HEADS) = i//SIZE % HEADS, vj: spatial(SIZE) = i % SIZE) {
      reads r[vi, 0 +: n, vh, 0 +: SIZE], k[vi, 0 +: n, vh, 0 +: SIZE], v[vi, 0 +: n, vh, vj], decay[vh, 0 +: SIZE], first[vh, 0 +: SIZE], slots[vi], state[0 +: rows, vh, vj, 0 +: SIZE]
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
              row[c*LANES + l] = k[vi, t, vh, c*LANES + l] * v[vi, t, vh, vj] + decay[vh, c*LANES + l] * row[c*LANES + l]
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

Variable time_mix(Graph& g, const RwkvConfig& c, int64_t layer, const std::string& path,
                  const Variable& x, const Variable& before) {
  const auto part = [&](const char* name) {
    g.origin(path);
    const Variable share = time_weight(g, path + ".time_mix_" + name, c.hidden);
    return linear(g, path + "." + name, interpolated(g, before, x, share), c.hidden);
  };
  const Variable r = part("receptance"), k = part("key"), v = part("value"), gate = part("gate");
  g.origin(path);
  // exp(-exp(w)) is between 0 and 1.
  Variable decay = g.stored_weight({path + ".time_decay", {c.wkv.heads, c.wkv.size}, {}});
  decay = g.op("exp", {g.op("negative", {g.op("exp", {g.widened(decay)})})});
  const Variable mixed = wkv(g, layer, path, r, k, v, decay, c.wkv);
  g.origin(path);
  return linear(g, path + ".output", g.narrowed(g.op("multiply", {mixed, g.op("silu", {gate})})),
                c.hidden);
}

Variable feed_forward(Graph& g, const RwkvConfig& c, int64_t /*layer*/, const std::string& path,
                      const Variable& x, const Variable& before) {
  const auto mixed = [&](const char* name) {
    const Variable share = time_weight(g, path + ".time_mix_" + name, c.hidden);
    return interpolated(g, before, x, share);
  };
  g.origin(path);
  const Variable k = mixed("key"), r = mixed("receptance");
  return channel_mix(g, path, k, r, c.intermediate);
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  RwkvConfig c = read_rwkv_config(json, notes);
  c.wkv.program = "wkv5";
  return rwkv_model("rwkv5", c, {.time_mix = time_mix, .channel_mix = feed_forward, .scan = kScan});
}

}  // namespace tapml::models::rwkv5
