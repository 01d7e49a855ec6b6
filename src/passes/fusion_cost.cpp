#include "passes/fusion_cost.h"

#include <algorithm>

namespace tapml::passes {

namespace {

constexpr double kBytesOfOperation = 0.5;
constexpr double kBytesOfLaunch = 4096, kBytesOfCall = 1024;
constexpr int kMostNodes = 400;  // of an expression, including all that it inlines
constexpr int kFreeLoads = 2;    // a value with more loads is not computed twice
constexpr double kFewRows = 8;   // of a sum: too few to keep every core busy

// What one nest (identified by its member) reads of a member's value at each of its points.
struct Access {
  size_t nest;
  bool own;      // at the nest's index
  double other;  // number of other indices

  double count() const { return (own ? 1 : 0) + other; }
};

struct Part {
  int nodes = 0, loads = 0;
  bool costly = false;
  bool nest = false;  // remains a loop nest after inlining
  std::vector<Access> access;
};

struct Nest {
  Samples bytes{}, operations{};
  std::vector<const void*> read;
};

class Estimate {
 public:
  Estimate(const FusionGraph& graph, const std::vector<size_t>& members)
      : graph_(graph), members_(members), parts_(members.size()), nests_(members.size()) {}

  std::optional<Samples> run() {
    for (size_t k = 0; k < members_.size(); ++k) {
      if (node(k).reduces()) reduction_ = k;
    }
    if (!weigh_values() || !place_values()) return std::nullopt;
    for (size_t k = 0; k < members_.size(); ++k) add_traffic(k);
    return total();
  }

 private:
  const FusionNode& node(size_t k) const { return graph_[members_[k]]; }

  // The member that is node `i`, if any.
  size_t member(size_t i) const {
    if (i == kNoNode) return kNoNode;
    auto it = std::lower_bound(members_.begin(), members_.end(), i);
    return it == members_.end() || *it != i ? kNoNode : static_cast<size_t>(it - members_.begin());
  }

  static int count(const analysis::InputReads& reads) {
    return (reads.own ? 1 : 0) + reads.remote_target;
  }

  // Values with everything inlined. The result of a reduction is read, not inlined.
  bool weigh_values() {
    for (size_t k = 0; k < members_.size(); ++k) {
      const analysis::FusionTraits& traits = *node(k).traits;
      Part& part = parts_[k];
      part.nodes = traits.nodes;
      part.costly = traits.costly;
      for (size_t j = 0; j < node(k).inputs.size(); ++j) {
        const int reads = traits.inputs[j].loads;
        const size_t from = member(node(k).inputs[j].producer);
        if (from == kNoNode || node(from).reduces()) {
          part.loads += reads;
          continue;
        }
        part.nodes += reads * parts_[from].nodes;
        part.loads += reads * parts_[from].loads;
        part.costly |= parts_[from].costly;
      }
      if (part.nodes > kMostNodes) return false;
    }
    return true;
  }

  bool place_values() {
    for (size_t k = members_.size(); k-- > 0;) {
      Part& part = parts_[k];
      part.nest = k + 1 == members_.size() || k == reduction_;
      if (!part.nest) {
        gather_accesses(k);
        if (!may_inline(k)) {
          if (!stays_in_rows(k)) return false;
          part.nest = true;
        }
      }
      if (part.nest) part.access = {{k, true, 0}};
    }
    return true;
  }

  void gather_accesses(size_t k) {
    for (size_t reader : node(k).consumers) {
      const size_t c = member(reader);
      if (c == kNoNode) continue;
      for (size_t j = 0; j < node(c).inputs.size(); ++j) {
        if (node(c).inputs[j].producer != members_[k]) continue;
        for (const Access& a : parts_[c].access) add_access(k, a, node(c).traits->inputs[j]);
      }
    }
  }

