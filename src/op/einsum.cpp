// Sums of products written as an equation of labels.
#include <algorithm>
#include <map>

#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/products.h"

namespace tapml::op {

namespace {

// Labels of one term, in order: a letter each, and kEllipsis for "...".
using Labels = std::string;
constexpr char kEllipsis = '.';

struct Equation {
  Labels operands[2];
  Labels result;
  bool has_ellipsis = false;
};

[[noreturn]] void malformed(const CallView& call, const std::string& message) {
  call.error("the equation is not well-formed: " + message, "such as \"bij,jk->bik\"",
             *find_attr<std::string>(call.attrs, "equation"));
}

Labels parse_term(const CallView& call, const std::string& text) {
  Labels labels;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == '.') {
      if (text.compare(at, 3, "...") != 0) malformed(call, "an ellipsis is three points");
      if (labels.find(kEllipsis) != Labels::npos) malformed(call, "a term has two ellipses");
      at += 2;
    } else if (!letter) {
      malformed(call, std::string("'") + c + "' is not a label");
    }
    labels += c;
  }
  return labels;
}

// The ellipsis, then the letters that occur once in both operands together, in alphabetical order
// (capitals first).
Labels implicit_result(const Equation& equation) {
  std::map<char, int> uses;
  for (const Labels& labels : equation.operands) {
    for (char c : labels) ++uses[c];
  }
  Labels result = equation.has_ellipsis ? Labels(1, kEllipsis) : Labels();
  for (auto [label, count] : uses) {
    if (count == 1 && label != kEllipsis) result += label;
  }
  return result;
}

Equation parse_equation(const CallView& call) {
  std::string text = *find_attr<std::string>(call.attrs, "equation");
  std::erase(text, ' ');
  Equation equation;
  size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow);
  size_t comma = inputs.find(',');
  if (comma == std::string::npos || inputs.find(',', comma + 1) != std::string::npos) {
    malformed(call, "it does not have two operands");
  }
  equation.operands[0] = parse_term(call, inputs.substr(0, comma));
  equation.operands[1] = parse_term(call, inputs.substr(comma + 1));
  Labels all = equation.operands[0] + equation.operands[1];
  equation.has_ellipsis = all.find(kEllipsis) != Labels::npos;
  if (arrow == std::string::npos) {
    equation.result = implicit_result(equation);
    return equation;
  }
  equation.result = parse_term(call, text.substr(arrow + 2));
  for (size_t i = 0; i < equation.result.size(); ++i) {
    char label = equation.result[i];
    if (equation.result.find(label, i + 1) != Labels::npos) {
      malformed(call, std::string("label '") + label + "' is twice in the result");
    }
    if (label != kEllipsis && all.find(label) == Labels::npos) {
      malformed(call, std::string("label '") + label + "' of the result is in no operand");
    }
  }
  if (equation.has_ellipsis && equation.result.find(kEllipsis) == Labels::npos) {
    malformed(call, "the result lacks the ellipsis");
  }
  return equation;
}

// The equation with the dimensions of a call whose shapes are known.
struct Plan {
  Equation equation;
  std::map<char, PrimExpr> extents;  // of letters
  Dims ellipsis[2];
  std::optional<Dims> broadcast_ellipsis;
  Labels summed;  // letters absent from the result, in order of appearance

  Plan(const CallView& call, const Equation& parsed, const Dims& a, const Dims& b)
      : equation(parsed) {
    const Dims* shapes[] = {&a, &b};
    for (size_t o : {0, 1}) place(call, o, *shapes[o]);
    broadcast_ellipsis = op::broadcast(call, ellipsis[0], ellipsis[1]);
    for (const Labels& labels : equation.operands) {
      for (char label : labels) {
        if (label != kEllipsis && (equation.result + summed).find(label) == Labels::npos) {
          summed += label;
        }
      }
    }
  }

  void place(const CallView& call, size_t operand, const Dims& shape) {
    const Labels& labels = equation.operands[operand];
    size_t d = 0;
    for (char label : labels) {
      if (label == kEllipsis) {
        size_t covered = shape.size() + 1 - labels.size();
        for (size_t e = 0; e < covered; ++e) ellipsis[operand].push_back(shape[d++]);
        continue;
      }
      auto [it, is_new] = extents.emplace(label, shape[d]);
      if (!is_new) {
        expect_same_dim(call, it->second, shape[d], std::string("of label '") + label + "'");
      }
      ++d;
    }
  }

  std::optional<Dims> result_shape() const {
    Dims shape;
    for (char label : equation.result) {
      if (label != kEllipsis) {
        shape.push_back(extents.at(label));
      } else if (!broadcast_ellipsis) {
        return std::nullopt;
      } else {
        shape.insert(shape.end(), broadcast_ellipsis->begin(), broadcast_ellipsis->end());
      }
    }
    return shape;
  }
};

// Checks that the labels allow the operand's rank; UserError if not.
void check_rank(const CallView& call, const Labels& labels, size_t index) {
  bool open = labels.find(kEllipsis) != Labels::npos;
  int least = static_cast<int>(labels.size()) - (open ? 1 : 0);
  if (open) {
    expect_min_ndim(call, index, least);
  } else {
    expect_ndim(call, index, least);
  }
}

