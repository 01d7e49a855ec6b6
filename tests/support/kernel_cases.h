// The kernels that both platforms must support: every operator, and fused programs.
#pragma once

#include "support/dtypes.h"
#include "support/kernel_program.h"

namespace tapml::testing {
namespace cases {

using Ints = std::vector<int64_t>;
using Kernels = std::vector<KernelProgram>;

// All values of `symbol`, with the others fixed.
inline std::vector<Sizes> each(const std::string& symbol, const Ints& extents, Sizes others = {}) {
  std::vector<Sizes> result;
  for (int64_t extent : extents) {
    others[symbol] = extent;
    result.push_back(others);
  }
  return result;
}

inline const Ints kAroundTile = {0, 1, 3, 4, 5, 8, 16, 17};
// Pieces of the last axis have 1024 elements.
inline const Ints kAroundPiece = {0, 1, 4, 17, 1023, 1024, 1025, 2049};

inline void unary(Kernels& out) {
  for (const char* name :
       {"negative", "exp", "sigmoid", "silu", "tanh", "sin", "cos", "sqrt", "rsqrt"}) {
    bool root = std::string(name).find("sqrt") != std::string::npos;
    Fill fill = root ? uniform(0.001, 50) : uniform(-20, 20);
    auto add = [&](Dims shape, DType dtype, std::vector<Sizes> sizes) {
      KernelMaker m(std::string(name) + "_" + dtype_name(dtype));
      m.op(name, {m.param(std::move(shape), dtype, fill)});
      out.push_back(m.single(std::move(sizes)));
    };
    Var n = make_var("n");
    add({n}, kF32, each("n", kAroundPiece));
    add({n, 17}, kBF16, each("n", {0, 1, 5}));
    add({3, n, 2}, kF16, each("n", {1, 17}));
  }
  for (int64_t extent : {0, 1, 1023, 1024, 1025}) {
    KernelMaker m("silu_static_" + std::to_string(extent));
    m.op("silu", {m.param({2, extent}, kF32)});
    out.push_back(m.single({{}}));
  }
  KernelMaker m("exp_scalar");
  m.op("exp", {m.param({}, kF32)});
  out.push_back(m.single({{}}));
}

inline void casts(Kernels& out) {
  for (DType to : {kF32, kF16, kBF16, kI32, DType::kI64, DType::kBool}) {
    for (DType from : {kF32, kF16, kBF16, kI32, DType::kI64, DType::kBool}) {
      if (from == to) continue;
      KernelMaker m(std::string("cast_") + dtype_name(from) + "_" + dtype_name(to));
      m.op("cast", {m.param({make_var("n")}, from, uniform(-70, 70))}, {{"dtype", to}});
      out.push_back(m.single(each("n", {1, 65})));
    }
  }
}

inline void binary(Kernels& out) {
  for (const char* name : {"add", "subtract", "multiply", "divide", "maximum", "minimum", "greater",
                           "less", "equal"}) {
    Var n = make_var("n"), k = make_var("k");
    auto add = [&](const char* label, Dims a, DType a_dtype, Dims b, DType b_dtype,
                   std::vector<Sizes> sizes) {
      KernelMaker m(std::string(name) + "_" + label);
      relax::Variable x = m.param(std::move(a), a_dtype, uniform(-3, 3));
      m.op(name, {x, m.param(std::move(b), b_dtype, uniform(0.5, 3))});
      out.push_back(m.single(std::move(sizes)));
    };
    std::vector<Sizes> sizes = each("n", {0, 1, 5}, {{"k", 17}});
    for (const Sizes& more : each("k", kAroundPiece, {{"n", 2}})) sizes.push_back(more);
    add("f32_rows", {n, k}, kF32, {k}, kF32, sizes);
    add("outer", {n, 1}, kF32, {1, k}, kF32, {{{"n", 4}, {"k", 5}}, {{"n", 17}, {"k", 1}}});
    add("narrow", {n}, kF16, {n}, kBF16, each("n", {1, 17}));
    if (std::string(name) != "divide") {
      add("i32", {n, 9}, kI32, {n, 1}, kI32, each("n", {1, 4}));
    }
  }
  for (DType dtype : {kF32, kBF16, kI32}) {
    KernelMaker m(std::string("where_") + dtype_name(dtype));
    Var n = make_var("n");
    relax::Variable condition = m.param({n, 1}, DType::kBool, uniform(0, 2));
    relax::Variable a = m.param({4}, dtype, uniform(-9, 9));
    m.op("where", {condition, a, m.param({2, n, 4}, dtype, uniform(-9, 9))});
    out.push_back(m.single(each("n", {0, 1, 5})));
  }
}

inline void matmul(Kernels& out) {
  Var n = make_var("n"), m = make_var("m"), k = make_var("k");
  std::vector<Sizes> all = each("n", kAroundTile, {{"m", 6}, {"k", 9}});
  for (const Sizes& more : each("m", kAroundTile, {{"n", 5}, {"k", 17}})) all.push_back(more);
  for (const Sizes& more : each("k", {0, 1, 15, 16, 17, 65}, {{"n", 5}, {"m", 7}})) {
    all.push_back(more);
  }
  auto add = [&](const std::string& label, Dims a, DType a_dtype, Dims b, DType b_dtype,
                 AttrMap attrs, std::vector<Sizes> sizes) {
    KernelMaker maker("matmul_" + label);
    relax::Variable x = maker.param(std::move(a), a_dtype);
    maker.op("matmul", {x, maker.param(std::move(b), b_dtype)}, std::move(attrs));
    out.push_back(maker.single(std::move(sizes)));
  };
  AttrMap transposed = {{"transpose_b", true}};
  add("rows_columns", {n, k}, kF32, {m, k}, kF32, transposed, all);
  add("untransposed", {n, k}, kF32, {k, m}, kF32, {}, all);
  for (int64_t columns : {1, 3, 4, 5, 8, 17}) {
    add("columns_" + std::to_string(columns), {1, n, 40}, kF32, {columns, 40}, kBF16, transposed,
        each("n", kAroundTile));
  }
  for (int64_t rows : {1, 3, 4, 5}) {
    add("rows_" + std::to_string(rows), {rows, 33}, kF32, {m, 33}, kF16, transposed,
        each("m", kAroundTile));
  }
  add("batched", {2, n, k}, kF32, {2, m, k}, kF32, transposed, {{{"n", 5}, {"m", 6}, {"k", 7}}});
  add("broadcast", {2, 1, n, 4}, kF32, {3, 4, m}, kF32, {}, {{{"n", 5}, {"m", 6}}});
  add("narrow", {n, k}, kF16, {m, k}, kBF16, transposed, {{{"n", 5}, {"m", 6}, {"k", 33}}});
  for (DType dtype : {kF32, kBF16, kF16}) {
    AttrMap attrs = {{"transpose_b", true}, {"out_dtype", dtype}};
    add(std::string("to_") + dtype_name(dtype), {n, k}, kBF16, {m, k}, kBF16, attrs,
        {{{"n", 5}, {"m", 9}, {"k", 20}}});
  }
}

inline void reductions(Kernels& out) {
  Var n = make_var("n"), k = make_var("k");
  for (const char* name : {"sum", "mean", "max"}) {
    auto add = [&](const char* label, Dims shape, DType dtype, Ints axes,
                   std::vector<Sizes> sizes) {
      KernelMaker m(std::string(name) + "_" + label);
      m.op(name, {m.param(std::move(shape), dtype, uniform(-4, 4))},
           {{"axes", std::move(axes)}, {"keepdims", true}});
      out.push_back(m.single(std::move(sizes)));
    };
    // For empty input, only sum and max are defined.
    bool empty = std::string(name) != "mean";
    Ints along = {1, 3, 4, 5, 16, 17, 1025};
    if (empty) along.push_back(0);
    std::vector<Sizes> sizes = each("k", along, {{"n", 3}});
    sizes.push_back({{"n", 0}, {"k", 5}});
    add("last", {n, k}, kF32, {1}, sizes);
    add("first", {k, n}, kBF16, {0}, each("k", {1, 17}, {{"n", 5}}));
    add("lanes", {k, 16}, kF32, {0}, each("k", {1, 17}));
    add("outside", {k, n, 6}, kF16, {0, 2}, each("k", {1, 17}, {{"n", 5}}));
    add("all", {k, 3}, kF32, {}, each("k", {1, 17}));
  }
  for (const char* name : {"sum", "max"}) {
    KernelMaker m(std::string(name) + "_i32");
    m.op(name, {m.param({n, 5}, kI32, uniform(-9, 9))}, {{"axes", Ints{1}}});
    out.push_back(m.single(each("n", {0, 1, 4})));
  }
  for (int64_t axis : {0, 1}) {
    KernelMaker m("argmax_" + std::to_string(axis));
    // Few distinct values, for ties.
    Fill fill = [](HostTensor& tensor, const Sizes&) {
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, (i * 7) % 5 - 9);
    };
    m.op("argmax", {m.param({n, k}, axis ? kF32 : kBF16, fill)}, {{"axis", axis}});
    out.push_back(m.single(each("k", {1, 4, 17, 1025}, {{"n", 3}})));
  }
  for (DType dtype : {kF32, kBF16, kF16}) {
    KernelMaker m(std::string("rms_norm_") + dtype_name(dtype));
    relax::Variable x = m.param({1, n, k}, dtype);
    m.op("rms_norm", {x, m.param({k}, kBF16, uniform(0, 2))}, {{"epsilon", 1e-6}});
    std::vector<Sizes> sizes = each("k", {1, 4, 17, 64}, {{"n", 5}});
    sizes.push_back({{"n", 0}, {"k", 4}});
    out.push_back(m.single(sizes));
  }
  for (int64_t axis : {0, 1}) {
    KernelMaker m("softmax_" + std::to_string(axis));
    m.op("softmax", {m.param({n, k}, axis ? kF32 : kBF16, uniform(-20, 20))}, {{"axis", axis}});
    std::vector<Sizes> sizes = each("k", {1, 4, 17, 1025}, {{"n", 3}});
    sizes.push_back({{"n", 0}, {"k", 4}});
    out.push_back(m.single(sizes));
  }
}

inline void layout(Kernels& out) {
  Var n = make_var("n"), k = make_var("k");
  auto reshape = [&](const std::string& label, Dims from, Dims to, std::vector<Sizes> sizes) {
    KernelMaker m("reshape_" + label);
    m.op("reshape", {m.param(std::move(from), kF32), relax::make_shape(std::move(to))});
    out.push_back(m.single(std::move(sizes)));
  };
  reshape("merge", {n, 3, 5}, {n * 3, 5}, each("n", {0, 1, 5}));
  reshape("split", {n, 12}, {n, 3, 4}, each("n", {0, 1, 17}));
  reshape("flat", {n, 3, 4}, {n * 12}, each("n", {1, 17, 86}));
  reshape("cut", {2, 2, 9}, {4, 3, 3}, {{}});
  for (const Ints& axes : {Ints{0, 2, 1, 3}, Ints{3, 2, 1, 0}}) {
    KernelMaker m("permute_" + std::to_string(axes[0]));
    m.op("permute", {m.param({2, n, k, 4}, kBF16)}, {{"axes", axes}});
    out.push_back(m.single({{{"n", 3}, {"k", 5}}, {{"n", 1}, {"k", 17}}, {{"n", 0}, {"k", 4}}}));
  }
  {
    KernelMaker m("concat");
    std::vector<relax::Expr> parts = {m.param({2, n, 3}, kF32), m.param({2, k, 3}, kF32),
                                      m.param({2, 1, 3}, kF32)};
    m.op("concat", {relax::make_tuple(parts)}, {{"axis", int64_t{1}}});
    out.push_back(m.single({{{"n", 3}, {"k", 5}}, {{"n", 0}, {"k", 17}}, {{"n", 4}, {"k", 0}}}));
  }
  {
    KernelMaker m("split_sections");
    m.op("split", {m.param({n, 12}, kI32, uniform(-9, 9))},
         {{"axis", int64_t{1}}, {"sections", int64_t{3}}});
    out.push_back(m.single(each("n", {0, 1, 5})));
  }
  {
    KernelMaker m("split_sizes");
    m.op("split", {m.param({n, 12}, kF16)}, {{"axis", int64_t{1}}, {"sizes", Ints{5, 0, 7}}});
    out.push_back(m.single(each("n", {1, 5})));
  }
  {
    KernelMaker m("slice_symbolic");
    m.op("slice",
         {m.param({4, n}, kF32), relax::make_shape({1, n - 3}), relax::make_shape({3, n})});
    out.push_back(m.single(each("n", {3, 4, 17})));
  }
  {
    KernelMaker m("slice_strided");
    m.op("slice", {m.param({n, 12}, kF32), relax::make_shape({2}), relax::make_shape({11})},
         {{"axes", Ints{-1}}, {"strides", Ints{4}}});
    out.push_back(m.single(each("n", {0, 1, 5})));
  }
}

inline void indexing(Kernels& out) {
  Var n = make_var("n"), b = make_var("b");
  for (DType dtype : {kF32, kBF16, kF16}) {
    KernelMaker m(std::string("take_") + dtype_name(dtype));
    relax::Variable table = m.param({9, 5}, dtype);
    m.op("take", {table, m.param({2, n}, kI32, values({0, 8, 3, 3, 1, 7}))}, {{"out_dtype", kF32}});
    out.push_back(m.single(each("n", {0, 1, 17})));
  }
  {
    KernelMaker m("take_columns");
    relax::Variable table = m.param({n, 5}, kF32);
    m.op("take", {table, m.param({3}, DType::kI64, values({4, 0, 2}))}, {{"axis", int64_t{1}}});
    out.push_back(m.single(each("n", {1, 17})));
  }
  for (DType dtype : {kF32, kBF16, kI32, DType::kBool}) {
    KernelMaker m(std::string("full_") + dtype_name(dtype));
    m.symbols({n});
    m.op("full", {relax::make_shape({n, 3})}, {{"value", 1.1}, {"dtype", dtype}});
    out.push_back(m.single(each("n", {0, 1, 17})));
  }
  for (DType dtype : {kF32, kBF16, kF16}) {
    KernelMaker m(std::string("rope_") + dtype_name(dtype));
    relax::Variable x = m.param({b, n, 3, 8}, dtype);
    relax::Variable lengths = m.param({b}, kI32, values({0, 1000}));
    m.op("rope", {x, lengths, m.param({4}, kF32, values({1, 0.1, 0.01, 0.001}))});
    out.push_back(m.single(each("n", {0, 1, 5}, {{"b", 2}})));
  }
  KernelMaker m("rope_of_each_text");
  relax::Variable x = m.param({b, n, 3, 4}, kF32);
  relax::Variable lengths = m.param({b}, kI32, values({0, 1000}));
  m.op("rope", {x, lengths, m.param({b, 2}, kF32, values({1, 0.1, 0.5, 0.03}))});
  out.push_back(m.single(each("n", {0, 1, 5}, {{"b", 2}})));
}

inline void attention(Kernels& out) {
  Var n = make_var("n"), b = make_var("b"), p = make_var("p");
  // Entries after the last used page are far out of range.
  Fill table = values({4, 0, 1000000, 2, 5, 1});
  Fill lengths = values({2, 7});
  for (DType dtype : {kF32, kBF16, kF16}) {
    KernelMaker m(std::string("kv_append_") + dtype_name(dtype));
    relax::Variable pool = m.param({p, 4, 2, 8}, dtype);
    relax::Variable fresh = m.param({b, n, 2, 8}, kF32);
    relax::Variable pages = m.param({b, 3}, kI32, table);
    m.op("kv_append", {pool, fresh, pages, m.param({b}, kI32, lengths)});
    out.push_back(m.single(each("n", {0, 1, 3, 5}, {{"b", 2}, {"p", 6}})));
  }
  for (int64_t heads : {2, 6}) {
    for (DType dtype : {kF32, kBF16}) {
      KernelMaker m("paged_attention_" + std::to_string(heads) + dtype_name(dtype));
      relax::Variable q = m.param({b, n, heads, 8}, kF32);
      relax::Variable keys = m.param({p, 4, 2, 8}, dtype);
      relax::Variable held = m.param({p, 4, 2, 8}, dtype);
      relax::Variable pages = m.param({b, 3}, kI32, table);
      m.op("paged_attention", {q, keys, held, pages, m.param({b}, kI32, lengths)},
           {{"scale", 0.35}});
      out.push_back(m.single(each("n", {0, 1, 2, 5}, {{"b", 2}, {"p", 6}})));
    }
  }
  {
    KernelMaker m("paged_attention_with_sinks");
    relax::Variable q = m.param({b, n, 6, 8}, kF32);
    relax::Variable keys = m.param({p, 4, 2, 8}, kBF16), held = m.param({p, 4, 2, 8}, kBF16);
    relax::Variable pages = m.param({b, 3}, kI32, table);
    m.op("paged_attention_with_sinks",
         {q, keys, held, pages, m.param({b}, kI32, lengths), m.param({6}, kF32, uniform(-4, 4))},
         {{"scale", 0.35}});
    out.push_back(m.single(each("n", {0, 1, 2, 5}, {{"b", 2}, {"p", 6}})));
  }
  {
    KernelMaker m("paged_attention_with_slopes");
    relax::Variable q = m.param({b, n, 6, 8}, kF32);
    relax::Variable keys = m.param({p, 4, 2, 8}, kBF16), held = m.param({p, 4, 2, 8}, kBF16);
    relax::Variable pages = m.param({b, 3}, kI32, table);
    m.op("paged_attention_with_slopes",
         {q, keys, held, pages, m.param({b}, kI32, lengths), m.param({6}, kF32, uniform(0, 1))},
         {{"scale", 0.35}});
    out.push_back(m.single(each("n", {0, 1, 2, 5}, {{"b", 2}, {"p", 6}})));
  }
  {
    KernelMaker m("paged_attention_ahead");
    relax::Variable q = m.param({b, n, 6, 8}, kF32);
    relax::Variable keys = m.param({p, 4, 2, 8}, kBF16), held = m.param({p, 4, 2, 8}, kBF16);
    relax::Variable pages = m.param({b, 3}, kI32, table);
    // Beyond the call's last token, too.
    const Fill ahead = [](HostTensor& tensor, const Sizes&) {
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, static_cast<double>(i * 2 % 5));
    };
    m.op("paged_attention_ahead",
         {q, keys, held, pages, m.param({b}, kI32, lengths), m.param({b, n}, kI32, ahead)},
         {{"scale", 0.35}, {"window", int64_t{4}}});
    out.push_back(m.single(each("n", {0, 1, 2, 5}, {{"b", 2}, {"p", 6}})));
  }
  {
    // Latent attention: part of a row is its value.
    KernelMaker m("paged_attention_latent");
    relax::Variable q = m.param({b, n, 6, 20}, kF32);
    relax::Variable rows = m.param({p, 4, 1, 20}, kF32), held = m.param({p, 4, 1, 20}, kF32);
    relax::Variable pages = m.param({b, 3}, kI32, table);
    m.op("paged_attention", {q, rows, held, pages, m.param({b}, kI32, lengths)},
         {{"scale", 0.35}, {"value_width", int64_t{16}}});
    out.push_back(m.single(each("n", {0, 1, 2, 5}, {{"b", 2}, {"p", 6}})));
  }
}

