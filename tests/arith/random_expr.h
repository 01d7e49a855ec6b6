// Random integer expressions over a few bounded variables, and the grid of their values.
#pragma once

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "arith/analyzer.h"
#include "arith/evaluate.h"

namespace tapml::arith {

// The value of TAPML_SEED, or a fixed seed.
inline uint64_t test_seed() {
  const char* text = std::getenv("TAPML_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240611;
}

struct RandomVar {
  Var var;
  int64_t lo = 0;
  int64_t hi = 0;
  int extent = -1;  // if set: 0 <= var < value of that variable; lo and hi are unused
};

class RandomExpr {
 public:
  explicit RandomExpr(uint64_t seed) : rng_(seed) {}

  int64_t pick(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(rng_() % static_cast<uint64_t>(hi - lo + 1));
  }

  // Two to four variables, some with a symbolic extent, declared to `analyzer`.
  std::vector<RandomVar> variables(Analyzer& analyzer) {
    std::vector<RandomVar> vars;
    const char* names[] = {"n", "i", "m", "j"};
    auto count = pick(2, 4);
    for (int64_t v = 0; v < count; ++v) {
      RandomVar made{make_var(names[v])};
      if (v % 2 == 1 && vars[static_cast<size_t>(v - 1)].lo >= 0 && pick(0, 2) > 0) {
        made.extent = static_cast<int>(v - 1);
        analyzer.bind_range(made.var, vars[static_cast<size_t>(v - 1)].var);
      } else {
        made.lo = pick(0, 2) > 0 ? pick(0, 1) : pick(-5, 3);
        made.hi = made.lo + pick(1, 6);
        // An unknown bound: the grid still covers part of the possible values.
        bool lo = pick(0, 5) > 0, hi = pick(0, 2) > 0;
        analyzer.bind(made.var, lo ? std::optional(made.lo) : std::nullopt,
                      hi ? std::optional(made.hi) : std::nullopt);
      }
      vars.push_back(made);
    }
    return vars;
  }

  // The variables are i64; an i32 expression uses their casts.
  PrimExpr integer(const std::vector<RandomVar>& vars, int depth, DType dtype = DType::kI64) {
    auto sub = [&] { return integer(vars, depth - 1, dtype); };
    auto leaf = [&]() -> PrimExpr {
      if (pick(0, 3) == 0) return make_int(pick(-9, 9), dtype);
      return variable(vars, dtype);
    };
    if (depth <= 0) return leaf();
    switch (pick(0, 15)) {
      case 0:
        return leaf();
      case 1:
      case 2:
      case 3:
        return make_binary(ExprKind::kAdd, sub(), sub());
      case 4:
      case 5:
        return make_binary(ExprKind::kSub, sub(), sub());
      case 6:
        return make_binary(ExprKind::kMul, sub(), leaf());
      case 7:
        return make_binary(ExprKind::kMul, sub(), make_int(pick(-4, 8), dtype));
      case 8:
      case 9:
        return make_binary(ExprKind::kFloorDiv, sub(), divisor(vars, dtype));
      case 10:
      case 11:
        return make_binary(ExprKind::kFloorMod, sub(), divisor(vars, dtype));
      case 12:
        return make_binary(ExprKind::kMin, sub(), sub());
      case 13:
        return make_binary(ExprKind::kMax, sub(), sub());
      case 14:
        return select(condition(vars, depth - 1, dtype), sub(), sub());
      default: {
        DType other = dtype == DType::kI64 ? DType::kI32 : DType::kI64;
        return make_node(ExprKind::kCast, dtype, {integer(vars, depth - 1, other)});
      }
    }
  }

  PrimExpr condition(const std::vector<RandomVar>& vars, int depth, DType dtype = DType::kI64) {
    ExprKind kinds[] = {ExprKind::kEq, ExprKind::kNe, ExprKind::kLt, ExprKind::kLe};
    if (depth > 0 && pick(0, 4) == 0) {
      PrimExpr a = condition(vars, depth - 1, dtype), b = condition(vars, depth - 1, dtype);
      if (pick(0, 3) == 0) return make_node(ExprKind::kNot, DType::kBool, {a});
      return make_binary(pick(0, 1) ? ExprKind::kAnd : ExprKind::kOr, a, b);
    }
    PrimExpr left = integer(vars, depth, dtype);
    return make_binary(kinds[pick(0, 3)], left, integer(vars, depth - 1, dtype));
  }

 private:
  PrimExpr variable(const std::vector<RandomVar>& vars, DType dtype) {
    const Var& var = vars[static_cast<size_t>(pick(0, static_cast<int64_t>(vars.size()) - 1))].var;
    return cast(dtype, var);
  }

  PrimExpr divisor(const std::vector<RandomVar>& vars, DType dtype) {
    int64_t choice = pick(0, 7);
    PrimExpr var = variable(vars, dtype);
    if (choice == 0) return var;
    if (choice == 1) return make_binary(ExprKind::kMul, var, make_int(pick(1, 4), dtype));
    if (choice == 2) return make_binary(ExprKind::kAdd, var, make_int(1, dtype));
    if (choice == 3) return make_int(pick(-4, -1), dtype);
    return make_int(pick(1, 8), dtype);
  }

  std::mt19937_64 rng_;
};

// Calls f with every assignment.
inline void for_grid(const std::vector<RandomVar>& vars,
                     const std::function<void(const Values&)>& f) {
  Values values;
  std::function<void(size_t)> visit = [&](size_t v) {
    if (v == vars.size()) return f(values);
    const RandomVar& r = vars[v];
    int64_t lo = r.lo, hi = r.hi;
    if (r.extent >= 0) {
      lo = 0;
      hi = values.at(vars[static_cast<size_t>(r.extent)].var.get()) - 1;
    }
    for (int64_t x = lo; x <= hi; ++x) {
      values[r.var.get()] = x;
      visit(v + 1);
    }
  };
  visit(0);
}

inline std::string describe(const std::vector<RandomVar>& vars, const Values& values) {
  std::string text;
  for (const RandomVar& r : vars) {
    text += r.var->name + "=" + std::to_string(values.at(r.var.get())) + " ";
  }
  return text;
}

}  // namespace tapml::arith
