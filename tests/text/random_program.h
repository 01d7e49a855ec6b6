// Random programs for round trips: every kind of node, not necessarily meaningful.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "ir/module.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::text {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed, "text.round_trip") {}

  Module module();
  std::shared_ptr<const tir::PrimFunc> prim_func();
  relax::FunctionRef function();

 private:
  uint32_t below(uint32_t bound) { return random_.below(bound); }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(static_cast<uint32_t>(items.size()))];
  }

  DType dtype();
  std::string name();
  double number();
  AttrMap attrs();
  AttrValue attr();

  PrimExpr scalar(DType dtype, int depth);
  PrimExpr leaf(DType dtype);
  std::vector<PrimExpr> indices(const tir::Buffer& buffer);
  tir::Stmt stmt(int depth);
  tir::Stmt block(int depth);
  tir::Stmt matrix();
  tir::Region region();
  tir::Buffer buffer(tir::Scope scope);

  PrimExpr dim();
  relax::Annotation annotation(int depth);
  relax::Expr atom(int depth);
  relax::Expr value(int depth);
  relax::Expr sequence(int depth);
  HostTensor constant();

  RandomStream random_;
  std::vector<Var> vars_;  // scalars in scope
  std::vector<tir::Buffer> buffers_;
  std::vector<relax::Variable> values_;
};

}  // namespace tapml::text
