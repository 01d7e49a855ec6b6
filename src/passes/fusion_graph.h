// The bindings of a dataflow block as fusion sees them: who reads whom, where all readers meet
// again, and how much there is of everything.
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

// A quantity where every symbolic variable is 1, 64 and 1024: what holds at all three is taken to
// hold.
using Samples = std::array<double, 3>;

inline constexpr size_t kNoNode = std::numeric_limits<size_t>::max();

struct FusionNode {
  struct Input {
    size_t producer = kNoNode;  // the node that makes it; none: it comes from outside of the block
    const relax::VarNode* var = nullptr;  // null for a constant
    Samples bytes{};
  };

  // Null for what is no part of any group; else what its loops say.
  const analysis::FusionTraits* traits = nullptr;
  bool view = false;          // computes nothing: worth a place in a kernel only between two others
  bool expands = false;       // op::OperatorInfo::expands: computed where it is read
  bool updates = false;       // writes into memory that others read: nothing moves past it
  bool escapes = false;       // read behind the block
  std::vector<Input> inputs;  // tensors, in order
  std::vector<size_t> consumers;  // distinct, in order
  // Where every way from here leads through, first; none where a way leaves the block, or where
  // that is far away.
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
  // `traits` is filled as kernels come up; it outlives the graph.
  FusionGraph(const Module& module, const relax::Block& block, TraitsOfKernels& traits);

  size_t size() const { return nodes_.size(); }
  const FusionNode& operator[](size_t i) const { return nodes_[i]; }
  // Whether both make tensors of one shape, provably.
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
