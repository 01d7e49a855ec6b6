// Results of library routines against the reference: dynamic, static and empty sizes, and sizes
// around tiles.
#include "library_program.h"

namespace tapml {
namespace {

using testing::compile_text;
using testing::expect_matches_reference;
using testing::provider_of;
using testing::random_tensor;

struct Routine {
  const char* name;
  const char* provider;
  const char* kernel;  // prefix of its name
  const char* text;
  DType dtype;
  std::vector<std::vector<Shape>> shapes;  // of the arguments, for several calls
};

void PrintTo(const Routine& routine, std::ostream* out) { *out << routine.name; }

class LibraryRoutine : public ::testing::TestWithParam<Routine> {};

TEST_P(LibraryRoutine, AgreesWithTheReference) {
  const Routine& routine = GetParam();
  std::string library = std::string(routine.provider).substr(8);
  auto executable = compile_text(routine.text, "cpu:libs=" + library.substr(0, library.find('.')));
  EXPECT_EQ(provider_of(*executable, routine.kernel), routine.provider);
  auto session = testing::cpu_session();
  for (const auto& shapes : routine.shapes) {
    std::vector<HostTensor> arguments;
    for (const Shape& shape : shapes) {
      arguments.push_back(random_tensor(routine.dtype, shape, arguments.size() + 1));
    }
    SCOPED_TRACE(shape_to_string(shapes[0]));
    expect_matches_reference(*session, executable, routine.text, arguments);
  }
}

#define TEXT_OF_MATMUL(type)                                                                   \
  "def main(a: Tensor((m, k), " type "), b: Tensor((k, n), " type ")) -> Tensor((m, n), " type \
  ") {\n  dataflow {\n    y: Tensor((m, n), " type                                             \
  ") = matmul(a, b)\n    output y\n  }\n  return y\n}\n"

const char* const kBatched = R"(
def main(a: Tensor((2, h, 8, m), f32), b: Tensor((h, n, 8), f32)) -> Tensor((2, h, m, n), f32) {
  dataflow {
    y: Tensor((2, h, m, n), f32) = matmul(a, b) {transpose_a: true, transpose_b: true}
    output y
  }
  return y
}
)";

const char* const kFolded = R"(
def main(a: Tensor((b, t, 24), f32), w: Tensor((33, 24), f32)) -> Tensor((b, t, 33), f32) {
  dataflow {
    y: Tensor((b, t, 33), f32) = matmul(a, w) {transpose_b: true}
    output y
  }
  return y
}
)";

const char* const kBiasGelu = R"(
def main(a: Tensor((b, t, 24), f32), w: Tensor((24, 17), f32), c: Tensor((17,), f32)) -> Tensor((b, t, 17), f32) {
  dataflow {
    p: Tensor((b, t, 17), f32) = matmul(a, w)
    s: Tensor((b, t, 17), f32) = add(p, c)
    y: Tensor((b, t, 17), f32) = relu(s)
    output y
  }
  return y
}
)";

const char* const kLinearSilu = R"(
def main(a: Tensor((m, 24), f32), w: Tensor((17, 24), f32), c: Tensor((17,), f32)) -> Tensor((m, 17), f32) {
  dataflow {
    p: Tensor((m, 17), f32) = linear(a, w, c)
    y: Tensor((m, 17), f32) = silu(p)
    output y
  }
  return y
}
)";

const char* const kSoftmax = R"(
def main(x: Tensor((m, n), f32)) -> Tensor((m, n), f32) {
  dataflow {
    y: Tensor((m, n), f32) = softmax(x) {axis: -1}
    output y
  }
  return y
}
)";

const char* const kSoftmaxInner = R"(
def main(x: Tensor((2, n, 5), f32)) -> Tensor((2, n, 5), f32) {
  dataflow {
    y: Tensor((2, n, 5), f32) = softmax(x) {axis: 1}
    output y
  }
  return y
}
)";

const char* const kLayerNorm = R"(
def main(x: Tensor((b, t, h), f32), w: Tensor((h,), f32), c: Tensor((h,), f32)) -> Tensor((b, t, h), f32) {
  dataflow {
    y: Tensor((b, t, h), f32) = layer_norm(x, w, c) {epsilon: 1e-05}
    output y
  }
  return y
}
)";

