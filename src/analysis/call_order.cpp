#include "analysis/call_order.h"

#include <algorithm>
#include <map>

#include "relax/visit.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Tarjan's strongly connected components, without recursion.
class Components {
 public:
  explicit Components(const Module& module) {
    for (const auto& [name, function] : module.functions) {
      const Function* graph = as_relax_function(function.get());
      if (!graph || graph->facts.kernel) continue;
      numbers_.emplace(name, nodes_.size());
      nodes_.push_back({.name = name, .function = graph});
    }
  }

  CallOrder run() {
    for (size_t start = 0; start < nodes_.size(); ++start) {
      if (nodes_[start].index < 0) search(start);
    }
    return std::move(order_);
  }

 private:
  struct Node {
    std::string name;
    const Function* function = nullptr;
    std::vector<size_t> callees;
    size_t next = 0;  // next callee to visit
    int64_t index = -1, low = 0;
    bool on_stack = false, calls_itself = false;
  };

  void enter(size_t at) {
    Node& node = nodes_[at];
    node.index = node.low = next_index_++;
    node.on_stack = true;
    stack_.push_back(at);
    active_.push_back(at);
    std::set<size_t> callees;
    visit(node.function->body, [&](const Expr& e) {
      const auto* global = as<GlobalVarNode>(e);
      const auto known = global ? numbers_.find(global->name) : numbers_.end();
      if (known != numbers_.end()) callees.insert(known->second);
    });
    node.calls_itself = callees.contains(at);
    node.callees.assign(callees.begin(), callees.end());
  }

  void search(size_t start) {
    enter(start);
    while (!active_.empty()) {
      const size_t at = active_.back();
      Node& node = nodes_[at];
      if (node.next < node.callees.size()) {
        const Node& callee = nodes_[node.callees[node.next++]];
        if (callee.index < 0) {
          enter(node.callees[node.next - 1]);
        } else if (callee.on_stack) {
          node.low = std::min(node.low, callee.index);
        }
        continue;
      }
      active_.pop_back();
      if (!active_.empty()) {
        Node& caller = nodes_[active_.back()];
        caller.low = std::min(caller.low, node.low);
      }
      if (node.low == node.index) take_component(at);
    }
  }

  void take_component(size_t root) {
    const bool alone = stack_.back() == root;
    for (bool last = false; !last;) {
      Node& node = nodes_[stack_.back()];
      last = stack_.back() == root;
      stack_.pop_back();
      node.on_stack = false;
      if (!alone || node.calls_itself) order_.recursive.insert(node.name);
      order_.functions.push_back(node.name);
    }
  }

  std::map<std::string, size_t> numbers_;
  std::vector<Node> nodes_;
  std::vector<size_t> stack_;   // of nodes whose component is not known yet
  std::vector<size_t> active_;  // the current path of the search
  int64_t next_index_ = 0;
  CallOrder order_;
};

}  // namespace

CallOrder call_order(const Module& module) { return Components(module).run(); }

}  // namespace tapml::analysis
