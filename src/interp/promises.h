// Annotations that the result of a tail call must satisfy for the callers that it replaced.
#pragma once

#include <string>
#include <vector>

#include "interp/scope.h"

namespace tapml::interp {

class Promises {
 public:
  // Promises that the result has this annotation, over the variables of `scope`. Loops make the
  // same promise in every iteration, so it is stored once. UserError beyond kMaxDepth different
  // promises.
  void add(const relax::Annotation& annotation, const std::string& place, const Scope& scope);
  void add_all(Promises&& more);
  // Checks the result, latest promise first. UserError at the location of the promise.
  void keep(const Item& result, const ModuleSymbols& symbols);

 private:
  struct Promise {
    relax::Annotation annotation;
    Symbols symbols;  // values of its variables
    std::string place;
    const relax::Function* function = nullptr;  // the function that made the promise, and its name
    std::string name;
  };
  void add(Promise promise);

  std::vector<Promise> promises_;
};

}  // namespace tapml::interp
