#include "op/reference/products.h"

#include <algorithm>
#include <map>
#include <string>

#include "op/reference/matrix_product.h"
#include "op/reference/resolve.h"

namespace tapml::op::reference {

void outer(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  size_t columns = b.values.size();
  for (size_t i = 0; i < out.values.size(); ++i) {
    size_t row = i / columns, column = i % columns;
    if (!is_float(out.dtype)) {
      auto bits = static_cast<uint64_t>(a.integer(row)) * static_cast<uint64_t>(b.integer(column));
      put_integer(out, i, static_cast<int64_t>(bits));
      continue;
    }
    double x = a.values[row], y = b.values[column], ex = a.bound[row], ey = b.bound[column];
    Error error;
    add_product_error(x, error_of(a, row), y, error_of(b, column), error);
    error.bound = scaled(x, ey) + scaled(y, ex) + scaled(ex, ey);
    put(out, i, x * y, error);
  }
}

void linear(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor, &bias = *args[2].tensor;
  const auto n = static_cast<size_t>(weight.shape[0]), k = static_cast<size_t>(weight.shape[1]);
  const size_t rows = n == 0 ? 0 : outputs[0].values.size() / n;
  ProductPolicy policy(x, weight, outputs[0], false);
  policy.unit = std::fmin(policy.unit, compute_unit(bias.dtype));
  put_products(outputs[0],
               {.a = x,
                .b = weight,
                .rows = rows,
                .columns = n,
                .terms = k,
                .a_lines = {k, 1},
                .b_lines = {k, 1},
                .a_bases = {0},
                .b_bases = {0},
                .bias = &bias},
               policy);
}

void gather_matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor, &indices = *args[2].tensor;
  RefTensor& out = outputs[0];
  const bool transposed = *find_attr<bool>(attrs, "transposed");
  const auto n = static_cast<size_t>(weight.shape[transposed ? 2 : 1]);
  const auto k = static_cast<size_t>(weight.shape[transposed ? 1 : 2]);
  const Shape outer(out.shape.begin(), out.shape.end() - 1);
  const Shape rows(x.shape.begin(), x.shape.end() - 1);
  MatrixProducts products{.a = x,
                          .b = weight,
                          .rows = 1,
                          .columns = n,
                          .terms = k,
                          .a_lines = {k, 1},
                          .b_lines = {k, 1}};
  if (transposed) products.b_lines = {1, n};
  std::vector<size_t> chosen;
  walk(outer, broadcast_strides(indices.shape, outer), 0, [&](size_t, size_t at) {
    chosen.push_back(at);
    const auto matrix = resolve(indices.integer(at), static_cast<size_t>(weight.shape[0]));
    products.b_bases.push_back(matrix ? *matrix * n * k : MatrixProducts::kNone);
  });
  walk(outer, broadcast_strides(rows, outer), 0,
       [&](size_t, size_t row) { products.a_bases.push_back(row * k); });
  put_products(out, products, ProductPolicy(x, weight, out, has_half_sums(attrs)));
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (indices.bound[chosen[i]] == 0) continue;
    for (size_t column = 0; column < n; ++column) out.bound[i * n + column] = kInfinity;
  }
}

namespace {

// A parsed equation such as "a...b,bc->a...c". Parsed independently, because the reference shares
// no code with deduction. Has each operand's letters, one per dimension; dimensions of an ellipsis
// get their own names, counted from the last.
struct Equation {
  std::vector<std::string> operands[2];
  std::vector<std::string> result;

