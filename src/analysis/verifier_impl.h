// The verifier's two halves and their shared parts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verifier.h"
#include "relax/expr.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"
#include "tir/prim_func.h"

namespace tapml::analysis {

// Collects the violations of one function.
class Report {
 public:
  Report(std::string function, std::vector<Violation>& violations)
      : function_(std::move(function)), violations_(violations), before_(violations.size()) {}
  // Whether the function has no violations so far.
  bool clean() const { return violations_.size() == before_; }
  void at(std::string place) { place_ = std::move(place); }
  const std::string& place() const { return place_; }
  void add(const char* invariant, std::string message) {
    violations_.push_back({invariant, function_, place_, std::move(message), node_});
  }
  // Sets the current statement and returns the previous one.
  const void* enter(const void* node) { return std::exchange(node_, node); }

 private:
  std::string function_;
  std::string place_;
  const void* node_ = nullptr;
  std::vector<Violation>& violations_;
  size_t before_;
};

void verify_graph(const Module& module, const relax::Function& function, Report& report);
void verify_prim_func(const tir::PrimFunc& func, Report& report);
// T9 (and T2 for loads) for one expression tree; does not check variables.
void verify_expr(const PrimExpr& expr, Report& report);
// T16: operands of the matrix operations of one program. Indices and scopes are checked before.
class MatrixVerifier {
 public:
  explicit MatrixVerifier(Report& report) : report_(report) {}
  void check(const tir::MatrixNode& node);

 private:
  enum class Role : uint8_t { kLeft, kRight, kSum };
  void memory(const tir::MatrixNode& node);
  void product(const tir::MatrixNode& node);
  void role(const tir::BufferNode& fragment, Role role);
  void fail(const std::string& what);

  Report& report_;
  const char* name_ = "";  // of the operation
  int64_t width_ = 0;      // of the first operation
  std::map<const tir::BufferNode*, Role> roles_;
};
// T17 for one copy.
void verify_copy(const tir::CopyAsyncNode& node, Report& report);
// T18 for a program that has no other violations.
void verify_async(const tir::Stmt& body, Report& report);
// R6 and R7 (except later uses) for one call of the call_tir family.
void verify_kernel_call(const Module& module, const std::string& op, const relax::CallNode& call,
                        Report& report);
// R13 for one call of memory.*.
void verify_memory(const std::string& op, const relax::CallNode& call, Report& report);

// R14 for one function that has no other violations.
void verify_storages(const Module& module, const relax::Function& function, Report& report);

}  // namespace tapml::analysis
