// What is said of the value of a call by those whose place the call took.
#pragma once

#include <string>
#include <vector>

#include "interp/scope.h"

namespace tapml::interp {

class Promises {
 public:
  // The result will have this annotation, over the variables of `scope`. Loops make the same
  // promise in every iteration: it is kept once. UserError beyond kMaxDepth different ones.
  void add(const relax::Annotation& annotation, const std::string& place, const Scope& scope);
  void add_all(Promises&& more);
  // Checks the result that came, latest promise first. UserError at the place of the promise.
  void keep(const Item& result, const ModuleSymbols& symbols);

 private:
  struct Promise {
    relax::Annotation annotation;
    Symbols symbols;  // of its variables
    std::string place;
    const relax::Function* function = nullptr;  // whose promise it is, and its name
    std::string name;
  };
  void add(Promise promise);

  std::vector<Promise> promises_;
};

}  // namespace tapml::interp
