#include "topdown/replay/case_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "base/rounding.h"
#include "passes/kernel.h"
#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

namespace {

constexpr size_t kKnownRows = 64;  // of a carved pool, from which others are made

// The tensor's elements, repeated to fill another shape.
HostTensor repeated(const HostTensor& tensor, const Shape& shape) {
  HostTensor result = HostTensor::zeros(tensor.dtype(), shape);
  if (tensor.size() == 0) return result;
  const size_t bytes = tensor.byte_size();
  const auto out = result.mutable_bytes();
  for (size_t at = 0; at < out.size(); at += bytes) {
    std::ranges::copy(tensor.bytes().first(std::min(bytes, out.size() - at)), out.begin() + at);
  }
  return result;
}

int64_t integer_at(const HostTensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kI64 ? tensor.values<int64_t>()[static_cast<size_t>(i)]
                                       : static_cast<int64_t>(tensor.at_f64(i));
}

// The first rows, of `width` elements, of which each element is finite and some are not zero.
std::vector<int64_t> known_rows(const HostTensor& pool, int64_t width) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < pool.size() / width && rows.size() < kKnownRows; ++row) {
    bool finite = true, any = false;
    for (int64_t i = row * width; finite && i < (row + 1) * width; ++i) {
      finite = std::isfinite(pool.at_f64(i));
      any = any || pool.at_f64(i) != 0;
    }
    if (finite && any) rows.push_back(row);
  }
  return rows;
}

}  // namespace

// The shapes of a call's tensors, and the values of the specification's symbolic variables.
struct CaseInputs::Sizes {
  std::vector<int64_t> scalars;
  std::vector<Shape> shapes;
  arith::Values symbols;
  int64_t texts = 0, new_tokens = 0, page_size = 0;
  int64_t pages = 0;     // of each text; 0: there is no page table
  int64_t capacity = 0;  // tokens of a text
};

CaseInputs::CaseInputs(Suite& suite, const Module& module, int32_t kernel, CachePlan plan)
    : suite_(suite),
      kernel_(suite.kernels[static_cast<size_t>(kernel)]),
      program_(passes::kernel_implementation(module, kernel_.name)),
      integers_(integers_of(passes::kernel_spec(module, kernel_.name), kernel_)),
      plan_(plan) {}

std::optional<size_t> CaseInputs::scalar_of(const PrimExpr& dim) const {
  const auto found = std::ranges::find_if(
      program_.scalars, [&](const Var& scalar) { return scalar.get() == dim.get(); });
  if (found == program_.scalars.end()) return std::nullopt;
  return static_cast<size_t>(found - program_.scalars.begin());
}

bool CaseInputs::is_cache_size(size_t scalar) const {
  const CacheInputs& cache = integers_.cache;
  const auto is_dim = [&](size_t param, size_t dim) {
    return scalar_of(program_.params[param].buffer->shape.at(dim)) == scalar;
  };
  return (cache.page_table && is_dim(*cache.page_table, 1)) ||
         std::ranges::any_of(cache.pools, [&](size_t pool) { return is_dim(pool, 0); });
}

std::optional<size_t> CaseInputs::new_tokens() const {
  if (!has_cache() || !integers_.cache.new_tokens.is_var()) return std::nullopt;
  for (size_t i = 0; i < integers_.variables.size(); ++i) {
    if (!integers_.variables[i]) continue;
    const auto* tensor = relax::as_tensor(integers_.variables[i]->annotation);
    if (!tensor || !tensor->shape) continue;
    for (size_t d = 0; d < tensor->shape->size(); ++d) {
      if ((*tensor->shape)[d].get() == integers_.cache.new_tokens.get()) {
        return scalar_of(program_.params[i].buffer->shape.at(d));
      }
    }
  }
  return std::nullopt;
}