  void add_access(size_t k, const Access& reader, const analysis::InputReads& reads) {
    const bool own = reader.own && reads.own;
    const double other = reader.count() * count(reads) - (own ? 1 : 0);
    for (Access& known : parts_[k].access) {
      if (known.nest != reader.nest) continue;
      known.own |= own;
      known.other += other;
      return;
    }
    parts_[k].access.push_back({reader.nest, own, other});
  }

  bool may_inline(size_t k) const {
    const Part& part = parts_[k];
    // What expands its operands is never better in memory, however many it has.
    if (!part.costly && (part.loads <= kFreeLoads || node(k).expands)) return true;
    if (part.access.size() != 1) return false;
    const Access& access = part.access.front();
    if (access.nest == reduction_) return false;
    if (access.other == 0) return true;
    // Another index, but each element once.
    if (access.own || access.other > 1) return false;
    for (size_t s = 0; s < Samples().size(); ++s) {
      if (node(access.nest).elements[s] > node(k).elements[s]) return false;
    }
    return true;
  }

  bool stays_in_rows(size_t k) const {
    if (reduction_ == kNoNode || node(reduction_).kind() != analysis::PatternKind::kCommReduce) {
      return false;
    }
    if (node(reduction_).elements.back() < kFewRows) return false;
    const auto& access = parts_[k].access;
    return access.size() == 1 && access.front().nest == reduction_;
  }

  void add_traffic(size_t k) {
    const FusionNode& own = node(k);
    for (const Access& access : parts_[k].access) {
      Nest& nest = nests_[access.nest];
      Samples evaluations = node(access.nest).points;
      for (double& value : evaluations) value *= access.count();
      // Schedules of products expand a piece once and use it for all rows.
      for (size_t s = 0; own.expands && s < evaluations.size(); ++s) {
        evaluations[s] = std::min(evaluations[s], own.elements[s]);
      }
      for (size_t s = 0; s < evaluations.size(); ++s) {
        nest.operations[s] += evaluations[s] * own.traits->operations;
        if (access.nest == k && !is_folded(k)) nest.bytes[s] += own.bytes[s];
      }
      for (size_t j = 0; j < own.inputs.size(); ++j) {
        const FusionNode::Input& input = own.inputs[j];
        const size_t from = member(input.producer);
        if (from != kNoNode && (!parts_[from].nest || is_folded(from))) continue;
        const void* tensor = input.var ? static_cast<const void*>(input.var) : &input;
        if (std::find(nest.read.begin(), nest.read.end(), tensor) != nest.read.end()) continue;
        nest.read.push_back(tensor);
        // A gather reads no more than it computes.
        for (size_t s = 0; s < evaluations.size(); ++s) {
          nest.bytes[s] += std::min(input.bytes[s],
                                    evaluations[s] * 8 * std::max(1, count(own.traits->inputs[j])));
        }
      }
    }
  }

  // A reduction whose result only its epilogue reads.
  bool is_folded(size_t k) const { return k == reduction_ && k + 1 != members_.size(); }

  Samples total() const {
    Samples sum = {kBytesOfCall, kBytesOfCall, kBytesOfCall};
    for (size_t s = 0; s < sum.size(); ++s) {
      double bytes = 0, operations = 0;  // a folded reduction adds its epilogue's
      for (size_t k = 0; k < members_.size(); ++k) {
        if (!parts_[k].nest) continue;
        bytes += nests_[k].bytes[s];
        operations += nests_[k].operations[s];
        if (is_folded(k)) continue;
        sum[s] += kBytesOfLaunch + std::max(bytes, operations * kBytesOfOperation);
        bytes = operations = 0;
      }
    }
    return sum;
  }

  const FusionGraph& graph_;
  const std::vector<size_t>& members_;
  std::vector<Part> parts_;
  std::vector<Nest> nests_;
  size_t reduction_ = kNoNode;
};

}  // namespace

std::optional<Samples> fused_time(const FusionGraph& graph, const std::vector<size_t>& members) {
  return Estimate(graph, members).run();
}

}  // namespace tapml::passes
