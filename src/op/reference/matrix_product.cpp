#include "op/reference/matrix_product.h"

#include <algorithm>
#include <utility>

#include "op/reference/parallel.h"
#include "op/reference/product_repetition.h"
#include "op/reference/product_sums.h"

namespace tapml::op::reference {

namespace {

// A tile of the result, and the blocks that it reads, stay in the first two levels of caches. A
// BLAS would need weights in f64, one product for each sum that errors need, and has no sums of
// lanes; for one row, as decoding has, it is bound by memory like this loop.
constexpr size_t kRowsOfTile = 8, kColumnsOfTile = 16;

// A block of terms of several lines of an operand, in f64.
class Panel {
 public:
  Panel(const RefTensor& tensor, LineLayout layout, size_t lines, bool exact, ProductFormat format)
      : tensor_(tensor), layout_(layout), exact_(exact), format_(format) {
    for (std::vector<double>* part : {&values_, &systematic_, &variance_}) {
      if (part == &values_ || !exact) part->resize(lines * kStride);
    }
  }

  // Reads terms [first, first + count) of `lines`, which are in order, of the matrix at `base`.
  void read(size_t base, std::span<const size_t> lines, size_t first, size_t count) {
    first_line_ = lines.front();
    read_part(tensor_.values, base, lines, first, count, values_);
    if (format_ != ProductFormat::kExact) {
      each(lines, count, values_, [&](double value) { return rounded(format_, value); });
    }
    if (exact_) return;
    const RefBounds& systematic = tensor_.systematic.empty() ? tensor_.bound : tensor_.systematic;
    read_part(systematic, base, lines, first, count, systematic_);
    if (tensor_.deviation.empty()) return;  // all are 0
    read_part(tensor_.deviation, base, lines, first, count, variance_);
    each(lines, count, variance_, [](double deviation) { return deviation * deviation; });
  }

  FactorBlock line(size_t line) const {
    const size_t at = (line - first_line_) * kStride;
    if (exact_) return {values_.data() + at};
    return {values_.data() + at, systematic_.data() + at, variance_.data() + at};
  }

 private:
  // Lines are not a power of two apart, so that their elements do not compete for cache lines.
  static constexpr size_t kStride = kTermsOfBlock + kLanesOfBlock;

  template <class Elements>
  void read_part(const Elements& from, size_t base, std::span<const size_t> lines, size_t first,
                 size_t count, std::vector<double>& to) {
    const size_t start = base + first * layout_.along;
    if (layout_.between == 1 && layout_.along != 1) {
      // In two passes: stores between them would keep the reads from overlapping.
      const size_t together = lines.back() - first_line_ + 1;
      across_.resize(kTermsOfBlock * together);
      for (size_t r = 0; r < count; ++r) {
        from.read(start + r * layout_.along + first_line_, 1, together,
                  across_.data() + r * together, 1);
      }
      for (size_t line = 0; line < together; ++line) {
        for (size_t r = 0; r < count; ++r) to[line * kStride + r] = across_[r * together + line];
      }
    } else {
      for (const size_t line : lines) {
        from.read(start + line * layout_.between, layout_.along, count,
                  to.data() + (line - first_line_) * kStride, 1);
      }
    }
    if (count == kTermsOfBlock) return;
    for (const size_t line : lines) {
      double* end = to.data() + (line - first_line_) * kStride + count;
      std::fill(end, end + kLanesOfBlock, 0.0);
    }
  }

  template <class F>
  void each(std::span<const size_t> lines, size_t count, std::vector<double>& part, F&& f) const {
    for (const size_t line : lines) {
      double* values = part.data() + (line - first_line_) * kStride;
      for (size_t r = 0; r < count; ++r) values[r] = f(values[r]);
    }
  }