std::optional<CaseInputs::Sizes> CaseInputs::sizes_of(const std::vector<int64_t>& scalars) const {
  Sizes sizes;
  sizes.scalars = scalars;
  const arith::Values values = scalar_values(program_, scalars);
  for (size_t i = 0; i < program_.params.size(); ++i) {
    const tir::Param& param = program_.params[i];
    std::optional<Shape> shape = parameter_shape(param, values);
    if (!shape || std::ranges::find(*shape, 0) != shape->end()) return std::nullopt;
    const relax::Variable& variable = integers_.variables[i];
    const auto* tensor = variable ? relax::as_tensor(variable->annotation) : nullptr;
    for (size_t d = 0; tensor && tensor->shape && d < tensor->shape->size(); ++d) {
      const PrimExpr& dim = (*tensor->shape)[d];
      if (dim.is_var()) sizes.symbols[dim.get()] = shape->at(d);
    }
    sizes.shapes.push_back(*std::move(shape));
  }
  if (!has_cache()) return sizes;
  const CacheInputs& cache = integers_.cache;
  const auto tokens = arith::evaluate(cache.new_tokens, sizes.symbols);
  if (!tokens) return std::nullopt;
  sizes.texts = sizes.shapes[*cache.lengths][0];
  sizes.new_tokens = *tokens;
  sizes.page_size = plan_.page_size;
  sizes.capacity = plan_.context;
  if (!cache.page_table) return sizes;
  if (cache.pools.empty()) return std::nullopt;
  sizes.page_size = sizes.shapes[*cache.pools.begin()][1];
  int64_t pages = std::numeric_limits<int64_t>::max();
  for (const size_t pool : cache.pools) {
    if (sizes.shapes[pool][1] != sizes.page_size) return std::nullopt;
    pages = std::min(pages, sizes.shapes[pool][0]);
  }
  sizes.pages = std::min(sizes.shapes[*cache.page_table][1], pages / sizes.texts);
  sizes.capacity = sizes.pages * sizes.page_size;
  return sizes;
}

// The sizes of a call whose page tables have room for two pages and the new tokens, and whose pools
// have one page more than all of them.
std::optional<CaseInputs::Sizes> CaseInputs::with_room(std::vector<int64_t> scalars) const {
  std::optional<Sizes> sizes = sizes_of(scalars);
  const CacheInputs& cache = integers_.cache;
  if (!sizes || !has_cache() || !cache.page_table) return sizes;
  const auto set = [&](const PrimExpr& dim, int64_t value) {
    if (const auto scalar = scalar_of(dim)) scalars[*scalar] = value;
  };
  set(program_.params[*cache.page_table].buffer->shape[1],
      2 + ceil_div(sizes->new_tokens, sizes->page_size));
  sizes = sizes_of(scalars);
  if (!sizes) return sizes;
  const int64_t columns = sizes->shapes[*cache.page_table][1];
  for (const size_t pool : cache.pools) {
    set(program_.params[pool].buffer->shape[0], sizes->texts * columns + 1);
  }
  return sizes_of(scalars);
}

// Tokens in the cache before a call, at which a kernel may be wrong alone.
std::vector<int64_t> CaseInputs::lengths_for(const Sizes& sizes) const {
  const int64_t page = sizes.page_size, tokens = sizes.new_tokens;
  std::vector<int64_t> lengths = {0};
  if (page > 0) {
    // The last slot of a page, the first of the next, and new tokens that end with their page.
    for (const int64_t length : {page - 1, page, ceil_div(tokens, page) * page - tokens}) {
      lengths.push_back(length);
    }
  }
  const int64_t longest = sizes.capacity - tokens;
  if (sizes.capacity > 0) lengths.push_back(longest);
  std::erase_if(lengths, [&](int64_t length) {
    return length < 0 || (sizes.capacity > 0 && length > longest);
  });
  std::ranges::sort(lengths);
  const auto repeats = std::ranges::unique(lengths);
  lengths.erase(repeats.begin(), repeats.end());
  return lengths;
}

std::string CaseInputs::keep(HostTensor tensor) {
  std::string hash = content_hash(tensor);
  suite_.tensors.emplace(hash, std::move(tensor));
  return hash;
}

// A pool whose rows before each of `lengths` are rows of `known`, and all others NaN.
HostTensor CaseInputs::pool(const HostTensor& known, const Shape& shape, const HostTensor& table,
                            const std::vector<int64_t>& lengths) const {
  HostTensor made = HostTensor::zeros(known.dtype(), shape);
  for (int64_t i = 0; i < made.size(); ++i) {
    made.set_f64(i, std::numeric_limits<double>::quiet_NaN());
  }
  const int64_t page_size = shape[1];
  const int64_t width = made.size() / (shape[0] * page_size);
  const std::vector<int64_t> rows = known_rows(known, width);
  RandomStream random(0, "rows of " + kernel_.name);
  const int64_t columns = table.shape()[1];
  int64_t taken = 0;
  for (size_t text = 0; text < lengths.size(); ++text) {
    for (int64_t position = 0; position < lengths[text]; ++position, ++taken) {
      const int64_t page =
          integer_at(table, static_cast<int64_t>(text) * columns + position / page_size);
      const int64_t to = (page * page_size + position % page_size) * width;
      for (int64_t i = 0; i < width; ++i) {
        const double value =
            rows.empty() ? 2 * random.unit() - 1
                         : known.at_f64(rows[static_cast<size_t>(taken) % rows.size()] * width + i);
        made.set_f64(to + i, value);
      }
    }
  }
  return made;
}