  Equation(const std::string& given, size_t rank_a, size_t rank_b) {
    std::string text;
    for (char c : given) {
      if (c != ' ') text += c;
    }
    size_t arrow = text.find("->"), comma = text.find(',');
    std::string left = text.substr(0, comma);
    std::string right =
        text.substr(comma + 1, arrow == std::string::npos ? std::string::npos : arrow - comma - 1);
    size_t ellipsis = 0;
    operands[0] = labels(left, rank_a, ellipsis);
    operands[1] = labels(right, rank_b, ellipsis);
    if (arrow != std::string::npos) {
      std::string out = text.substr(arrow + 2);
      size_t letters = 0;
      for (char c : out) letters += c != '.';
      bool dots = letters != out.size();
      size_t unused = 0;
      result = labels(out, letters + (dots ? ellipsis : 0), unused);
      return;
    }
    for (size_t d = ellipsis; d-- > 0;) result.push_back("." + std::to_string(d));
    std::map<std::string, int> uses;
    for (const auto& operand : operands) {
      for (const std::string& label : operand) ++uses[label];
    }
    // A map iterates in alphabetical order, capitals first.
    for (const auto& [label, count] : uses) {
      if (count == 1 && label[0] != '.') result.push_back(label);
    }
  }

  static std::vector<std::string> labels(const std::string& text, size_t rank, size_t& ellipsis) {
    std::vector<std::string> list;
    size_t letters = 0;
    for (char c : text) letters += c != '.';
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '.') {
        list.emplace_back(1, text[at]);
        continue;
      }
      size_t covered = rank - letters;
      ellipsis = std::max(ellipsis, covered);
      for (size_t d = covered; d-- > 0;) list.push_back("." + std::to_string(d));
      at += 2;
    }
    return list;
  }
};

}  // namespace

void einsum(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  Equation equation(*find_attr<std::string>(attrs, "equation"), a.shape.size(), b.shape.size());
  // One axis per label: first the result's labels, then the summed ones.
  std::vector<std::string> labels = equation.result;
  std::map<std::string, int64_t> extents;
  for (size_t o : {0, 1}) {
    const Shape& shape = args[o].tensor->shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::string& label = equation.operands[o][d];
      auto [it, is_new] = extents.emplace(label, shape[d]);
      if (!is_new && it->second == 1) it->second = shape[d];
    }
  }
  for (const auto& [label, extent] : extents) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  // Strides of each operand along each label; a repeated label follows the diagonal.
  std::vector<int64_t> steps[2];
  for (size_t o : {0, 1}) {
    const Shape& shape = args[o].tensor->shape;
    std::vector<int64_t> strides = row_major_strides(shape);
    steps[o].assign(labels.size(), 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      for (size_t l = 0; l < labels.size(); ++l) {
        bool repeats = shape[d] == 1 && extents[labels[l]] != 1;
        if (equation.operands[o][d] == labels[l] && !repeats) steps[o][l] += strides[d];
      }
    }
  }
  size_t kept = equation.result.size();
  Shape summed;
  for (size_t l = kept; l < labels.size(); ++l) summed.push_back(extents[labels[l]]);
  auto inner = [&](size_t o) {
    return std::vector<int64_t>(steps[o].begin() + static_cast<std::ptrdiff_t>(kept),
                                steps[o].end());
  };
  auto outer_steps = [&](size_t o) {
    return std::vector<int64_t>(steps[o].begin(),
                                steps[o].begin() + static_cast<std::ptrdiff_t>(kept));
  };
  std::vector<size_t> a_inner(static_cast<size_t>(element_count(summed))), b_inner(a_inner);
  walk(summed, inner(0), 0, [&](size_t i, size_t j) { a_inner[i] = j; });
  walk(summed, inner(1), 0, [&](size_t i, size_t j) { b_inner[i] = j; });
  std::vector<size_t> b_outer(out.values.size());
  walk(out.shape, outer_steps(1), 0, [&](size_t i, size_t j) { b_outer[i] = j; });
  const ProductPolicy policy(a, b, out, false);
  walk(out.shape, outer_steps(0), 0, [&](size_t at, size_t base) {
    if (!out.wants(at)) return;
    put_product_sum(out, at, a, b, policy, [&](auto&& add) {
      for (size_t s = 0; s < a_inner.size(); ++s) add(base + a_inner[s], b_outer[at] + b_inner[s]);
    });
  });
}

}  // namespace tapml::op::reference