const char* const kConvolution = R"(
def main(x: Tensor((b, 8, h, w), f32), f: Tensor((12, 4, 3, 3), f32)) -> Tensor((b, 12, (h + 3 - 5) // 2 + 1, w - 2), f32) {
  dataflow {
    y: Tensor((b, 12, (h + 3 - 5) // 2 + 1, w - 2), f32) = conv2d(x, f) {strides: [2, 1], padding: [1, 0, 2, 0], dilation: [2, 1], groups: 2}
    output y
  }
  return y
}
)";

const char* const kConvolution1d = R"(
def main(x: Tensor((2, 3, 40), f32), f: Tensor((16, 3, 5), f32)) -> Tensor((2, 16, 36), f32) {
  dataflow {
    y: Tensor((2, 16, 36), f32) = conv1d(x, f)
    output y
  }
  return y
}
)";

const std::vector<std::vector<Shape>> kProducts = {
    {{1, 1}, {1, 1}},     {{0, 4}, {4, 3}},     {{3, 0}, {0, 2}},      {{2, 3}, {3, 0}},
    {{15, 16}, {16, 17}}, {{64, 63}, {63, 65}}, {{1, 300}, {300, 40}}, {{129, 7}, {7, 1}}};

const Routine kRoutines[] = {
    {"openblas_f32", "library:openblas.matmul", "matmul", TEXT_OF_MATMUL("f32"), DType::kF32,
     kProducts},
    {"openblas_f64", "library:openblas.matmul", "matmul", TEXT_OF_MATMUL("f64"), DType::kF64,
     kProducts},
    {"openblas_batched",
     "library:openblas.matmul",
     "matmul",
     kBatched,
     DType::kF32,
     {{{2, 3, 8, 5}, {3, 7, 8}}, {{2, 1, 8, 17}, {1, 16, 8}}, {{2, 0, 8, 4}, {0, 4, 8}}}},
    {"openblas_folded",
     "library:openblas.matmul",
     "matmul",
     kFolded,
     DType::kF32,
     {{{2, 5, 24}, {33, 24}}, {{1, 1, 24}, {33, 24}}, {{3, 0, 24}, {33, 24}}}},
    {"onednn_batched",
     "library:onednn.matmul",
     "matmul",
     kBatched,
     DType::kF32,
     {{{2, 3, 8, 5}, {3, 7, 8}}, {{2, 1, 8, 17}, {1, 16, 8}}}},
    {"onednn_folded",
     "library:onednn.matmul",
     "matmul",
     kFolded,
     DType::kF32,
     {{{2, 5, 24}, {33, 24}}, {{1, 1, 24}, {33, 24}}, {{3, 0, 24}, {33, 24}}}},
    {"onednn_bias_relu",
     "library:onednn.matmul",
     "matmul_add_relu",
     kBiasGelu,
     DType::kF32,
     {{{2, 5, 24}, {24, 17}, {17}}, {{1, 1, 24}, {24, 17}, {17}}}},
    {"onednn_linear_silu",
     "library:onednn.matmul",
     "linear_silu",
     kLinearSilu,
     DType::kF32,
     {{{9, 24}, {17, 24}, {17}}, {{1, 24}, {17, 24}, {17}}, {{0, 24}, {17, 24}, {17}}}},
    {"onednn_softmax",
     "library:onednn.softmax",
     "softmax",
     kSoftmax,
     DType::kF32,
     {{{3, 7}}, {{1, 1}}, {{0, 4}}, {{17, 129}}, {{2, 1000}}}},
    {"onednn_softmax_inner",
     "library:onednn.softmax",
     "softmax",
     kSoftmaxInner,
     DType::kF32,
     {{{2, 3, 5}}, {{2, 64, 5}}}},
    {"onednn_layer_norm",
     "library:onednn.layer_norm",
     "layer_norm",
     kLayerNorm,
     DType::kF32,
     {{{2, 3, 16}, {16}, {16}}, {{1, 1, 257}, {257}, {257}}, {{0, 3, 8}, {8}, {8}}}},
    {"onednn_convolution",
     "library:onednn.convolution",
     "conv2d",
     kConvolution,
     DType::kF32,
     {{{2, 8, 9, 11}, {12, 4, 3, 3}},
      {{1, 8, 32, 3}, {12, 4, 3, 3}},
      {{0, 8, 9, 9}, {12, 4, 3, 3}}}},
    {"onednn_convolution_1d",
     "library:onednn.convolution",
     "conv1d",
     kConvolution1d,
     DType::kF32,
     {{{2, 3, 40}, {16, 3, 5}}}},
};

INSTANTIATE_TEST_SUITE_P(All, LibraryRoutine, ::testing::ValuesIn(kRoutines),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml
