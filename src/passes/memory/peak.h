// The most that a call of a planned function holds at one time.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// A moment at which a function may hold the most: one of its calls, or its end.
struct Moment {
  std::string callee;                 // empty: the end
  PrimExpr bytes;                     // all of it
  PrimExpr callee_bytes;              // what the callee holds of it
  PrimExpr result_bytes;              // what results of earlier calls hold of it
  std::vector<std::string> storages;  // of the function's own that are there
};

// Memory that a call leaves behind, over the callee's variables, and what its result is.
struct CallSummary {
  PrimExpr peak;                // null: not known
  std::string why;              // it is not known
  bool exact = true;            // some run of it holds as much
  std::vector<Moment> moments;  // without those that hold less than another, where that is proved
};

// Of planned functions: storages that are not static, apart from arguments. What a function
// allocates it holds until it returns or ends in a tail call; results of calls live on with the
// storages that they lie in. Results of functions with branches count what either side may give.
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
