// One Module for all levels: names to functions, graph level and loop level alike (contract 1).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "abi/attributes.h"
#include "ir/expr.h"

namespace tapml {

enum class FunctionLevel { kRelax, kTir };

// What a Module maps names to: a relax::Function or a tir::PrimFunc.
struct BaseFunction : Object {
  explicit BaseFunction(FunctionLevel level) : level(level) {}
  FunctionLevel level;
  AttrMap attrs;
};

// Cheap to copy: functions are immutable and shared. A pass takes a Module and returns another.
struct Module {
  std::map<std::string, std::shared_ptr<const BaseFunction>> functions;
  // "phase" (last phase done), "fusion_policy", and the model interface ("model.*").
  AttrMap attrs;

  const BaseFunction* find(const std::string& name) const {
    auto it = functions.find(name);
    return it == functions.end() ? nullptr : it->second.get();
  }
  // The first free name among `base`, `base_1`, `base_2`, ...
  std::string unique_name(const std::string& base) const;
};

}  // namespace tapml
