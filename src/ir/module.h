// One Module for all levels: names to functions, graph level and loop level alike (contract 1).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "abi/attributes.h"
#include "ir/expr.h"
#include "ir/facts.h"

namespace tapml {

enum class FunctionLevel { kRelax, kTir };

// What a Module maps names to: a relax::Function or a tir::PrimFunc.
struct BaseFunction : Object {
  explicit BaseFunction(FunctionLevel level) : level(level) {}
  FunctionLevel level;
  FunctionFacts facts;
  AttrMap attrs;  // all others

  // Facts and others by name, as the text has them.
  AttrMap all_attrs() const { return with_facts(attrs, facts); }
  void set_attrs(AttrMap all) {
    facts = {};
    take_facts(all, facts);
    attrs = std::move(all);
  }
};

// Cheap to copy: functions are immutable and shared. A pass takes a Module and returns another.
struct Module {
  std::map<std::string, std::shared_ptr<const BaseFunction>> functions;
  ModuleFacts facts;
  AttrMap attrs;  // all others: what else the model interface has ("model.*")

  AttrMap all_attrs() const { return with_facts(attrs, facts); }
  void set_attrs(AttrMap all) {
    facts = {};
    take_facts(all, facts);
    attrs = std::move(all);
  }

  const BaseFunction* find(const std::string& name) const {
    auto it = functions.find(name);
    return it == functions.end() ? nullptr : it->second.get();
  }
  // The first free name among `base`, `base_1`, `base_2`, ...
  std::string unique_name(const std::string& base) const;
};

}  // namespace tapml
