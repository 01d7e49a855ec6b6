// Legal inputs for added calls of a kernel: other sizes, integers at the ends of what they may be,
// and the contents of a cache before the call.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "arith/evaluate.h"
#include "tir/prim_func.h"
#include "topdown/replay/integer_roles.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

inline constexpr int64_t kLargestCase = int64_t{4} << 20;  // bytes of a made tensor

// What a kernel alone does not say of the model it belongs to; 0: unknown.
struct CachePlan {
  int64_t page_size = 0, context = 0;  // tokens
};

// A call whose inputs are in the suite, and what is special in it.
using MadeCase = std::pair<SuiteCall, std::string>;

class CaseInputs {
 public:
  // `module` has the suite's kernels.
  CaseInputs(Suite& suite, const Module& module, int32_t kernel, CachePlan plan);

  // The call with other values of the program's scalars. Floats repeat the call's, indices too, as
  // far as they fit; a cache has texts of several lengths. Nothing if an integer has an unknown
  // meaning, or a tensor would have no elements or too many.
  std::optional<SuiteCall> resized(const SuiteCall& base, std::vector<int64_t> scalars);
  // The scalars whose values others determine: the sizes of a cache.
  bool is_cache_size(size_t scalar) const;
  // The number of new tokens of each text; nothing for a kernel without a cache.
  std::optional<size_t> new_tokens() const;

  // Calls in which indices are at both ends of what they index.
  std::vector<MadeCase> index_cases(const SuiteCall& base);
  // Calls with texts that begin, end before, at and after the border of a page, and fill their page
  // table, whose pages are in descending order. Rows that a call does not read are NaN.
  std::vector<MadeCase> cache_cases(const SuiteCall& base);

 private:
  struct Sizes;
  bool has_cache() const { return integers_.cache.known && integers_.cache.lengths.has_value(); }
  std::optional<size_t> scalar_of(const PrimExpr& dim) const;
  std::optional<Sizes> sizes_of(const std::vector<int64_t>& scalars) const;
  std::optional<Sizes> with_room(std::vector<int64_t> scalars) const;
  std::vector<int64_t> lengths_for(const Sizes& sizes) const;
  bool set_cache(SuiteCall& call, const SuiteCall& base, const Sizes& sizes, size_t first);
  HostTensor pool(const HostTensor& known, const Shape& shape, const HostTensor& table,
                  const std::vector<int64_t>& lengths) const;
  std::optional<int64_t> extent(const Dims& dims, size_t at, const Sizes& sizes) const;
  std::optional<HostTensor> indices(const HostTensor& known, const Shape& shape,
                                    const IntegerInput& input, const Sizes& sizes,
                                    std::optional<size_t> ends) const;
  std::string keep(HostTensor tensor);

  Suite& suite_;
  const SuiteKernel& kernel_;
  const tir::PrimFunc& program_;
  KernelIntegers integers_;
  CachePlan plan_;
};

}  // namespace tapml::topdown