inline void fused(Kernels& out) {
  Var n = make_var("n"), m = make_var("m");
  AttrMap transposed = {{"transpose_b", true}};
  std::vector<Sizes> sizes = each("n", kAroundTile, {{"m", 6}});
  for (const Sizes& more : each("m", kAroundTile, {{"n", 5}})) sizes.push_back(more);
  {
    KernelMaker k("fused_matmul_add");
    relax::Variable x = k.param({n, 24}, kF32), w = k.param({m, 24}, kBF16);
    relax::Variable y = k.param({n, m}, kF32);
    k.op("add", {k.op("matmul", {x, w}, transposed), y});
    out.push_back(k.fused(sizes));
  }
  {
    KernelMaker k("fused_matmul_silu_multiply");
    relax::Variable x = k.param({1, n, 24}, kF32), w = k.param({50, 24}, kBF16);
    relax::Variable y = k.param({1, n, 50}, kF32);
    k.op("multiply", {k.op("silu", {k.op("matmul", {x, w}, transposed)}), y});
    out.push_back(k.fused(each("n", kAroundTile)));
  }
  {
    KernelMaker k("fused_untransposed_matmul_bias");
    relax::Variable x = k.param({n, 24}, kF32), w = k.param({24, 16}, kF32);
    k.op("add", {k.op("matmul", {x, w}), k.param({16}, kF32)});
    out.push_back(k.fused(each("n", kAroundTile)));
  }
  {
    KernelMaker k("fused_add_silu");
    relax::Variable x = k.param({n, m}, kF32);
    k.op("silu", {k.op("add", {x, k.param({m}, kBF16)})});
    out.push_back(k.fused(each("m", kAroundPiece, {{"n", 2}})));
  }
  {
    KernelMaker k("fused_exp_sum");
    k.op("sum", {k.op("exp", {k.param({n, m}, kF32)})}, {{"axes", Ints{1}}});
    std::vector<Sizes> at = each("m", {0, 1, 17, 1025}, {{"n", 3}});
    at.push_back({{"n", 0}, {"m", 4}});
    out.push_back(k.fused(at));
  }
  {
    KernelMaker k("fused_cast_matmul_cast");
    relax::Variable x = k.param({n, 33}, kF32), w = k.param({m, 33}, kF32);
    k.op("cast", {k.op("matmul", {x, w}, transposed)}, {{"dtype", kBF16}});
    out.push_back(k.fused(sizes));
  }
  {
    KernelMaker k("fused_add_multiply_narrow");
    relax::Variable x = k.param({n}, kBF16), y = k.param({n}, kBF16);
    k.op("multiply", {k.op("add", {x, y}), k.param({n}, kBF16)});
    out.push_back(k.fused(each("n", {0, 1, 17, 1025})));
  }
}

}  // namespace cases

// Small enough that all of them compile and run in seconds.
inline std::vector<KernelProgram> kernel_cases() {
  std::vector<KernelProgram> out;
  for (auto* family : {cases::unary, cases::casts, cases::binary, cases::matmul, cases::reductions,
                       cases::layout, cases::indexing, cases::attention, cases::fused}) {
    family(out);
  }
  return out;
}

}  // namespace tapml::testing
