// Where numbers that are not finite come from: observes a run and follows them from kernel to
// kernel. Not for users of the room.
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
  // "NaN in 3 of 64 elements, +infinity in 2"; empty where there is none.
  std::string text() const;
};

// Of a tensor of any dtype; only floats have any.
NonFiniteCount count_non_finite(const HostTensor& tensor);

// A tensor that a run has from outside.
struct GivenTensor {
  runtime::Tensor tensor;
  std::string name;    // for messages
  bool state = false;  // earlier runs wrote it
};

// A kernel call with an output that is not finite.
struct NonFiniteCall {
  std::string kernel, function, output;  // the model's function, the kernel's parameter
  Origin origin;
  DType dtype = DType::kF32;  // of the output
  NonFiniteCount count;
  // What it read that no kernel of the run wrote and that is not finite.
  std::vector<std::string> inputs;
  bool from_state = false;  // a state is among these

  // "matmul_1a2b3c4d (model.layers.0.mlp.up_proj) in decode, output out: NaN in 3 of 64 elements"
  std::string text() const;
};

// Where the numbers of a tensor come from that are not finite.
struct NonFiniteOrigin {
  NonFiniteCall first;  // the first call with such an output
  // The first one with NaN, where that is a later one: infinities come before it.
  std::optional<NonFiniteCall> first_nan;
};

// It reads the outputs of every call, and inputs of those where they are not finite.
class NonFiniteTracer final : public runtime::Observer {
 public:
  explicit NonFiniteTracer(std::vector<GivenTensor> given);

  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;

  // Of a tensor that the run wrote; nothing where no call wrote what is not finite there.
  std::optional<NonFiniteOrigin> origin_of(const runtime::Tensor& tensor) const;

 private:
  // What a range of a storage holds since it was written: numbers of `calls_`, -1 where there are
  // none.
  struct Written {
    int64_t end = 0;
    int first = -1;  // the call where infinities or NaN began
    int nan = -1;    // the call where NaN began
  };
  using Ranges = std::map<int64_t, Written>;  // by the first byte

  // What an input is made of: where what is not finite in it began.
  struct Cause {
    int first = -1, nan = -1;
  };
  std::optional<Written> written(const runtime::Tensor& tensor, bool& exact) const;
  Status look_inside(const runtime::Tensor& tensor, Cause& cause) const;
  void write(const runtime::Tensor& tensor, int first, int nan);
  // Reads an input that no call wrote, and notes it where it is not finite.
  Status look_outside(const runtime::Tensor& tensor, const std::string& parameter);
  // Whether cause `a` says more than `b`: -infinity alone may be a mask.
  bool better(int a, int b) const;

  const std::vector<GivenTensor> given_;
  std::map<uint64_t, Ranges> storages_;  // by the storage's id
  std::vector<NonFiniteCall> calls_;
  // Of the call that is under way, by parameter: causes, and which inputs came from outside.
  std::vector<Cause> causes_;
  std::vector<bool> outside_;
  std::vector<std::string> not_finite_;  // names of those that are not finite
  bool from_state_ = false;
};

}  // namespace tapml::llm
