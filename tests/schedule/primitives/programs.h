// Programs that tests of schedule primitives transform, and helpers to run them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/verifier.h"
#include "arith/evaluate.h"
#include "base/rng.h"
#include "interp/interpreter.h"
#include "schedule/primitives/site.h"
#include "schedule/schedule.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {

using Sizes = std::map<std::string, int64_t>;

// Rows, also with columns: none, one, and around factors of 4 and 8.
inline const std::vector<Sizes> kRows = {
    {{"n", 0}}, {{"n", 1}}, {{"n", 3}}, {{"n", 4}}, {{"n", 9}}};
inline const std::vector<Sizes> kBoth = {{{"n", 0}, {"m", 3}}, {{"n", 3}, {"m", 0}},
                                         {{"n", 1}, {"m", 1}}, {{"n", 4}, {"m", 7}},
                                         {{"n", 5}, {"m", 8}}, {{"n", 2}, {"m", 9}}};

inline tir::PrimFuncRef parse_program(const std::string& source) {
  Module module = text::parse(source, "test");
  analysis::verify_input(module, "test");
  return std::static_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

inline void expect_program(const tir::PrimFuncRef& func, const std::string& expected) {
  std::string difference;
  EXPECT_TRUE(text::structural_equal(*func, *parse_program(expected), {.difference = &difference}))
      << difference << "\n"
      << text::print(*func, "k");
}

inline void expect_round_trip(const tir::PrimFuncRef& func) {
  std::string printed = text::print(*func, "k");
  std::string difference;
  EXPECT_TRUE(text::structural_equal(*func, *parse_program(printed), {.difference = &difference}))
      << difference << "\n"
      << printed;
}

// Tensors for all parameters at the given sizes; small integers if `integral`, so that sums of
// floats are exact in any order.
inline std::vector<HostTensor> make_arguments(const tir::PrimFunc& func, const Sizes& sizes,
                                              bool integral) {
  arith::Values values;
  for (const Var& var : func.scalars) values[var.get()] = sizes.at(var->name);
  std::vector<HostTensor> result;
  uint64_t seed = 1;
  for (const tir::Param& param : func.params) {
    Shape shape;
    for (const PrimExpr& dim : param.buffer->shape) {
      shape.push_back(*arith::evaluate(dim, values));
    }
    HostTensor tensor = HostTensor::zeros(param.buffer->dtype, shape);
    RandomStream stream(seed++, "arguments");
    for (int64_t i = 0; i < tensor.size(); ++i) {
      double value = integral || !is_float(tensor.dtype())
                         ? static_cast<double>(stream.between(-4, 4))
                         : stream.unit() * 4 - 2;
      tensor.set_f64(i, value);
    }
    if (param.mode == AccessMode::kOut) {
      for (std::byte& byte : tensor.mutable_bytes()) byte = std::byte{0x7f};
    }
    result.push_back(tensor);
  }
  return result;
}

inline std::vector<int64_t> scalars_of(const tir::PrimFunc& func, const Sizes& sizes) {
  std::vector<int64_t> result;
  for (const Var& var : func.scalars) result.push_back(sizes.at(var->name));
  return result;
}

// Bit for bit, or within `tolerance` of the larger of 1 and the value.
inline bool same_tensors(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b,
                         double tolerance, std::string& difference) {
  for (size_t t = 0; t < a.size(); ++t) {
    auto x = a[t].bytes(), y = b[t].bytes();
    if (std::equal(x.begin(), x.end(), y.begin(), y.end())) continue;
    for (int64_t i = 0; i < a[t].size(); ++i) {
      double p = a[t].at_f64(i), q = b[t].at_f64(i);
      bool close = p == q || (std::isnan(p) && std::isnan(q)) ||
                   std::abs(p - q) <= tolerance * std::max(1.0, std::abs(p));
      if (close) continue;
      difference = "tensor " + std::to_string(t) + " element " + std::to_string(i) + ": " +
                   std::to_string(p) + " and " + std::to_string(q);
      return false;
    }
  }
  return true;
}

// The interpreter gives the same results before and after, at all sizes.
inline void expect_same_results(const tir::PrimFuncRef& before, const tir::PrimFuncRef& after,
                                const std::vector<Sizes>& sizes, double tolerance = 0,
                                bool integral = true) {
  for (const Sizes& at : sizes) {
    std::string label;
    for (const auto& [name, value] : at) label += name + "=" + std::to_string(value) + " ";
    std::vector<HostTensor> expected = make_arguments(*before, at, integral);
    std::vector<HostTensor> found = make_arguments(*after, at, integral);
    interp::run_prim_func(*before, expected, scalars_of(*before, at));
    try {
      interp::run_prim_func(*after, found, scalars_of(*after, at));
    } catch (const CompilerException& exception) {
      ADD_FAILURE() << label << exception.what() << "\n" << text::print(*after, "k");
      return;
    }
    std::string difference;
    EXPECT_TRUE(same_tensors(expected, found, tolerance, difference)) << label << difference << "\n"
                                                                      << text::print(*after, "k");
  }
}

// The trace, printed, parsed and replayed, gives the same program.
inline void expect_replays(const schedule::Schedule& schedule, const tir::PrimFuncRef& original) {
  std::string printed = schedule.trace().print();
  schedule::Trace parsed = schedule::Trace::parse(printed);
  EXPECT_EQ(parsed, schedule.trace()) << printed;
  schedule::Schedule again = schedule::replay(parsed, original);
  EXPECT_EQ(again.trace().print(), printed);
  std::string difference;
  EXPECT_TRUE(text::structural_equal(*again.func(), *schedule.func(), {.difference = &difference}))
      << difference << "\n"
      << printed;
}

// Everything that must hold after a legal sequence of primitives.
inline void expect_good(const schedule::Schedule& schedule, const tir::PrimFuncRef& original,
                        const std::vector<Sizes>& sizes, double tolerance = 0,
                        bool integral = true) {
  expect_round_trip(schedule.func());
  expect_replays(schedule, original);
  expect_same_results(original, schedule.func(), sizes, tolerance, integral);
}

// ---- programs

inline const char* const kElementwise = R"(
prim def k(x: Buffer((n, 12), f32), y: Buffer((n, 12), f32), out z: Buffer((n, 12), f32), n: i64) {
  alloc t: Buffer((n, 12), f32)
  for i in serial(n) {
    for j in serial(12) {
      block "add" (vi: spatial(n) = i, vj: spatial(12) = j) {
        reads x[vi, vj], y[vi, vj]
        writes t[vi, vj]
        t[vi, vj] = x[vi, vj] + y[vi, vj]
      }
    }
  }
  for i in serial(n) {
    for j in serial(12) {
      block "twice" (vi: spatial(n) = i, vj: spatial(12) = j) {
        reads t[vi, vj]
        writes z[vi, vj]
        z[vi, vj] = t[vi, vj] * f32(2.0)
      }
    }
  }
}
)";