  const RefTensor& tensor_;
  LineLayout layout_;
  bool exact_;
  ProductFormat format_;
  size_t first_line_ = 0;
  std::vector<double> values_, systematic_, variance_;
  std::vector<double> across_;  // the terms of all lines in turn
};

// Adds the bias of a column to a sum with its error, and sets the element.
void put_sum(RefTensor& out, size_t at, const RefTensor* bias, size_t column, double sum,
             const Error& error, double unit) {
  if (!bias) return put(out, at, sum, error);
  const double value = sum + bias->values[column];
  const Error moved = error_of(*bias, column);
  put(out, at, value,
      Error::of(error.systematic + moved.systematic,
                error.variance + moved.variance + rounding_variance(unit, value)));
}

// Computes tiles of products; one for each thread.
class Tiles {
 public:
  Tiles(RefTensor& out, const MatrixProducts& of, const ProductPolicy& policy,
        const ProductRepetition& repetition, Panel a, Panel b)
      : out_(out),
        of_(of),
        policy_(policy),
        repetition_(repetition),
        a_(std::move(a)),
        b_(std::move(b)),
        sums_(kRowsOfTile * kColumnsOfTile) {}

  void put_tile(size_t product, size_t first_row, size_t first_column) {
    const size_t end_row = std::min(of_.rows, first_row + kRowsOfTile);
    const size_t end_column = std::min(of_.columns, first_column + kColumnsOfTile);
    const auto at = [&](size_t row, size_t column) {
      return (product * of_.rows + row) * of_.columns + column;
    };
    rows_.clear();
    columns_.clear();
    const auto note = [](std::vector<size_t>& lines, size_t line) {
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    };
    for (size_t row = first_row; row < end_row; ++row) {
      for (size_t column = first_column; column < end_column; ++column) {
        if (!out_.wants(at(row, column))) continue;
        note(rows_, row);
        note(columns_, column);
      }
    }
    if (rows_.empty()) return;
    std::ranges::sort(columns_);
    std::fill_n(sums_.begin(), (end_row - first_row) * kColumnsOfTile, ProductSums());
    const auto sums_of = [&](size_t row, size_t column) -> ProductSums& {
      return sums_[(row - first_row) * kColumnsOfTile + (column - first_column)];
    };
    const size_t a_base = of_.a_bases[product], b_base = of_.b_bases[product];
    const bool has_terms = a_base != MatrixProducts::kNone && b_base != MatrixProducts::kNone;
    for (size_t first = 0; has_terms && first < of_.terms; first += kTermsOfBlock) {
      const size_t count = std::min(kTermsOfBlock, of_.terms - first);
      a_.read(a_base, rows_, first, count);
      b_.read(b_base, columns_, first, count);
      take_samples(first, count, first_row, first_column);
      for (const size_t column : columns_) {
        const FactorBlock y = b_.line(column);
        for (const size_t row : rows_) {
          if (!out_.wants(at(row, column))) continue;
          const FactorBlock x = a_.line(row);
          ProductSums& sums = sums_of(row, column);
          add_block(x, y, count, sums);
          if (!policy_.has_floor()) continue;
          for (size_t r = 0; r < count; ++r) sums.floor += policy_.floor(x.values[r], y.values[r]);
        }
      }
    }
    if (has_terms) set_shares(first_row, first_column);
    for (const size_t row : rows_) {
      for (const size_t column : columns_) {
        if (!out_.wants(at(row, column))) continue;
        const ProductSums& sums = sums_of(row, column);
        const double repetition =
            has_terms ? repetition_of(row - first_row, column - first_column) : 1;
        put_sum(out_, at(row, column), of_.bias, column, sums.sum,
                sums.error(policy_, of_.terms, repetition), policy_.unit);
      }
    }
  }

 private:
  // Copies sampled terms of a block that was read.
  void take_samples(size_t first, size_t count, size_t first_row, size_t first_column) {
    const ProductRepetition::Places places = repetition_.places(first, count);
    const auto take = [&](const FactorBlock& block, LineSample& sample) {
      for (size_t i = 0; i < places.count; ++i) {
        sample.values[places.at + i] = block.values[places.begin[i] - first];
      }
    };
    for (const size_t row : rows_) take(a_.line(row), row_samples_[row - first_row]);
    for (const size_t column : columns_)
      take(b_.line(column), column_samples_[column - first_column]);
  }

