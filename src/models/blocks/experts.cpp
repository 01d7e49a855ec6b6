#include "models/blocks/experts.h"

#include <limits>

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

class Experts {
 public:
  Experts(Graph& g, std::string path, const Variable& x, const ExpertConfig& config)
      : g_(g),
        config_(config),
        router_(config.router),
        path_(std::move(path)),
        hidden_(Graph::width(x)) {}

  Variable build(const Variable& x, const Variable& routed) {
    route(routed ? routed : x);
    return mix(x);
  }

 private:
  using Scores = RouterConfig::Scores;

  Variable best(const Variable& scores, int64_t count) {
    return g_.op("topk", {scores}, {{"k", count}, {"axis", int64_t{-1}}});
  }
  Variable total(const Variable& x) {
    return g_.op("sum", {x}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  }
  Variable softmax(const Variable& x) { return g_.op("softmax", {x}, {{"axis", int64_t{-1}}}); }
  relax::Expr number_like(double value, const Variable& x) {
    return Graph::number(value, relax::as_tensor(x->annotation)->dtype.value_or(DType::kF32));
  }

  // chosen_ i32[b, n, k] and shares_ f32[b, n, k]
  void route(const Variable& x) {
    Variable scores = linear(g_, path_ + "." + router_.path, x, config_.experts,
                             {.bias = router_.bias, .narrow = true});
    if (router_.scores == Scores::kSoftmax) scores = softmax(scores);
    if (router_.scores == Scores::kSigmoid) scores = g_.op("sigmoid", {scores});
    Variable choice = scores;
    if (router_.correction) {
      const Shape shape =
          router_.correction_is_row ? Shape{1, config_.experts} : Shape{config_.experts};
      const Variable correction = g_.stored_weight({path_ + "." + router_.correction, shape, {}});
      choice = g_.add(g_.widened(scores), g_.widened(correction));
    }
    if (router_.groups > 1) choice = in_best_groups(choice);
    const Variable chosen = best(choice, config_.per_token);
    chosen_ = g_.field(chosen, 1);
    shares_ = choice == scores ? g_.field(chosen, 0)
                               : g_.op("gather", {scores, chosen_}, {{"axis", int64_t{-1}}});
    if (router_.scores == Scores::kSoftmaxOfChosen) shares_ = softmax(shares_);
    if (router_.renormalize) {
      Variable sum = total(shares_);
      if (router_.total_epsilon > 0) sum = g_.add(sum, number_like(router_.total_epsilon, sum));
      shares_ = g_.op("divide", {shares_, sum});
    }
    shares_ = g_.scaled(shares_, router_.scale);
    if (!router_.expert_scale) return;
    const Variable scales =
        g_.stored_weight({path_ + "." + router_.expert_scale, {config_.experts}, {}});
    const Variable own = g_.op("take", {scales, chosen_}, {{"axis", int64_t{0}}});
    shares_ = g_.op("multiply", {shares_, own});
  }

  // The scores, with negative infinity in the place of those outside the best groups.
  Variable in_best_groups(const Variable& scores) {
    const PrimExpr b = g_.batch(), &n = g_.tokens();
    const int64_t groups = router_.groups, size = config_.experts / groups;
    const Variable grouped = g_.op("reshape", {scores, make_shape({b, n, groups, size})});
    Variable of_group = g_.field(best(grouped, router_.groups_by_pairs ? 2 : 1), 0);
    of_group = g_.op("sum", {of_group}, {{"axes", std::vector<int64_t>{-1}}});
    const Variable chosen = g_.field(best(of_group, router_.chosen_groups), 1);
    Variable is_chosen = g_.op("one_hot", {chosen}, {{"depth", groups}});
    is_chosen = g_.op("sum", {is_chosen}, {{"axes", std::vector<int64_t>{2}}});
    is_chosen = g_.op("reshape", {is_chosen, make_shape({b, n, groups, 1})});
    is_chosen = g_.op("greater", {is_chosen, number_like(0, is_chosen)});
    const Variable kept =
        g_.op("where",
              {is_chosen, grouped, number_like(-std::numeric_limits<double>::infinity(), grouped)});
    return g_.op("reshape", {kept, make_shape({b, n, config_.experts})});
  }

  // The matrices of all experts as one weight, made of a tensor for each.
  WeightSpec matrices(const char* projection, int64_t outputs, int64_t inputs) const {
    const std::string experts = path_ + "." + config_.list + ".";
    WeightSpec spec{experts + projection + ".weight", {config_.experts, outputs, inputs}, {}, true};
    for (int64_t expert = 0; expert < config_.experts; ++expert) {
      spec.parts.push_back(experts + std::to_string(expert) + "." + projection + ".weight");
    }
    return spec;
  }

  Variable product(const std::string& origin, const Variable& x, const WeightSpec& weight) {
    g_.origin(origin);
    AttrMap attrs;
    if (!g_.has_outputs_first(weight)) attrs["transposed"] = true;
    g_.add_accumulation(attrs);
    return g_.narrowed(g_.op("gather_matmul", {x, g_.weight(weight), chosen_}, std::move(attrs)));
  }

  Variable project(const char* projection, const Variable& x, int64_t outputs, int64_t inputs) {
    return product(path_ + "." + config_.list + "." + projection, x,
                   matrices(projection, outputs, inputs));
  }

  Variable project_stacked(const std::string& name, const Variable& x, int64_t outputs,
                           int64_t inputs) {
    const bool transposed = config_.stacked->transposed;
    WeightSpec spec{path_ + "." + name, {config_.experts, outputs, inputs}, {}, !transposed};
    spec.transposed = transposed;
    if (transposed) std::swap(spec.shape[1], spec.shape[2]);
    const Variable y = product(path_ + ".experts", x, spec);
    if (!config_.stacked->bias) return y;
    const Variable bias =
        g_.stored_weight({path_ + "." + name + "_bias", {config_.experts, outputs}, {}});
    return g_.narrowed(g_.add(y, g_.op("take", {bias, chosen_}, {{"axis", int64_t{0}}})));
  }

  struct GateAndUp {
    Variable gate, up;
  };
  GateAndUp stacked_gate_and_up(const Variable& row) {
    const Variable both =
        project_stacked(config_.stacked->gate_up, row, 2 * config_.inner, hidden_);
    if (!config_.stacked->interleaved) {
      const Variable parts =
          g_.op("split", {both}, {{"axis", int64_t{-1}}, {"sections", int64_t{2}}});
      return {g_.field(parts, 0), g_.field(parts, 1)};
    }
    const Dims shape = {g_.batch(), g_.tokens(), config_.per_token, config_.inner};
    Dims pairs = shape;
    pairs.emplace_back(2);
    const Variable paired = g_.op("reshape", {both, make_shape(pairs)});
    const Variable parts =
        g_.op("split", {paired}, {{"axis", int64_t{-1}}, {"sections", int64_t{2}}});
    return {g_.op("reshape", {g_.field(parts, 0), make_shape(shape)}),
            g_.op("reshape", {g_.field(parts, 1), make_shape(shape)})};
  }

  // What the down projection gets.
  Variable activated(const Variable& gate, const Variable& up) {
    if (!config_.clamped) {
      g_.origin(path_ + ".experts.act_fn");
      const Variable active = activate(g_, gate, config_.activation);
      g_.origin(path_ + ".experts");
      return g_.op("multiply", {active, up});
    }
    g_.origin(path_ + ".experts");
    const double limit = config_.clamped->limit;
    const Variable least = g_.op("minimum", {gate, number_like(limit, gate)});
    const Variable between = g_.op("clip", {up}, {{"min", -limit}, {"max", limit}});
    const Variable sigmoid = g_.op("sigmoid", {g_.scaled(least, config_.clamped->alpha)});
    return g_.op("multiply",
                 {g_.add(between, number_like(1, between)), g_.op("multiply", {least, sigmoid})});
  }

  Variable inner_of(const Variable& row) {
    if (config_.plain) {
      const Variable up = project(config_.up, row, config_.inner, hidden_);
      g_.origin(path_ + ".experts.act_fn");
      return activate(g_, up, config_.activation);
    }
    const GateAndUp parts = config_.stacked
                                ? stacked_gate_and_up(row)
                                : GateAndUp{project(config_.gate, row, config_.inner, hidden_),
                                            project(config_.up, row, config_.inner, hidden_)};
    return activated(parts.gate, parts.up);
  }

  Variable mix(const Variable& x) {
    const PrimExpr b = g_.batch(), &n = g_.tokens();
    g_.origin(path_);
    Variable row = g_.op("reshape", {x, make_shape({b, n, 1, hidden_})});
    const Variable shares = g_.op("reshape", {shares_, make_shape({b, n, config_.per_token, 1})});
    if (config_.scales_input) row = g_.narrowed(g_.op("multiply", {row, shares}));
    const Variable inner = inner_of(row);
    Variable down = config_.stacked
                        ? project_stacked(config_.stacked->down, inner, hidden_, config_.inner)
                        : project(config_.down, inner, hidden_, config_.inner);
    g_.origin(path_);
    if (!config_.scales_input) down = g_.op("multiply", {down, shares});
    return g_.op("sum", {down}, {{"axes", std::vector<int64_t>{2}}});
  }

  Graph& g_;
  const ExpertConfig& config_;
  const RouterConfig& router_;
  std::string path_;
  int64_t hidden_;
  Variable chosen_, shares_;
};

}  // namespace

Variable experts(Graph& g, const std::string& path, const Variable& x, const ExpertConfig& config,
                 const Variable& routed) {
  return Experts(g, path, x, config).build(x, routed);
}

}  // namespace tapml::models
