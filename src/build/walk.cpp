#include "build/walk.h"

#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "relax/solve.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class Walk {
 public:
  Walk(const Module& module, DeductionVisitor& visitor) : module_(module), visitor_(visitor) {}

  bool function(const Function& f, const Binding* lambda) {
    Scope scope(*this);
    std::vector<Annotation> params;
    for (const Variable& param : f.params) params.push_back(param->annotation);
    bind(params);
    const auto* seq = as<SeqNode>(f.body);
    if (!seq || !blocks(*seq)) return false;
    visitor_.result(f, lambda, annotation_of_operand(seq->result, module_));
    return true;
  }

 private:
  // Removes at its end the symbolic variables that are bound inside.
  struct Scope {
    explicit Scope(Walk& walk) : walk(walk), size(walk.log_.size()) {}
    ~Scope() {
      for (; walk.log_.size() > size; walk.log_.pop_back()) walk.visible_.erase(walk.log_.back());
    }
    Walk& walk;
    size_t size;
  };

  void bind(const std::vector<Annotation>& annotations) {
    SymbolIds bound;
    bind_symbols(annotations, bound);
    // A dimension such as m - 1 may have variables that the annotations do not determine.
    for (const Annotation& annotation : annotations) {
      std::vector<Var> vars;
      collect_vars(annotation, vars);
      for (const Var& var : vars) bound.insert(var.get());
    }
    for (const tapml::ExprNode* var : bound) {
      if (visible_.insert(var).second) log_.push_back(var);
    }
  }

  bool blocks(const SeqNode& seq) {
    for (const Block& block : seq.blocks) {
      for (const Binding& b : block.bindings) {
        if (!binding(b, block.dataflow)) return false;
      }
    }
    return true;
  }

  bool binding(const Binding& b, bool dataflow) {
    Annotation deduced;
    try {
      if (!value(b, deduced)) return false;
    } catch (const CompilerException& e) {
      return visitor_.refused(b, e.error());
    }
    visitor_.binding(b, dataflow, deduced);
    if (b.match_cast) bind({b.match_cast});
    return true;
  }

  bool value(const Binding& b, Annotation& deduced) {
    if (const auto* branch = as<IfNode>(b.value)) {
      Annotation sides[2];
      if (!side(branch->then_branch, sides[0]) || !side(branch->else_branch, sides[1])) {
        return false;
      }
      deduced = join(sides[0], sides[1]);
      return true;
    }
    if (const auto* lambda = as<FunctionNode>(b.value)) {
      deduced = annotation_of_function(*lambda->function);
      return function(*lambda->function, &b);
    }
    deduced = annotation_of_value(b.value, module_);
    return true;
  }

  // Deduces the annotation of a branch, restricted to variables visible outside of it.
  bool side(const Expr& expr, Annotation& deduced) {
    const auto* seq = as<SeqNode>(expr);
    if (!seq) {
      deduced = annotation_of_operand(expr, module_);
      return true;
    }
    {
      Scope scope(*this);
      if (!blocks(*seq)) return false;
      deduced = annotation_of_operand(seq->result, module_);
    }
    deduced = restrict_vars(deduced, visible_);
    return true;
  }

  const Module& module_;
  DeductionVisitor& visitor_;
  SymbolSet visible_;
  std::vector<const tapml::ExprNode*> log_;
};

}  // namespace

void walk_deduction(const Function& function, const Module& module, DeductionVisitor& visitor) {
  Walk(module, visitor).function(function, nullptr);
}

}  // namespace tapml::build