relax::Annotation deduce_einsum(const CallView& call) {
  Equation equation = parse_equation(call);
  for (size_t i : {0, 1}) {
    expect_number(call, i);
    check_rank(call, equation.operands[i], i);
  }
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  Known result;
  if (a.dtype && b.dtype) result.dtype = promoted(call, *a.dtype, *b.dtype);
  if (!equation.has_ellipsis) {
    std::erase(equation.result, kEllipsis);
    result.ndim = static_cast<int>(equation.result.size());
  }
  if (a.shape && b.shape) {
    Plan plan(call, equation, *a.shape, *b.shape);
    result.shape = plan.result_shape();
    result.ndim = static_cast<int>(equation.result.size()) - (equation.has_ellipsis ? 1 : 0) +
                  static_cast<int>(std::max(plan.ellipsis[0].size(), plan.ellipsis[1].size()));
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_einsum(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation annotation = known_result(call, deduce_einsum(call));
  Plan plan(call, parse_equation(call), lowering.arg(0)->shape, lowering.arg(1)->shape);
  tir::Buffer out = lowering.output("out", *annotation.shape, *annotation.dtype);
  DType compute = accumulation_dtype(out->dtype);
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    std::map<char, PrimExpr> at;
    std::vector<Var> ellipsis;
    size_t d = 0;
    for (char label : plan.equation.result) {
      if (label != kEllipsis) {
        at[label] = i[d++];
      } else {
        for (size_t e = 0; e < plan.broadcast_ellipsis->size(); ++e) ellipsis.push_back(i[d++]);
      }
    }
    for (size_t s = 0; s < plan.summed.size(); ++s) at[plan.summed[s]] = r[s];
    PrimExpr product;
    for (size_t o : {0, 1}) {
      std::vector<PrimExpr> index;
      for (char label : plan.equation.operands[o]) {
        if (label != kEllipsis) {
          index.push_back(at.at(label));
          continue;
        }
        auto outer = broadcast_index(plan.ellipsis[o], *plan.broadcast_ellipsis, ellipsis);
        index.insert(index.end(), outer.begin(), outer.end());
      }
      PrimExpr value = cast(compute, tir::load(lowering.arg(o), index));
      product = product ? product * value : value;
    }
    return product;
  };
  if (plan.summed.empty()) {
    lowering.add(tir::compute(
        "einsum", out, [&](const std::vector<Var>& i) { return cast(out->dtype, term(i, {})); }));
    return lowering.finish();
  }
  Dims extents;
  for (char label : plan.summed) extents.push_back(plan.extents.at(label));
  add_reduction(lowering, "einsum", out, compute, extents, number(0, compute), sum_of, term);
  return lowering.finish();
}

// ---- random calls

bool generate(GeneratedCall& call, RandomStream& rng) {
  static const std::vector<std::string> kEquations[] = {
      {",i->i", ",ij"},
      {"i,i->", "i,j->ij", "i,ij->j", "i,i->i", "i,j", "i,->i"},
      {"ij,jk->ik", "ij,kj->ik", "ij,ij->", "ii,i->i", "ij,jk", "ij,j->ji", "ii,jj->ij",
       "i...,i...->...", "...i,ij->...j"},
      {"bij,bjk->bik", "bij,bkj->bik", "bij,jk->bki", "abc,cd->ab", "...ij,jk->...ik",
       "i...j,j...->...i", "iij,jk->ik"},
      {"bhqd,bhkd->bhqk", "abcd,cd->ab", "...ij,...jk->...ik", "abcd,ec->abed"},
  };
  const std::vector<int64_t> kExtents = {0, 1, 2, 3, 8, 9};
  GeneratedTensor& a = call.args[0].tensors[0];
  if (a.shape.size() > 4) return false;
  keep_moderate(a.shape, 1024);
  const std::string& equation = pick(kEquations[a.shape.size()], rng);
  size_t comma = equation.find(',');
  std::string left = equation.substr(0, comma);
  std::string right = equation.substr(comma + 1, equation.find("->") - comma - 1);
  std::map<char, int64_t> extents;
  Shape ellipsis;
  size_t d = 0, letters = left.size() - (left.find('.') == std::string::npos ? 0 : 3);
  for (size_t at = 0; at < left.size(); ++at) {
    if (left[at] == '.') {
      for (size_t e = letters; e < a.shape.size(); ++e) ellipsis.push_back(a.shape[d++]);
      at += 2;
    } else {
      a.shape[d] = extents.emplace(left[at], a.shape[d]).first->second;
      ++d;
    }
  }
  GeneratedTensor b = a;
  b.shape.clear();
  for (size_t at = 0; at < right.size(); ++at) {
    if (right[at] == '.') {
      Shape partner = broadcast_partner(ellipsis, rng);
      b.shape.insert(b.shape.end(), partner.begin(), partner.end());
      at += 2;
    } else {
      b.shape.push_back(extents.emplace(right[at], pick(kExtents, rng)).first->second);
    }
  }
  call.args.push_back({{b}, {}});
  call.attrs["equation"] = equation;
  return true;
}

}  // namespace

std::span<const OperatorInfo> einsum_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "einsum",
       .doc =
           "Sum of products by an equation of labels, one letter per dimension: \"bij,jk->bik\". "
           "Letters that the result lacks are summed over; a letter twice in one operand takes "
           "its diagonal; \"...\" stands for any dimensions, which broadcast. Without \"->\" "
           "the result has the ellipsis and then the letters that occur once, in alphabetical "
           "order. Dtypes as for matmul.",
       .args = {{"a", ArgumentKind::kTensor, "first operand, floats or integers"},
                {"b", ArgumentKind::kTensor, "second operand"}},
       .attrs = {{"equation", AttributeKind::kString, true, {}, "labels of a, b and the result"}},
       .inout = {},
       .deduce = deduce_einsum,
       .legalize = legalize_einsum,
       .reference = reference::einsum,
       .generator = {{0, 1, 2, 3, 4},
                     {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kI16,
                      DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64},
                     -2,
                     2,
                     generate}},
  };
  return kOperators;
}

}  // namespace tapml::op
