// Portable math as compiled for a platform, compared with the C library in f64 over the values of
// f32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace tapml::testing {

struct Function {
  const char* name;
  double (*exact)(double);
};
// Every function of one variable with portable math.
std::span<const Function> math_functions();

struct Verdict {
  double max_ulp = 0;  // infinite if a NaN, an infinity or the sign of a zero is wrong
  float worst = 0;     // an input that reaches it
  int64_t inputs = 0;
};

// Distance of `value` from `exact` in ulp of f32 (at least the spacing of denormals); infinity
// counts as the next power of two.
double ulps(float value, double exact);

class MathKernels {
 public:
  // All functions compiled for "cpu" or "opencl"; not available() if the platform is absent.
  explicit MathKernels(const std::string& platform);
  ~MathKernels();
  bool available() const;

  // Every `stride`-th of the 2^32 bit patterns, starting at the first. With `progress`, shows a
  // line that is rewritten on a terminal.
  Verdict walk(const Function& function, uint64_t stride, bool progress);
  // All 2^16 values of "f16" or "bf16" in a separate program, in ulp of that type.
  static Verdict walk_narrow(const std::string& platform, const Function& function, DType dtype);
  // Random pairs and all pairs of special values.
  Verdict walk_pow(int64_t pairs);
  // The same pairs rounded to "f16" or "bf16", in ulp of that type.
  static Verdict walk_narrow_pow(const std::string& platform, DType dtype, int64_t pairs);
  // Seconds per value on data in the cache, on all cores.
  double seconds_per_value(const std::string& name);

 private:
  void load_native();
  Verdict walk_native(const Function& function, uint64_t stride, bool progress);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::testing
