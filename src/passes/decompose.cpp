#include "passes/decompose.h"

#include "build/block_builder.h"
#include "op/operator.h"
#include "passes/graph_functions.h"
#include "relax/check_location.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Appends to the bindings of one block.
class BlockSink final : public op::BindingSink {
 public:
  BlockSink(const Module& module, bool dataflow, std::vector<Binding>& into)
      : module_(module), dataflow_(dataflow), into_(into) {}

  Variable emit(Expr call, const std::string& hint) override {
    Variable var = make_variable(hint, build::annotation_of_value(call, module_), dataflow_);
    add({var, std::move(call), nullptr, origin_, note_});
    return var;
  }

  Variable match_cast(Expr value, Annotation annotation, const std::string& hint) override {
    Variable var = make_variable(hint, annotation, dataflow_);
    into_.push_back({var, std::move(value), annotation, origin_, note_});
    return var;
  }

  // Adds `binding` or its decomposition.
  void add(Binding binding) {
    const op::OperatorInfo* info =
        binding.match_cast ? nullptr : op::called_operator_info(binding.value);
    if (info && info->decompose) {
      origin_ = binding.origin;
      note_ = written_note(binding);
      size_t before = into_.size();
      Expr value = info->decompose(op::view_call(*as<CallNode>(binding.value)), *this);
      if (value) {
        // The last new binding takes over the old variable where their annotations are equal.
        const auto* var = as<VarNode>(value);
        bool renames = var && into_.size() > before && into_.back().var.get() == var &&
                       !into_.back().match_cast &&
                       to_string(var->annotation) == to_string(binding.var->annotation);
        if (renames) {
          into_.back().var = binding.var;
          into_.back().check = binding.check;
          return;
        }
        binding.value = value;
      }
    }
    into_.push_back(std::move(binding));
  }

 private:
  const Module& module_;
  bool dataflow_;
  std::vector<Binding>& into_;
  Origin origin_;
  CheckNote note_;
};

Expr decompose_body(const Module& module, const Expr& body) {
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::vector<Block> blocks;
  for (const Block& block : seq->blocks) {
    Block result{.dataflow = block.dataflow, .bindings = {}};
    BlockSink sink(module, block.dataflow, result.bindings);
    for (const Binding& binding : block.bindings) {
      Binding copy = binding;
      Expr mapped = map_bodies(binding.value,
                               [&](const Expr& inner) { return decompose_body(module, inner); });
      if (mapped) copy.value = std::move(mapped);
      sink.add(std::move(copy));
    }
    blocks.push_back(std::move(result));
  }
  return make_seq(std::move(blocks), seq->result);
}

}  // namespace

Module decompose(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    result.functions[name] = with_body(*source, decompose_body(module, source->body));
  }
  return result;
}

}  // namespace tapml::passes
