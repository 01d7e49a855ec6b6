#include "topdown/reference_run/compare_import.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "llm/embedder.h"
#include "relax/visit.h"
#include "topdown/reference_run/model_reference.h"
#include "topdown/reference_run/module_boundaries.h"

namespace tapml::topdown {

namespace {

const char* compared_function(const ModelInterface& model) {
  return llm::is_encoder(model) ? "embed" : "logits_all";
}

// Of the largest magnitude among a value's elements. Sums of two implementations in f64 differ by
// about 1e-13 of it, a wrong constant by more than 1e-8.
constexpr double kAllowedF64 = 1e-9, kAllowedF32 = 1e-4;
// Published rotations are computed in f32 by a power function that may be one ULP off, 2^-23 of the
// frequency. The angles of 16 tokens are then at most 1.8e-6 off; they grow with the tokens.
constexpr double kUlp = 0x1p-23, kAllowedRotated = 1e-5;
// The import rounds numbers of the configuration to f32, by which it multiplies values, such as the
// factor of a residual. In f64 the published implementation does not.
constexpr double kAllowedRounded = 1e-5;
constexpr double kHugeLogit = 1e300;

// The difference between a value and the published one, which have the same elements in the same
// order.
struct PublishedDistance {
  double max_abs = 0, bound = 0;
  size_t at = 0;                // of the largest difference
  std::optional<size_t> first;  // the first element above the bound
};

template <class Values>
PublishedDistance published_distance(const HostTensor& published, const Values& found,
                                     double allowed) {
  PublishedDistance result;
  const auto count = static_cast<size_t>(published.size());
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(published.at_f64(static_cast<int64_t>(i))));
  }
  result.bound = std::min(allowed * largest, kHugeLogit);
  for (size_t i = 0; i < count; ++i) {
    const double off = std::abs(published.at_f64(static_cast<int64_t>(i)) - found[i]);
    // Not `off > bound`, which a NaN would pass.
    if (!(off <= result.bound) && !result.first) result.first = i;
    if (off > result.max_abs || (std::isnan(off) && !std::isnan(result.max_abs))) {
      result.max_abs = off;
      result.at = i;
    }
  }
  return result;
}

// Whether they are equal within the allowed part of `largest`, the published value's.
template <class Values>
bool are_equal(const HostTensor& published, double largest, const Values& found, double allowed) {
  if (static_cast<size_t>(published.size()) != found.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(published.at_f64(static_cast<int64_t>(i)) - found[i]);
    if (!(off <= allowed * largest)) return false;
  }
  return true;
}

// Whether an argument is a number that f32 may have rounded: with more bits than a short binary
// fraction has.
bool has_rounded_number(const relax::Binding& binding) {
  const auto* call = relax::as<relax::CallNode>(binding.value);
  if (!call) return false;
  return std::ranges::any_of(call->args, [](const relax::Expr& arg) {
    const auto* constant = relax::as<relax::ConstantNode>(arg);
    if (!constant || constant->value.dtype() != DType::kF32 || constant->value.size() != 1) {
      return false;
    }
    int exponent = 0;
    const double mantissa = std::frexp(constant->value.at_f64(0), &exponent);
    return std::isfinite(mantissa) && mantissa * 0x1p12 != std::trunc(mantissa * 0x1p12);
  });
}

int64_t layer_number(const std::string& module) {
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const std::string part = module.substr(begin, end - begin);
    if (!part.empty() && part.size() < 10 &&
        part.find_first_not_of("0123456789") == std::string::npos) {
      return std::stoll(part);
    }
    begin = end + 1;
  }
  return -1;
}

class ImportComparison {
 public:
  ImportComparison(const PublishedRun& published, const ModuleBoundaries& boundaries,
                   int64_t tokens, bool is_encoder)
      : published_(published),
        boundaries_(boundaries),
        tokens_(tokens),
        is_encoder_(is_encoder),
        allowed_(published.dtype == "f64" ? kAllowedF64 : kAllowedF32) {}

  // A value of the reference's run.
  void observe(const relax::Binding& binding, const op::RefTensor& value) {
    if (binding.var.get() == boundaries_.rotated) compare_rope();
    if (has_rounded_number(binding)) allowed_ = std::max(allowed_, kAllowedRounded);
    const auto boundaries = boundaries_.of.find(binding.var.get());
    if (boundaries == boundaries_.of.end()) return;
    for (const ModuleBoundary& boundary : boundaries->second) compare(boundary, value.values);
  }