// Gives the call a cache: text i has the length `first` + i of lengths_for(), in turns.
bool CaseInputs::set_cache(SuiteCall& call, const SuiteCall& base, const Sizes& sizes,
                           size_t first) {
  const CacheInputs& cache = integers_.cache;
  const std::vector<int64_t> choices = lengths_for(sizes);
  if (choices.empty()) return false;
  HostTensor lengths = HostTensor::zeros(DType::kI32, sizes.shapes[*cache.lengths]);
  std::vector<int64_t> chosen;
  for (int64_t text = 0; text < sizes.texts; ++text) {
    chosen.push_back(choices[(first + static_cast<size_t>(text)) % choices.size()]);
    lengths.mutable_values<int32_t>()[static_cast<size_t>(text)] =
        static_cast<int32_t>(chosen.back());
  }
  call.before[*cache.lengths] = keep(std::move(lengths));
  if (!cache.page_table) return true;
  const Shape& shape = sizes.shapes[*cache.page_table];
  HostTensor table = HostTensor::zeros(DType::kI32, shape);
  int64_t pages = std::numeric_limits<int64_t>::max();
  for (const size_t pool : cache.pools) pages = std::min(pages, sizes.shapes[pool][0]);
  for (int64_t text = 0; text < sizes.texts; ++text) {
    // Entries behind the used ones name page 0, which is NaN if the pools have a page to spare.
    const int64_t used =
        ceil_div(chosen[static_cast<size_t>(text)] + sizes.new_tokens, sizes.page_size);
    for (int64_t column = 0; column < used; ++column) {
      table.mutable_values<int32_t>()[static_cast<size_t>(text * shape[1] + column)] =
          static_cast<int32_t>(pages - 1 - (text * sizes.pages + column));
    }
  }
  for (const size_t param : cache.pools) {
    // A kernel that does not append them itself is called after another has.
    const bool appends = kernel_.modes[param] == AccessMode::kInOut;
    std::vector<int64_t> filled = chosen;
    for (int64_t& length : filled) length += appends ? 0 : sizes.new_tokens;
    call.before[param] =
        keep(pool(suite_.tensors.at(base.before[param]), sizes.shapes[param], table, filled));
    if (appends) call.after[param] = call.before[param];
  }
  call.before[*cache.page_table] = keep(std::move(table));
  return true;
}

std::optional<int64_t> CaseInputs::extent(const Dims& dims, size_t at, const Sizes& sizes) const {
  return arith::evaluate(dims.at(at), sizes.symbols);
}

// Indices of a shape that repeat the known ones where these are inside. With `ends`, element i is
// the first, the last or a known one, in turns from `ends` on; elements that are written are
// mirrored, so that they stay distinct.
std::optional<HostTensor> CaseInputs::indices(const HostTensor& known, const Shape& shape,
                                              const IntegerInput& input, const Sizes& sizes,
                                              std::optional<size_t> ends) const {
  const size_t count = input.extents.front().size();
  if (count == 0 || known.size() == 0) return std::nullopt;
  std::vector<int64_t> extents(count, std::numeric_limits<int64_t>::max());
  for (const Dims& dims : input.extents) {
    for (size_t d = 0; d < count; ++d) {
      const auto value = extent(dims, d, sizes);
      if (!value || *value <= 0) return std::nullopt;
      extents[d] = std::min(extents[d], *value);
    }
  }
  if (input.role == IntegerRole::kPlaces && shape != known.shape()) return std::nullopt;
  HostTensor made = HostTensor::zeros(known.dtype(), shape);
  for (int64_t i = 0; i < made.size(); ++i) {
    const int64_t size = extents[static_cast<size_t>(i) % count];
    int64_t value = integer_at(known, i % known.size());
    // A model may mark elements by indices outside, which its kernels must keep.
    const bool inside = value >= -size && value < size;
    if (input.role == IntegerRole::kPlaces) {
      if (!inside) return std::nullopt;
      if (ends) value = value < 0 ? -1 - size - value : size - 1 - value;
    } else {
      if (!inside) value = ((value % size) + size) % size;
      const size_t turn = ends ? (*ends + static_cast<size_t>(i) / count) % 3 : 2;
      if (turn != 2) value = turn == 0 ? 0 : size - 1;
    }
    made.set_f64(i, static_cast<double>(value));
  }
  return made;
}

