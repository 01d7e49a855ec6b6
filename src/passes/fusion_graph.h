// The data-flow graph of a dataflow block for fusion: readers, post-dominators and sizes.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "analysis/fusion_traits.h"
#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// A quantity with every symbolic variable set to 1, 64 and 1024: a relation that holds at all three
// is taken to hold.
using Samples = std::array<double, 3>;

inline constexpr size_t kNoNode = std::numeric_limits<size_t>::max();

struct FusionNode {
  struct Input {
    size_t producer = kNoNode;            // kNoNode: it comes from outside the block
    const relax::VarNode* var = nullptr;  // null for a constant
    Samples bytes{};
  };

  // The pattern kind of its loops; null if it cannot be part of a group.
  const analysis::FusionTraits* traits = nullptr;
  bool view = false;              // computes nothing: joins a kernel only between two others
  bool expands = false;           // op::OperatorInfo::expands: computed where it is read
  bool updates = false;           // writes memory that others read: nothing moves past it
  bool escapes = false;           // read after the block
  std::vector<Input> inputs;      // tensors, in order
  std::vector<size_t> consumers;  // distinct, in order
  // The immediate post-dominator; kNoNode if a path leaves the block or it is too far away.
  size_t post_dominator = kNoNode;
  int depth = 0;  // of post-dominators
  Samples elements{}, bytes{}, points{};

  analysis::PatternKind kind() const {
    return traits ? traits->kind : analysis::PatternKind::kOpaque;
  }
  bool reduces() const { return kind() > analysis::PatternKind::kInjective && traits; }
};

// Node i is binding i of the block. The module's kernels have the attribute "pattern_kind".
class FusionGraph {
 public:
  using TraitsOfKernels = std::map<std::string, analysis::FusionTraits>;
  // `traits` is filled lazily, by kernel; it outlives the graph.
  FusionGraph(const Module& module, const relax::Block& block, TraitsOfKernels& traits);

  size_t size() const { return nodes_.size(); }
  const FusionNode& operator[](size_t i) const { return nodes_[i]; }
  // Whether both provably make tensors of the same shape.
  bool same_shape(size_t a, size_t b) const;

 private:
  void add_kernel_call(FusionNode& node, const relax::Binding& binding);
  void add_view(FusionNode& node, const relax::Binding& binding);
  bool add_inputs(FusionNode& node, const std::vector<relax::Expr>& tensors);
  void find_post_dominators();
  size_t common_post_dominator(size_t a, size_t b) const;

  const Module& module_;
  const relax::Block& block_;
  TraitsOfKernels& traits_;
  std::map<const relax::VarNode*, size_t> producers_;
  std::vector<FusionNode> nodes_;
};

}  // namespace tapml::passes
