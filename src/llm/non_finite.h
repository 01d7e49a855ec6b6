// Finds where non-finite numbers come from: observes a run and follows them from kernel to kernel.
// Internal to the component.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::llm {

struct NonFiniteCount {
  int64_t nan = 0, above = 0, below = 0;  // NaN, +infinity, -infinity
  int64_t elements = 0;

  bool any() const { return nan + above + below > 0; }
  // "NaN in 3 of 64 elements, +infinity in 2"; empty if all are finite.
  std::string text() const;
};

// Counts in a tensor of any dtype; only floats have any.
NonFiniteCount count_non_finite(const HostTensor& tensor);

// A tensor that exists before the run.
struct GivenTensor {
  runtime::Tensor tensor;
  std::string name;    // for messages
  bool state = false;  // written by earlier runs
};

// A kernel call with a non-finite output.
struct NonFiniteCall {
  std::string kernel, function, output;  // the model's function, the kernel's parameter
  Origin origin;
  DType dtype = DType::kF32;  // of the output
  NonFiniteCount count;
  // Its non-finite inputs that no kernel of the run wrote.
  std::vector<std::string> inputs;
  bool from_state = false;  // one of these is a state

  // "matmul_1a2b3c4d (model.layers.0.mlp.up_proj) in decode, output out: NaN in 3 of 64 elements"
  std::string text() const;
};

// Where the non-finite numbers of a tensor come from.
struct NonFiniteOrigin {
  NonFiniteCall first;  // the first call with such an output
  // The first one with NaN, if that is a later one: infinities precede it.
  std::optional<NonFiniteCall> first_nan;
};

// Reads the outputs of every call, and the inputs of calls with non-finite outputs.
class NonFiniteTracer final : public runtime::Observer {
 public:
  explicit NonFiniteTracer(std::vector<GivenTensor> given);

  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;

  // The origin for a tensor that the run wrote; nothing if no call wrote non-finite numbers to it.
  std::optional<NonFiniteOrigin> origin_of(const runtime::Tensor& tensor) const;

 private:
  // What a range of a storage holds since it was last written: indices into `calls_`, or -1.
  struct Written {
    int64_t end = 0;
    int first = -1;  // call where infinities or NaN began
    int nan = -1;    // call where NaN began
  };
  using Ranges = std::map<int64_t, Written>;  // by the first byte

  // Where the non-finite numbers of an input began.
  struct Cause {
    int first = -1, nan = -1;
  };
  std::optional<Written> written(const runtime::Tensor& tensor, bool& exact) const;
  Status look_inside(const runtime::Tensor& tensor, Cause& cause) const;
  void write(const runtime::Tensor& tensor, int first, int nan);
  // Reads an input that no call wrote, and records it if it is not finite.
  Status look_outside(const runtime::Tensor& tensor, const std::string& parameter);
  // Whether cause `a` is more significant than `b`: only -infinity may be a mask.
  bool better(int a, int b) const;

  const std::vector<GivenTensor> given_;
  std::map<uint64_t, Ranges> storages_;  // by storage id
  std::vector<NonFiniteCall> calls_;
  // For the current call, by parameter: causes, and which inputs no call of the run wrote.
  std::vector<Cause> causes_;
  std::vector<bool> outside_;
  std::vector<std::string> not_finite_;  // names of non-finite inputs
  bool from_state_ = false;
};

}  // namespace tapml::llm