  void set_shares(size_t first_row, size_t first_column) {
    bool repeats = false;
    for (const size_t row : rows_) {
      double& share = row_shares_[row - first_row];
      share = repetition_.share_of_row(row_samples_[row - first_row]);
      repeats |= share > 0;
    }
    for (const size_t column : columns_) {
      const size_t at = column - first_column;
      column_shares_[at] = repeats ? repetition_.share_of_column(column_samples_[at]) : 0;
    }
  }

  // By the places of lines in the tile.
  double repetition_of(size_t row, size_t column) const {
    return repetition_.factor(row_samples_[row], row_shares_[row], column_samples_[column],
                              column_shares_[column]);
  }

  RefTensor& out_;
  const MatrixProducts& of_;
  const ProductPolicy& policy_;
  const ProductRepetition& repetition_;
  LineSample row_samples_[kRowsOfTile], column_samples_[kColumnsOfTile];
  double row_shares_[kRowsOfTile] = {}, column_shares_[kColumnsOfTile] = {};
  Panel a_, b_;
  std::vector<ProductSums> sums_;
  std::vector<size_t> rows_, columns_;
};

// Term by term: of integers, and where terms or partial sums are rounded.
void put_one(RefTensor& out, size_t at, const MatrixProducts& of, const ProductPolicy& policy) {
  const size_t product = at / (of.rows * of.columns), cell = at % (of.rows * of.columns);
  const size_t row = cell / of.columns, column = cell % of.columns;
  const size_t a_base = of.a_bases[product], b_base = of.b_bases[product];
  const bool has_terms = a_base != MatrixProducts::kNone && b_base != MatrixProducts::kNone;
  const auto each_term = [&](auto&& add) {
    for (size_t r = 0; has_terms && r < of.terms; ++r) {
      add(a_base + row * of.a_lines.between + r * of.a_lines.along,
          b_base + column * of.b_lines.between + r * of.b_lines.along);
    }
  };
  ProductSum sum(policy);
  if (is_float(out.dtype)) {
    each_term([&](size_t i, size_t j) { sum.add(of.a, i, of.b, j); });
    put_sum(out, at, of.bias, column, sum.value, sum.error(), policy.unit);
  } else {
    each_term([&](size_t i, size_t j) { sum.add_integer(of.a, i, of.b, j); });
    put_integer(out, at, static_cast<int64_t>(sum.bits));
  }
}

}  // namespace

void put_products(RefTensor& out, const MatrixProducts& of, const ProductPolicy& policy) {
  const size_t count = of.a_bases.size(), elements = count * of.rows * of.columns;
  if (elements == 0) return;
  const double operations = static_cast<double>(elements) * static_cast<double>(of.terms);
  const ProductRounding& formats = policy.rounding;
  if (!is_float(out.dtype) || formats.terms != ProductFormat::kExact ||
      formats.sums != ProductFormat::kExact) {
    return in_parallel(out, elements, operations, [&](size_t begin, size_t end) {
      for (size_t at = begin; at < end; ++at) {
        if (out.wants(at)) put_one(out, at, of, policy);
      }
    });
  }
  const size_t down = (of.rows + kRowsOfTile - 1) / kRowsOfTile;
  const size_t across = (of.columns + kColumnsOfTile - 1) / kColumnsOfTile;
  const Panel a(of.a, of.a_lines, kRowsOfTile, is_exact(of.a), formats.first);
  const Panel b(of.b, of.b_lines, kColumnsOfTile, is_exact(of.b), formats.second);
  const ProductRepetition repetition(of.terms);
  in_parallel(out, count * down * across, operations, [&](size_t begin, size_t end) {
    Tiles tiles(out, of, policy, repetition, a, b);
    for (size_t tile = begin; tile < end; ++tile) {
      // Tiles that share columns, the weights, follow each other.
      const size_t product = tile / (down * across), inside = tile % (down * across);
      tiles.put_tile(product, inside % down * kRowsOfTile, inside / down * kColumnsOfTile);
    }
  });
}

}  // namespace tapml::op::reference