inline const char* const kSum = R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for i in serial(n) {
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads y[vi], x[vi, vr]
        writes y[vi]
        init {
          y[vi] = f32(0.5)
        }
        y[vi] = y[vi] + x[vi, vr]
      }
    }
  }
}
)";

inline const char* const kMatmul = R"(
prim def k(a: Buffer((n, 16), f32), b: Buffer((16, 32), f32), bias: Buffer((32,), f32), out d: Buffer((n, 32), f32), n: i64) {
  alloc c: Buffer((n, 32), f32)
  for i in serial(n) {
    for j in serial(32) {
      for k in serial(16) {
        block "matmul" (vi: spatial(n) = i, vj: spatial(32) = j, vk: reduce(16) = k) {
          reads c[vi, vj], a[vi, vk], b[vk, vj]
          writes c[vi, vj]
          init {
            c[vi, vj] = f32(0.0)
          }
          c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]
        }
      }
    }
  }
  for i in serial(n) {
    for j in serial(32) {
      block "bias" (vi: spatial(n) = i, vj: spatial(32) = j) {
        reads c[vi, vj], bias[vj]
        writes d[vi, vj]
        d[vi, vj] = max(c[vi, vj] + bias[vj], f32(0.0))
      }
    }
  }
}
)";

inline const char* const kSoftmax = R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n, m), f32), n: i64, m: i64) {
  alloc top: Buffer((n,), f32)
  alloc e: Buffer((n, m), f32)
  alloc total: Buffer((n,), f32)
  for i in serial(n) {
    for r in serial(m) {
      block "top" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads top[vi], x[vi, vr]
        writes top[vi]
        init {
          top[vi] = f32(-inf)
        }
        top[vi] = max(top[vi], x[vi, vr])
      }
    }
  }
  for i in serial(n) {
    for j in serial(m) {
      block "exp" (vi: spatial(n) = i, vj: spatial(m) = j) {
        reads x[vi, vj], top[vi]
        writes e[vi, vj]
        e[vi, vj] = exp(x[vi, vj] - top[vi])
      }
    }
  }
  for i in serial(n) {
    for r in serial(m) {
      block "total" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads total[vi], e[vi, vr]
        writes total[vi]
        init {
          total[vi] = f32(0.0)
        }
        total[vi] = total[vi] + e[vi, vr]
      }
    }
  }
  for i in serial(n) {
    for j in serial(m) {
      block "divide" (vi: spatial(n) = i, vj: spatial(m) = j) {
        reads e[vi, vj], total[vi]
        writes y[vi, vj]
        y[vi, vj] = e[vi, vj] / total[vi]
      }
    }
  }
}
)";

