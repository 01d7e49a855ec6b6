#include "passes/a_normal_form.h"

#include <set>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "relax/check_location.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Whether the expression contains no nested expression.
bool is_normal(const Expr& expr);

bool is_normal_value(const Expr& expr) {
  if (const auto* call = as<CallNode>(expr)) {
    if (!build::is_atom(call->callee) || as<TupleNode>(call->callee)) return false;
    for (const Expr& arg : call->args) {
      if (!build::is_atom(arg)) return false;
    }
    return true;
  }
  if (const auto* item = as<TupleGetItemNode>(expr)) return build::is_atom(item->tuple);
  if (const auto* branch = as<IfNode>(expr)) {
    return build::is_atom(branch->condition) && as<SeqNode>(branch->then_branch) &&
           as<SeqNode>(branch->else_branch) && is_normal(branch->then_branch) &&
           is_normal(branch->else_branch);
  }
  if (const auto* lambda = as<FunctionNode>(expr)) {
    return !lambda->function || is_normal(lambda->function->body);
  }
  return build::is_atom(expr);
}

bool is_normal(const Expr& expr) {
  const auto* seq = as<SeqNode>(expr);
  if (!seq) return !expr;
  for (const Block& block : seq->blocks) {
    for (const Binding& binding : block.bindings) {
      if (!is_normal_value(binding.value)) return false;
    }
  }
  return build::is_atom(seq->result);
}

class Normalizer {
 public:
  Normalizer(const Module& module, std::string name, NestedBindings* nested)
      : module_(module), name_(std::move(name)), nested_(nested) {}

  FunctionRef run(const Function& function) {
    deduces_ = !build::is_pattern(&function);
    for (const Variable& param : function.params) names_.insert(param->name);
    visit(function.body, [&](const Expr& e) {
      if (const auto* seq = as<SeqNode>(e)) {
        for (const Block& block : seq->blocks) {
          for (const Binding& binding : block.bindings) names_.insert(binding.var->name);
        }
      }
    });
    return with_body(function, sequence(function.body));
  }

 private:
  // The current binding.
  struct Place {
    std::string name;
    CheckNote note;
    Origin origin;
  };

  // The blocks of the current sequence.
  struct Output {
    std::vector<Block> blocks;
    bool dataflow = false;

    void open(bool is_dataflow) {
      dataflow = is_dataflow;
      blocks.push_back({is_dataflow, {}});
    }
    void add(Binding binding) {
      if (blocks.empty() || blocks.back().dataflow != dataflow) blocks.push_back({dataflow, {}});
      blocks.back().bindings.push_back(std::move(binding));
    }
  };

  // A body or branch as a sequence.
  Expr sequence(const Expr& body) {
    if (!body) return body;
    Output out;
    Expr result = body;
    if (const auto* seq = as<SeqNode>(body)) {
      add_blocks(*seq, out);
      result = seq->result;
    }
    out.dataflow = false;
    result = operand(result, out);
    std::erase_if(out.blocks, [](const Block& block) { return block.bindings.empty(); });
    return make_seq(std::move(out.blocks), result);
  }

  void add_blocks(const SeqNode& seq, Output& out) {
    const bool outer = out.dataflow;
    const Place place = place_;
    for (const Block& block : seq.blocks) {
      // A sequence inside a dataflow block becomes a part of it.
      if (!outer) out.open(block.dataflow);
      for (const Binding& binding : block.bindings) {
        place_ = {binding.var->name, written_note(binding), binding.origin};
        Binding own = binding;
        own.value = value(binding.value, out);
        out.add(std::move(own));
      }
    }
    out.dataflow = outer;
    place_ = place;
  }

  // Expressions that may be bound to a variable.
  Expr value(const Expr& expr, Output& out) {
    if (const auto* call = as<CallNode>(expr)) {
      Expr callee =
          as<TupleNode>(call->callee) ? bind(call->callee, out) : operand(call->callee, out);
      std::vector<Expr> args;
      for (const Expr& arg : call->args) args.push_back(operand(arg, out));
      return make_call(std::move(callee), std::move(args), call->attrs, call->annotations);
    }
    if (const auto* item = as<TupleGetItemNode>(expr)) {
      return make_get_item(operand(item->tuple, out), item->index);
    }
    if (as<TupleNode>(expr)) return operand(expr, out);
    if (const auto* branch = as<IfNode>(expr)) {
      auto node = std::make_shared<IfNode>();
      node->condition = operand(branch->condition, out);
      const Place place = place_;
      node->then_branch = sequence(branch->then_branch);
      node->else_branch = sequence(branch->else_branch);
      place_ = place;
      return node;
    }
    if (const auto* seq = as<SeqNode>(expr)) {
      add_blocks(*seq, out);
      return value(seq->result, out);
    }
    if (const auto* lambda = as<FunctionNode>(expr); lambda && lambda->function) {
      const Place place = place_;
      auto node = std::make_shared<FunctionNode>();
      node->function = with_body(*lambda->function, sequence(lambda->function->body));
      place_ = place;
      return node;
    }
    return expr;
  }

  // An atom, or a tuple of atoms.
  Expr operand(const Expr& expr, Output& out) {
    if (build::is_atom(expr)) return expr;
    if (const auto* tuple = as<TupleNode>(expr)) {
      std::vector<Expr> fields;
      for (const Expr& field : tuple->fields) fields.push_back(operand(field, out));
      return make_tuple(std::move(fields));
    }
    Expr made = value(expr, out);
    return build::is_atom(made) ? made : bind(made, out);
  }

  Expr bind(const Expr& made, Output& out) {
    Annotation annotation = object_annotation();
    if (deduces_) {
      // The annotation check reports what is wrong with it.
      auto deduced =
          guard([&] { return build::simplified(build::annotation_of_value(made, module_)); });
      if (deduced) annotation = *deduced;
    }
    Variable var = make_variable(new_name(), std::move(annotation), out.dataflow);
    out.add({var, made, nullptr, place_.origin, place_.note});
    return var;
  }

  std::string new_name() {
    const std::string base = place_.name.empty() ? "result" : place_.name;
    std::string name;
    for (int& number = numbers_[base];; ++number) {
      name = base + "_" + std::to_string(number);
      if (names_.insert(name).second) break;
    }
    if (nested_) (*nested_)[{name_, name}] = place_.name;
    return name;
  }

  const Module& module_;
  std::string name_;
  NestedBindings* nested_;
  std::set<std::string> names_;
  std::map<std::string, int> numbers_;
  bool deduces_ = true;  // patterns tell nothing about their contents
  Place place_;
};

}  // namespace

Module a_normal_form(const Module& module, NestedBindings* nested) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_normal(source->body)) continue;
    result.functions[name] = Normalizer(module, name, nested).run(*source);
  }
  return result;
}

Module a_normal_form(const Module& module) { return a_normal_form(module, nullptr); }

}  // namespace tapml::passes