std::optional<SuiteCall> CaseInputs::resized(const SuiteCall& base, std::vector<int64_t> scalars) {
  const bool unknown = std::ranges::any_of(integers_.inputs, [](const IntegerInput& input) {
    return input.role == IntegerRole::kUnknown;
  });
  if (unknown || (integers_.cache.lengths && !integers_.cache.known)) return std::nullopt;
  const std::optional<Sizes> sizes = with_room(std::move(scalars));
  if (!sizes) return std::nullopt;
  SuiteCall call = base;
  call.scalars = sizes->scalars;
  for (size_t i = 0; i < kernel_.modes.size(); ++i) {
    const bool fresh = kernel_.modes[i] == AccessMode::kOut;
    const HostTensor& old = suite_.tensors.at(fresh ? base.after[i] : base.before[i]);
    const Shape& shape = sizes->shapes[i];
    const auto bytes = checked_byte_count(old.dtype(), shape);
    const bool is_index = integers_.inputs[i].role == IntegerRole::kIndices ||
                          integers_.inputs[i].role == IntegerRole::kPlaces;
    if (shape == old.shape() && !is_index) continue;
    if (!bytes || *bytes > kLargestCase) return std::nullopt;
    if (integers_.cache.pools.contains(i)) continue;
    if (!is_index) {
      (fresh ? call.after[i] : call.before[i]) = keep(repeated(old, shape));
      continue;
    }
    auto made = indices(old, shape, integers_.inputs[i], *sizes, {});
    if (!made) return std::nullopt;
    call.before[i] = keep(*std::move(made));
  }
  if (has_cache() && !set_cache(call, base, *sizes, 0)) return std::nullopt;
  return call;
}

std::vector<MadeCase> CaseInputs::index_cases(const SuiteCall& base) {
  std::vector<MadeCase> cases;
  const auto sizes = sizes_of(base.scalars);
  if (!sizes) return cases;
  for (size_t i = 0; i < integers_.inputs.size(); ++i) {
    const IntegerInput& input = integers_.inputs[i];
    const bool places = input.role == IntegerRole::kPlaces;
    if (!places && input.role != IntegerRole::kIndices) continue;
    const HostTensor& known = suite_.tensors.at(base.before[i]);
    if (known.size() == 0 || static_cast<int64_t>(known.byte_size()) > kLargestCase) continue;
    // With two elements at least, each call has both ends, in another place.
    for (size_t ends = 0; ends < (places ? size_t{1} : size_t{2}); ++ends) {
      auto made = indices(known, known.shape(), input, *sizes, ends);
      if (!made) break;
      SuiteCall call = base;
      call.before[i] = keep(*std::move(made));
      if (call.before[i] == base.before[i]) continue;
      cases.emplace_back(std::move(call), "ends of what " + kernel_.params[i] + " indexes");
    }
  }
  return cases;
}

std::vector<MadeCase> CaseInputs::cache_cases(const SuiteCall& base) {
  std::vector<MadeCase> cases;
  if (!has_cache()) return cases;
  const auto sizes = with_room(base.scalars);
  if (!sizes) return cases;
  for (size_t i = 0; i < kernel_.modes.size(); ++i) {
    if (kernel_.modes[i] == AccessMode::kOut) continue;
    const HostTensor& old = suite_.tensors.at(base.before[i]);
    const auto bytes = checked_byte_count(old.dtype(), sizes->shapes[i]);
    const IntegerRole role = integers_.inputs[i].role;
    const bool made = integers_.cache.pools.contains(i) || role == IntegerRole::kPageTable;
    if (made ? !bytes || *bytes > kLargestCase : sizes->shapes[i] != old.shape()) return cases;
  }
  const std::vector<int64_t> choices = lengths_for(*sizes);
  const auto step = static_cast<size_t>(std::max<int64_t>(sizes->texts, 1));
  for (size_t first = 0; first < choices.size(); first += step) {
    SuiteCall call = base;
    call.scalars = sizes->scalars;
    if (!set_cache(call, base, *sizes, first)) break;
    cases.emplace_back(std::move(call), "lengths from " + std::to_string(choices[first]));
  }
  return cases;
}

}  // namespace tapml::topdown
