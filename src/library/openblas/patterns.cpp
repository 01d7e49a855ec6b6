// OpenBLAS: cblas_sgemm and cblas_dgemm, one call for each matrix of a batch.
#include "library/library.h"
#include "library/product.h"
#include "signatures.h"

namespace tapml::library {

namespace {

std::optional<std::vector<int64_t>> product(const Matched& kernel) {
  if (!all_of_dtype(kernel, DType::kF32) && !all_of_dtype(kernel, DType::kF64)) return {};
  return product_parameters(kernel);
}

const Pattern kOpenBlasPatterns[] = {
    {"matmul", [] { return one_call("matmul", 2); }, product, never},
};

constexpr Routine kOpenBlasRoutines[] = {{"matmul", openblas::kMatmul}};

}  // namespace

std::span<const Pattern> openblas_patterns() { return kOpenBlasPatterns; }
std::span<const Routine> openblas_signatures() { return kOpenBlasRoutines; }

}  // namespace tapml::library
