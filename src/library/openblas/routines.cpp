// OpenBLAS: matrix products of f32 and f64.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "base/host/cpu_features.h"
#include "device/cpu/library/adapters.h"
#include "device/cpu/library/product_shape.h"
#include "signatures.h"

namespace tapml::device {

namespace {

// Constants of the CBLAS interface: row-major order, and whether an operand is transposed.
constexpr int kRowMajor = 101, kNormal = 111, kTransposed = 112;

template <class T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                      const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

struct OpenBlas {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  // The library has one number of threads for the whole process.
  std::mutex mutex;
  const char* failure = nullptr;

  OpenBlas() {
    // Without this, the library uses code for an older processor on those newer than itself.
    if (missing_cpu_feature("+avx512f,+avx512bw,+avx512dq,+avx512vl").empty()) {
      setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    }
    // Its threads must not spin next to the device's own.
    setenv("OPENBLAS_THREAD_TIMEOUT", "10", 0);
    void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      failure = "libopenblas.so.0 cannot be loaded; install the Debian package libopenblas0";
      return;
    }
    sgemm = reinterpret_cast<Gemm<float>>(dlsym(handle, "cblas_sgemm"));
    dgemm = reinterpret_cast<Gemm<double>>(dlsym(handle, "cblas_dgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "openblas_set_num_threads"));
    if (!sgemm || !dgemm || !set_threads) {
      failure = "libopenblas.so.0 lacks cblas_sgemm, cblas_dgemm or openblas_set_num_threads";
    }
  }
};

// One for the process, like the library itself.
OpenBlas& openblas() {
  static OpenBlas library;
  return library;
}

void* open_openblas(int32_t, char* message, size_t size) {
  OpenBlas& library = openblas();
  if (!library.failure) return &library;
  say(message, size, "%s", library.failure);
  return nullptr;
}

void close_openblas(void*) {}

template <class T>
int32_t multiply(const tapml_library_call& call, const ProductShape& p, Gemm<T> gemm) {
  const auto* a = static_cast<const T*>(call.inputs[0].data);
  const auto* b = static_cast<const T*>(call.inputs[1].data);
  auto* c = static_cast<T*>(call.outputs[0].data);
  if (p.k == 0) {
    std::fill_n(c, p.batch * p.m * p.n, T(0));
    return 0;
  }
  auto lda = static_cast<int>(p.transpose_a ? p.m : p.k);
  auto ldb = static_cast<int>(p.transpose_b ? p.k : p.n);
  for (int64_t i = 0; i < p.batch; ++i) {
    gemm(kRowMajor, p.transpose_a ? kTransposed : kNormal, p.transpose_b ? kTransposed : kNormal,
         static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), T(1),
         a + p.matrix(0, i) * p.m * p.k, lda, b + p.matrix(1, i) * p.k * p.n, ldb, T(0),
         c + i * p.m * p.n, static_cast<int>(p.n));
  }
  return 0;
}

int32_t openblas_matmul(const tapml_library_call* call) {
  ProductShape p;
  if (!p.read(*call, 2)) {
    return say(call->message, call->message_size, "the shapes are not those of a matrix product");
  }
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (std::max({p.m, p.n, p.k}) > kMost) {
    return say(call->message, call->message_size, "a dimension is above 2^31 - 1");
  }
  if (p.batch == 0 || p.m == 0 || p.n == 0) return 0;
  auto& library = *static_cast<OpenBlas*>(call->state);
  std::lock_guard lock(library.mutex);
  library.set_threads(call->threads);
  return call->outputs[0].dtype.bits == 64 ? multiply<double>(*call, p, library.dgemm)
                                           : multiply<float>(*call, p, library.sgemm);
}

constexpr tapml_routine kOpenBlasRoutines[] = {{"matmul", openblas_matmul, openblas::kMatmul}};
constexpr tapml_library kOpenBlasLibrary = {
    TAPML_LIBRARY_VERSION, 1, "openblas", kOpenBlasRoutines, open_openblas, close_openblas};

}  // namespace

const tapml_library* openblas_library() { return &kOpenBlasLibrary; }

}  // namespace tapml::device
