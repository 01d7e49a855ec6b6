// The peak memory of a call of a planned function.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// A moment at which a function may hold the most: during one of its calls, or at its end.
struct Moment {
  std::string callee;                 // empty: the end
  PrimExpr bytes;                     // total
  PrimExpr callee_bytes;              // held by the callee
  PrimExpr result_bytes;              // held by results of earlier calls
  std::vector<std::string> storages;  // of this function, live at this moment
};

// The memory of a call, over the callee's variables, and what its result is.
struct CallSummary {
  PrimExpr peak;                // null: unknown
  std::string why;              // why the peak is unknown
  bool exact = true;            // some run reaches the peak
  std::vector<Moment> moments;  // without those proved to hold less than another
};

// Computes peaks of planned functions: storages that are not static, excluding arguments. A
// function holds its allocations until it returns or ends in a tail call; results of calls live as
// long as the storages that contain them. Results of functions with branches count what either
// branch may return.
class PeakFinder {
 public:
  explicit PeakFinder(const Module& planned);
  ~PeakFinder();
  const CallSummary& of(const std::string& function);

 private:
  struct Summary;
  class Simulation;
  const Summary* summary(const std::string& name);

  const Module& module_;
  std::set<std::string> values_;  // functions that are used as values
  std::map<std::string, std::unique_ptr<Summary>> summaries_;
  std::set<std::string> open_;
};

}  // namespace tapml::passes