// A window of 3 over rows padded by one zero on each side, then a ReLU.
inline const char* const kConv = R"(
prim def k(x: Buffer((2, h), f32), w: Buffer((3, 2, 3), f32), out y: Buffer((3, h), f32), h: i64) {
  alloc p: Buffer((2, h + 2), f32)
  alloc c: Buffer((3, h), f32)
  for i in serial(2) {
    for j in serial(h + 2) {
      block "pad" (vi: spatial(2) = i, vj: spatial(h + 2) = j) {
        reads x[vi, vj - 1]
        writes p[vi, vj]
        p[vi, vj] = select(1 <= vj and vj < h + 1, x[vi, vj - 1], f32(0.0))
      }
    }
  }
  for o in serial(3) {
    for j in serial(h) {
      for s in serial(2) {
        for r in serial(3) {
          block "conv" (vo: spatial(3) = o, vj: spatial(h) = j, vs: reduce(2) = s, vr: reduce(3) = r) {
            reads c[vo, vj], p[vs, vj + vr], w[vo, vs, vr]
            writes c[vo, vj]
            init {
              c[vo, vj] = f32(0.0)
            }
            c[vo, vj] = c[vo, vj] + p[vs, vj + vr] * w[vo, vs, vr]
          }
        }
      }
    }
  }
  for o in serial(3) {
    for j in serial(h) {
      block "relu" (vo: spatial(3) = o, vj: spatial(h) = j) {
        reads c[vo, vj]
        writes y[vo, vj]
        y[vo, vj] = max(c[vo, vj], f32(0.0))
      }
    }
  }
}
)";

// scores = q k^T / 2, weights = scores * scores in place of softmax (exact on small integers), then
// rows normalized by their largest and mixed with v.
inline const char* const kAttention = R"(
prim def k(q: Buffer((n, 8), f32), key: Buffer((m, 8), f32), v: Buffer((m, 8), f32), out o: Buffer((n, 8), f32), n: i64, m: i64) {
  alloc s: Buffer((n, m), f32)
  alloc w: Buffer((n, m), f32)
  alloc top: Buffer((n,), f32)
  alloc mix: Buffer((n, 8), f32)
  for i in serial(n) {
    for j in serial(m) {
      for d in serial(8) {
        block "score" (vi: spatial(n) = i, vj: spatial(m) = j, vd: reduce(8) = d) {
          reads s[vi, vj], q[vi, vd], key[vj, vd]
          writes s[vi, vj]
          init {
            s[vi, vj] = f32(0.0)
          }
          s[vi, vj] = s[vi, vj] + q[vi, vd] * key[vj, vd]
        }
      }
    }
  }
  for i in serial(n) {
    for j in serial(m) {
      block "weight" (vi: spatial(n) = i, vj: spatial(m) = j) {
        reads s[vi, vj]
        writes w[vi, vj]
        w[vi, vj] = s[vi, vj] * f32(0.5)
      }
    }
  }
  for i in serial(n) {
    for r in serial(m) {
      block "top" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads top[vi], w[vi, vr]
        writes top[vi]
        init {
          top[vi] = f32(0.0)
        }
        top[vi] = max(top[vi], w[vi, vr])
      }
    }
  }
  for i in serial(n) {
    for d in serial(8) {
      for r in serial(m) {
        block "mix" (vi: spatial(n) = i, vd: spatial(8) = d, vr: reduce(m) = r) {
          reads mix[vi, vd], w[vi, vr], v[vr, vd]
          writes mix[vi, vd]
          init {
            mix[vi, vd] = f32(0.0)
          }
          mix[vi, vd] = mix[vi, vd] + w[vi, vr] * v[vr, vd]
        }
      }
    }
  }
  for i in serial(n) {
    for d in serial(8) {
      block "scale" (vi: spatial(n) = i, vd: spatial(8) = d) {
        reads mix[vi, vd], top[vi]
        writes o[vi, vd]
        o[vi, vd] = mix[vi, vd] / (top[vi] + f32(1.0))
      }
    }
  }
}
)";

}  // namespace tapml::testing