  // All tokens' logits, which decide about the import.
  void conclude(const op::RefTensor& logits, ImportCheck& check) const {
    compare_logits(logits, check);
    if (check.first && first_) check.first = first_;
    check.values = values_;
  }

  // Notes the kernel calls of the program whose kernels are formed.
  void add_calls(const relax::Function& formed) {
    relax::visit_bindings(formed.body, [&](const relax::Binding& binding, bool) {
      if (!relax::is_call_tir(binding.value)) return;
      const auto* call = relax::as<relax::CallNode>(binding.value);
      calls_[binding.var.get()].kernel = relax::call_tir_callee(*call);
    });
  }

  // A value of that program's run.
  void observe_formed(const relax::Binding& binding, const op::RefTensor& value) {
    const auto* field = relax::as<relax::TupleGetItemNode>(binding.value);
    const auto call =
        calls_.find(field ? relax::as<relax::VarNode>(field->tuple) : binding.var.get());
    if (call == calls_.end() || !is_float(value.dtype)) return;
    call->second.at_end = call->second.at_end || is_published(value.values);
  }

  void conclude_formed(const op::RefTensor& logits, ImportCheck& check) const {
    std::map<std::string, bool> kernels;
    for (const auto& [var, call] : calls_) {
      bool& at_ends = kernels.try_emplace(call.kernel, true).first->second;
      at_ends = at_ends && call.at_end;
    }
    check.kernels = std::ssize(kernels);
    for (const auto& [kernel, at_ends] : kernels) check.kernels_at_ends += at_ends ? 1 : 0;
    if (check.first) return;
    ImportCheck formed;
    compare_logits(logits, formed);
    if (!formed.first) return;
    check.first = formed.first;
    check.first->by_passes = true;
    check.max_abs = formed.max_abs;
    check.bound = formed.bound;
  }

 private:
  void compare_logits(const op::RefTensor& logits, ImportCheck& check) const {
    const HostTensor& wanted = *published_.find("logits");
    const int64_t vocabulary = logits.shape.back();
    double worst = -1;
    const int64_t rows = is_encoder_ ? 1 : tokens_;  // an encoder has one for the text
    for (int64_t token = 0; token < rows; ++token) {
      std::vector<double> row, own;
      for (int64_t v = token * vocabulary; v < (token + 1) * vocabulary; ++v) {
        row.push_back(wanted.at_f64(v));
        own.push_back(logits.values[static_cast<size_t>(v)]);
      }
      const PublishedDistance found = published_distance(
          HostTensor::from<double>(DType::kF64, {vocabulary}, row), own, allowed_);
      const double share = found.bound > 0 ? found.max_abs / found.bound : found.max_abs;
      if (share > worst || std::isnan(share)) {
        worst = share;
        check.max_abs = found.max_abs;
        check.bound = found.bound;
      }
      if (!found.first || check.first) continue;
      check.first = {.module = is_encoder_ ? "pooling" : "lm_head",
                     .end = "output",
                     .max_abs = found.max_abs,
                     .bound = found.bound,
                     .token = token,
                     .published = row[found.at],
                     .found = own[found.at]};
    }
  }

  // Whether a module reads or writes these values.
  template <class Values>
  bool is_published(const Values& found) {
    for (const auto& [name, tensor] : published_.tensors) {
      if (static_cast<size_t>(tensor.size()) != found.size()) continue;
      const auto [largest, is_new] = largest_.try_emplace(name, 0);
      for (int64_t i = 0; is_new && i < tensor.size(); ++i) {
        largest->second = std::max(largest->second, std::abs(tensor.at_f64(i)));
      }
      if (are_equal(tensor, largest->second, found, allowed_)) return true;
    }
    return false;
  }

  template <class Values>
  void compare(const ModuleBoundary& boundary, const Values& found) {
    if (!boundary.output) {
      if (const HostTensor* wanted = published_.find(boundary.module + ":input")) {
        compare(boundary.module, "input", {wanted}, found);
      }
      return;
    }
    // A module may write several tensors, such as attention its weights.
    std::vector<const HostTensor*> wanted;
    for (int number = 0;; ++number) {
      const HostTensor* one =
          published_.find(boundary.module + ":output:" + std::to_string(number));
      if (!one) break;
      wanted.push_back(one);
    }
    compare(boundary.module, "output", wanted, found);
  }

  // It has to equal one of the tensors that have as many elements.
  template <class Values>
  void compare(const std::string& module, const char* end,
               const std::vector<const HostTensor*>& wanted, const Values& found) {
    std::optional<ImportDifference> difference;
    bool compared = false;
    for (const HostTensor* one : wanted) {
      if (static_cast<size_t>(one->size()) != found.size() || found.size() == 0) continue;
      const PublishedDistance off = published_distance(*one, found, allowed_);
      if (!off.first) {
        ++values_;
        return;
      }
      compared = true;
      const int64_t row = std::max<int64_t>(one->size() / tokens_, 1);
      difference = {.module = module,
                    .end = end,
                    .meaning = border_meaning(module, end),
                    .layer = layer_number(module),
                    .max_abs = off.max_abs,
                    .bound = off.bound,
                    .token = static_cast<int64_t>(*off.first) / row,
                    .published = one->at_f64(static_cast<int64_t>(off.at)),
                    .found = found[off.at]};
    }
    if (compared) ++values_;
    if (!difference || first_) return;
    first_ = std::move(difference);
    first_->equals = module_with(module, found);
  }

  // Another module whose output has these values.
  template <class Values>
  std::string module_with(const std::string& module, const Values& found) const {
    for (const auto& [name, tensor] : published_.tensors) {
      const size_t mark = name.find(":output:");
      if (mark == std::string::npos || name.substr(0, mark) == module) continue;
      if (static_cast<size_t>(tensor.size()) != found.size()) continue;
      if (!published_distance(tensor, found, allowed_).first) return name.substr(0, mark);
    }
    return "";
  }

  // Whether the published frequencies are others than those of a rotation, but only by an ULP.
  bool rounded_otherwise(const HostTensor& published) const {
    return std::ranges::any_of(boundaries_.tables, [&](const HostTensor& own) {
      return differs_by_rounding(published, own);
    });
  }
  static bool differs_by_rounding(const HostTensor& published, const HostTensor& own) {
    if (published.size() != own.size()) return false;
    bool equal = true;
    for (int64_t j = 0; j < own.size(); ++j) {
      const double off = std::abs(published.at_f64(j) - own.at_f64(j));
      if (!(off <= kUlp * std::abs(own.at_f64(j)))) return false;
      equal = equal && off == 0;
    }
    return !equal;
  }

  // The cosines and sines of the frequencies that the import computed, for every token: the
  // published table has both halves of each head.
  void compare_rope() {
    for (const auto& [name, tensor] : published_.tensors) {
      if (name.ends_with("inv_freq") && rounded_otherwise(tensor)) {
        const double longer = static_cast<double>(tokens_) / static_cast<double>(kImportTokens);
        allowed_ = std::max(allowed_, kAllowedRotated * std::max(longer, 1.0));
      }
    }
    const HostTensor& frequencies = used_frequencies();
    const int64_t half = frequencies.size();
    std::vector<double> cos, sin;
    for (int64_t token = 0; token < tokens_; ++token) {
      for (int64_t j = 0; j < 2 * half; ++j) {
        const double angle = static_cast<double>(token) * frequencies.at_f64(j % half);
        cos.push_back(std::cos(angle));
        sin.push_back(std::sin(angle));
      }
    }
    for (const auto& [name, tensor] : published_.tensors) {
      const size_t mark = name.find("rotary_emb:output:");
      if (mark == std::string::npos) continue;
      const std::string module = name.substr(0, name.find(':'));
      const bool is_cos = name.ends_with(":0");
      compare(module, is_cos ? "cos" : "sin", {&tensor}, is_cos ? cos : sin);
    }
  }

  // Of the import's tables for a text, the one that is nearest to the published.
  const HostTensor& used_frequencies() const {
    const HostTensor* nearest = &boundaries_.frequencies.front();
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, tensor] : published_.tensors) {
      if (!name.ends_with(":inv_freq")) continue;
      for (const HostTensor& own : boundaries_.frequencies) {
        if (own.size() != tensor.size()) continue;
        double off = 0;
        for (int64_t j = 0; j < own.size(); ++j) {
          off = std::max(off, std::abs(tensor.at_f64(j) - own.at_f64(j)));
        }
        if (off < least) nearest = &own;
        least = std::min(least, off);
      }
    }
    return *nearest;
  }

  const PublishedRun& published_;
  const ModuleBoundaries& boundaries_;
  const int64_t tokens_;
  const bool is_encoder_;
  double allowed_;  // of the largest magnitude
  int64_t values_ = 0;
  std::optional<ImportDifference> first_;
  struct KernelCall {
    std::string kernel;
    bool at_end = false;  // whether an output is at the end of a module
  };
  std::map<const relax::VarNode*, KernelCall> calls_;  // of the program with kernels formed
  std::map<std::string, double> largest_;              // magnitude, by published tensor
};

// The last dimension of the function's first result: the vocabulary, or the size of a vector.
int64_t result_width(const relax::Function& function) {
  const relax::TupleAnnotation* results = relax::as_tuple(function.result);
  const relax::TensorAnnotation* first =
      results && !results->fields.empty() ? relax::as_tensor(results->fields[0]) : nullptr;
  if (!first || !first->shape || first->shape->empty() || !first->shape->back().is_int()) {
    throw_internal("the size of the function's result is not constant");
  }
  return first->shape->back()->int_value;
}

void check_logits(const PublishedRun& run, const Shape& expected, const std::string& name) {
  const HostTensor* logits = run.find("logits");
  if (logits && logits->shape() == expected && logits->dtype() == DType::kF64) return;
  throw_user("the published implementation's logits have another shape than the import's", name,
             shape_to_string(expected),
             logits ? dtype_name(logits->dtype()) + shape_to_string(logits->shape()) : "none");
}

}  // namespace

std::vector<int32_t> import_tokens(const std::vector<int32_t>& tokens, const ModelInterface& model,
                                   int64_t most) {
  const auto count = static_cast<size_t>(std::min(most, model.context));
  std::vector<int32_t> made;
  for (const int32_t token : tokens) {
    // A tokenizer may have more tokens than the model.
    if (made.size() < count && token >= 0 && token < model.vocabulary) made.push_back(token);
  }
  RandomStream random(0, "import");
  while (made.size() < count) {
    made.push_back(static_cast<int32_t>(random.below(static_cast<uint32_t>(model.vocabulary))));
  }
  return made;
}

ImportCheck compare_import(const Module& module, const Module& formed, const ModelInterface& model,
                           const std::map<std::string, HostTensor>& weights,
                           const CompareImportOptions& options) {
  const char* name = compared_function(model);
  const relax::Function* function = relax::as_relax_function(module.find(name));
  if (!function) throw_user("the model has no such function", "the model's interface", name);
  const std::vector<int32_t> tokens = import_tokens(options.tokens, model, options.count);
  const ModuleBoundaries boundaries = module_boundaries(*function);
  PublishedRequest request{.python = options.python,
                           .folder = options.folder,
                           .name = options.name,
                           .tokens = tokens,
                           .paths = boundaries.modules,
                           .pooling = options.pooling,
                           .longest = options.longest,
                           .cancelled = options.cancelled};
  for (const auto& [name, weight] : weights) request.parameters += weight.size();
  tell(options.watcher, {"published", 0, 0, ""});
  const PublishedRun published = run_published(request);
  const int64_t rows = llm::is_encoder(model) ? 1 : std::ssize(tokens);
  check_logits(published, {1, rows, result_width(*function)},
               options.name.empty() ? options.folder : options.name);
  ImportComparison comparison(published, boundaries, std::ssize(tokens), llm::is_encoder(model));
  interp::CallOptions run;
  run.poll = options.poll;
  run.watcher = options.watcher;
  run.observe = [&](const relax::Binding& binding, const op::RefTensor& value) {
    comparison.observe(binding, value);
  };
  const op::RefTensor logits = evaluate_logits(module, model, weights, tokens, run);
  ImportCheck check{.implementation = published.implementation,
                    .model_class = published.class_name,
                    .dtype = published.dtype,
                    .compared = llm::is_encoder(model) ? "vector" : "logits",
                    .tokens = std::ssize(tokens),
                    .missing = published.missing};
  comparison.conclude(logits, check);
  if (!check.passed()) return check;
  comparison.add_calls(*relax::as_relax_function(formed.find(name)));
  run.observe = [&](const relax::Binding& binding, const op::RefTensor& value) {
    comparison.observe_formed(binding, value);
  };
  comparison.conclude_formed(evaluate_logits(formed, model, weights, tokens, run), check);
  return check;
}

}  // namespace tapml::topdown
