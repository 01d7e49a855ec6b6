#include "models/blocks/experts.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

class Experts {
 public:
  Experts(Graph& g, std::string path, const Variable& x, const ExpertConfig& config)
      : g_(g), config_(config), path_(std::move(path)), hidden_(Graph::width(x)) {}

  Variable build(const Variable& x) {
    route(x);
    return mix(x);
  }

 private:
  // chosen_ i32[b, n, k] and shares_ f32[b, n, k]
  void route(const Variable& x) {
    Variable scores =
        linear(g_, path_ + "." + config_.router, x, config_.experts, {.narrow = true});
    scores = g_.op("softmax", {scores}, {{"axis", int64_t{-1}}});
    const Variable best =
        g_.op("topk", {scores}, {{"k", config_.per_token}, {"axis", int64_t{-1}}});
    shares_ = g_.field(best, 0);
    chosen_ = g_.field(best, 1);
    if (!config_.renormalize) return;
    const Variable total =
        g_.op("sum", {shares_}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
    shares_ = g_.op("divide", {shares_, total});
  }

  // The matrices of all experts as one weight.
  WeightSpec matrices(const char* projection, int64_t outputs, int64_t inputs) const {
    const std::string experts = path_ + ".experts.";
    WeightSpec spec{experts + projection + ".weight", {config_.experts, outputs, inputs}, {}, true};
    for (int64_t expert = 0; expert < config_.experts; ++expert) {
      spec.parts.push_back(experts + std::to_string(expert) + "." + projection + ".weight");
    }
    return spec;
  }

  Variable project(const char* projection, const Variable& x, int64_t outputs, int64_t inputs) {
    g_.origin(path_ + ".experts." + projection);
    AttrMap attrs;
    g_.add_accumulation(attrs);
    return g_.narrowed(g_.op("gather_matmul",
                             {x, g_.weight(matrices(projection, outputs, inputs)), chosen_},
                             std::move(attrs)));
  }

  Variable mix(const Variable& x) {
    const PrimExpr b = g_.batch(), &n = g_.tokens();
    g_.origin(path_);
    const Variable row = g_.op("reshape", {x, make_shape({b, n, 1, hidden_})});
    Variable gate = project(config_.gate, row, config_.inner, hidden_);
    const Variable up = project(config_.up, row, config_.inner, hidden_);
    g_.origin(path_ + ".experts.act_fn");
    gate = activate(g_, gate, config_.activation);
    g_.origin(path_ + ".experts");
    const Variable down =
        project(config_.down, g_.op("multiply", {gate, up}), hidden_, config_.inner);
    g_.origin(path_);
    const Variable shares = g_.op("reshape", {shares_, make_shape({b, n, config_.per_token, 1})});
    return g_.op("sum", {g_.op("multiply", {down, shares})}, {{"axes", std::vector<int64_t>{2}}});
  }

  Graph& g_;
  const ExpertConfig& config_;
  std::string path_;
  int64_t hidden_;
  Variable chosen_, shares_;
};

}  // namespace

Variable experts(Graph& g, const std::string& path, const Variable& x, const ExpertConfig& config) {
  return Experts(g, path, x, config).build(x);
}

}  // namespace tapml::models
