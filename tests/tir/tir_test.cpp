#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "tir/async_copy.h"
#include "tir/builder.h"
#include "tir/matrix.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::tir {
namespace {

struct Sum {
  Var n = make_var("n");
  Buffer x = make_buffer("x", DType::kF32, {n, 8});
  Buffer y = make_buffer("y", DType::kF32, {n});
  Stmt body = reduce(
      "sum", y, {8}, make_float(0, DType::kF32), [](PrimExpr a, PrimExpr b) { return a + b; },
      [&](const std::vector<Var>& i, const std::vector<Var>& r) { return load(x, {i[0], r[0]}); });
};

const BlockNode& block_of(const Stmt& nest) {
  const StmtNode* found = nullptr;
  visit(nest, [&](const Stmt& s) {
    if (s->kind == StmtKind::kBlock) found = s.get();
  });
  return *static_cast<const BlockNode*>(found);
}

TEST(Builder, ReduceMakesLoopsInitAndRegions) {
  Sum sum;
  const BlockNode& block = block_of(sum.body);
  ASSERT_EQ(block.iters.size(), 2u);
  EXPECT_EQ(block.iters[0].type, IterType::kSpatial);
  EXPECT_EQ(block.iters[1].type, IterType::kReduce);
  EXPECT_TRUE(block.iters[0].extent.same_as(sum.n));
  ASSERT_NE(block.init, nullptr);
  ASSERT_EQ(block.reads.size(), 2u);
  EXPECT_EQ(block.reads[1].buffer, sum.x);
  EXPECT_TRUE(block.reads[1].extents[1].is_int(1));
  EXPECT_EQ(block.writes[0].buffer, sum.y);
}

TEST(PrimFuncTest, ScalarsInOrderOfFirstOccurrence) {
  Var n = make_var("n"), m = make_var("m"), k = make_var("k");
  Buffer a = make_buffer("a", DType::kI64, {m * 2, n});
  Stmt body = compute("f", a, [&](const std::vector<Var>& i) { return i[0] + k + n; });
  PrimFuncRef func = make_prim_func({{a, AccessMode::kOut}}, body);
  ASSERT_EQ(func->scalars.size(), 3u);
  EXPECT_TRUE(func->scalars[0].same_as(m));
  EXPECT_TRUE(func->scalars[1].same_as(n));
  EXPECT_TRUE(func->scalars[2].same_as(k));
}

TEST(BufferTest, LinearIndexIsRowMajor) {
  Buffer a = make_buffer("a", DType::kF32, {2, 3, 4});
  EXPECT_TRUE(linear_index(a, {1, 2, 3}).is_int(23));
  EXPECT_TRUE(buffer_size(a).is_int(24));
  EXPECT_TRUE(buffer_size(make_buffer("s", DType::kF32, {})).is_int(1));
  EXPECT_THROW(load(a, {0}), CompilerException);
}

TEST(BufferTest, StridesDecideWhereElementsAre) {
  Var n = make_var("n");
  Buffer a = make_buffer("a", DType::kF32, {n, 3, 4}, Scope::kShared, {40, 12, 2});
  EXPECT_TRUE(linear_index(a, {1, 2, 3}).is_int(40 + 24 + 6));
  EXPECT_EQ(to_string(buffer_size(a)), to_string(n * 40));
  EXPECT_TRUE(stride_of(a, 0).is_int(40));
  EXPECT_TRUE(stride_of(make_buffer("b", DType::kF32, {n, 3, 4}), 0).is_int(12));
  EXPECT_TRUE(stride_of(make_buffer("b", DType::kF32, {n, 3, 4}), 2).is_int(1));
}

// A copy to shared memory, a load from it, a product and a store, all over `i`.
struct Units {
  Var i = make_var("i");
  Buffer x = make_buffer("x", DType::kF16, {i, 64});
  Buffer y = make_buffer("y", DType::kF32, {64, 64});
  Buffer s = make_buffer("s", DType::kF16, {16, i}, Scope::kShared, {i, 1});
  Buffer a = make_buffer("a", DType::kF16, {16, 16}, Scope::kFragment);
  Buffer b = make_buffer("b", DType::kF16, {16, 16}, Scope::kFragment);
  Buffer c = make_buffer("c", DType::kF32, {16, 16}, Scope::kFragment);
  Stmt copy = make_copy_async({s, {i, 0}, {1, 8}}, {x, {0, i}, {1, 8}});
  Stmt load = make_matrix_load(a, s, {0, i}, i * 2, MatrixLayout::kRowMajor, 32);
  Stmt product = make_matrix_multiply_add(c, a, b, c, 32);
  Stmt store = make_matrix_store(y, {i, 0}, c, 64, MatrixLayout::kColumnMajor, 32);
  Stmt body = make_seq({copy, make_commit_copies(), make_wait_copies(1), load, product, store});
};

TEST(Visit, MatrixOperationsAndCopiesUseBuffers) {
  Units units;
  EXPECT_EQ(loaded_buffers(units.body),
            (std::set<const BufferNode*>{units.x.get(), units.s.get(), units.a.get(), units.b.get(),
                                         units.c.get()}));
  EXPECT_EQ(
      stored_buffers(units.body),
      (std::set<const BufferNode*>{units.s.get(), units.a.get(), units.c.get(), units.y.get()}));
  Buffer z = make_buffer("z", DType::kF16, {16, 16}, Scope::kFragment);
  Buffer r = make_buffer("r", DType::kF16, {16, 16}, Scope::kShared);
  const Stmt replaced =
      replace_buffers(units.body, BufferMap{{units.a.get(), z}, {units.s.get(), r}});
  const auto& stmts = as<SeqNode>(replaced).stmts;
  EXPECT_EQ(as<CopyAsyncNode>(stmts[0]).to.buffer, r);
  EXPECT_EQ(as<MatrixNode>(stmts[3]).fragment, z);
  EXPECT_EQ(as<MatrixNode>(stmts[3]).memory, r);
  EXPECT_EQ(as<MatrixNode>(stmts[4]).left, z);
  EXPECT_EQ(as<MatrixNode>(stmts[4]).right, units.b);
  EXPECT_EQ(as<MatrixNode>(stmts[5]).memory, units.y);
}

TEST(Visit, SubstituteReachesMatrixOperationsCopiesAndStrides) {
  Units units;
  const Stmt fixed = substitute(make_alloc(units.s, units.body), {{units.i.get(), PrimExpr(3)}});
  const Buffer& s = as<AllocNode>(fixed).buffer;
  EXPECT_TRUE(s->strides[0].is_int(3));
  const auto& stmts = as<SeqNode>(as<AllocNode>(fixed).body).stmts;
  EXPECT_EQ(as<CopyAsyncNode>(stmts[0]).to.buffer, s);
  EXPECT_TRUE(as<CopyAsyncNode>(stmts[0]).to.begins[0].is_int(3));
  EXPECT_TRUE(as<CopyAsyncNode>(stmts[0]).from.begins[1].is_int(3));
  EXPECT_EQ(as<MatrixNode>(stmts[3]).memory, s);
  EXPECT_EQ(to_string(as<MatrixNode>(stmts[3]).leading), "3*2");
  EXPECT_TRUE(as<MatrixNode>(stmts[5]).indices[0].is_int(3));
  EXPECT_EQ(rewrite(units.body, [](const PrimExpr&) { return PrimExpr(); }), units.body);
}

TEST(Visit, ABlockTouchesTheWholeBuffersOfMatrixOperationsAndCopies) {
  Units units;
  BlockNode block;
  block.body = units.body;
  infer_regions(block);
  ASSERT_EQ(block.reads.size(), 5u);
  EXPECT_EQ(block.reads[0].buffer, units.x);
  EXPECT_TRUE(block.reads[0].extents[1].is_int(64));
  ASSERT_EQ(block.writes.size(), 4u);
  EXPECT_EQ(block.writes[0].buffer, units.s);
  EXPECT_TRUE(block.writes[0].begins[0].is_int(0));
}

TEST(StmtTest, MatrixOperationsJoinThreads) {
  Units units;
  EXPECT_TRUE(joins_threads(units.product));
  EXPECT_FALSE(joins_threads(units.copy));
  EXPECT_EQ(box_extents(as<CopyAsyncNode>(units.copy).to), (std::vector<int64_t>{8}));
  EXPECT_EQ(box_extents({units.x, {0, 0}, {units.i, 8}}), std::nullopt);
}

TEST(Visit, LoadedAndStoredBuffers) {
  Sum sum;
  EXPECT_EQ(loaded_buffers(sum.body), (std::set<const BufferNode*>{sum.x.get(), sum.y.get()}));
  EXPECT_EQ(stored_buffers(sum.body), std::set<const BufferNode*>{sum.y.get()});
}

TEST(Visit, RewriteKeepsUnchangedPartsShared) {
  Sum sum;
  EXPECT_EQ(rewrite(sum.body, [](const PrimExpr&) { return PrimExpr(); }), sum.body);
  Stmt fixed = substitute(sum.body, {{sum.n.get(), PrimExpr(5)}});
  EXPECT_TRUE(as<ForNode>(fixed).extent.is_int(5));
  EXPECT_TRUE(as<ForNode>(sum.body).extent.same_as(sum.n));
}

TEST(Visit, ReplaceBuffersReachesRegions) {
  Sum sum;
  Buffer z = make_buffer("z", DType::kF32, {sum.n, 8});
  Stmt replaced = replace_buffers(sum.body, BufferMap{{sum.x.get(), z}});
  EXPECT_EQ(loaded_buffers(replaced), (std::set<const BufferNode*>{z.get(), sum.y.get()}));
  EXPECT_EQ(block_of(replaced).reads[1].buffer, z);
}

TEST(Visit, RefreshedCopySharesNoVariable) {
  Sum sum;
  Buffer t = make_buffer("t", DType::kF32, {4}, Scope::kLocal);
  Stmt body = make_alloc(t, make_seq({sum.body, make_store(t, {0}, make_float(1, DType::kF32))}));
  Stmt copy = refresh_vars(body);
  std::set<const tapml::ExprNode*> vars;
  auto collect = [&](const Stmt& s) {
    visit(s, [&](const Stmt& inner) {
      if (inner->kind == StmtKind::kFor) vars.insert(as<ForNode>(inner).var.get());
      if (inner->kind == StmtKind::kBlock) {
        for (const BlockIter& iter : as<BlockNode>(inner).iters) vars.insert(iter.var.get());
      }
    });
  };
  collect(body);
  EXPECT_EQ(vars.size(), 4u);
  collect(copy);
  EXPECT_EQ(vars.size(), 8u);
  EXPECT_NE(as<AllocNode>(copy).buffer, t);
  EXPECT_FALSE(stored_buffers(copy).contains(t.get()));
  EXPECT_TRUE(stored_buffers(copy).contains(sum.y.get()));
}

TEST(Visit, InnerLoopsWidenARegion) {
  Buffer x = make_buffer("x", DType::kF32, {4, 8}), y = make_buffer("y", DType::kF32, {4});
  Var j = make_var("j");
  Stmt nest = block("row", {4}, [&](const std::vector<Var>& i) {
    return make_for(j, 8, make_store(y, {i[0]}, load(x, {i[0], j})));
  });
  const Region& read = block_of(nest).reads[0];
  EXPECT_TRUE(read.extents[0].is_int(1));
  EXPECT_TRUE(read.begins[1].is_int(0));
  EXPECT_TRUE(read.extents[1].is_int(8));
}

TEST(StmtTest, SequencesFlatten) {
  Buffer a = make_buffer("a", DType::kI64, {1});
  Stmt store = make_store(a, {0}, 1);
  EXPECT_EQ(make_seq({store}), store);
  Stmt seq = make_seq({make_seq({store, store}), nullptr, make_barrier()});
  EXPECT_EQ(as<SeqNode>(seq).stmts.size(), 3u);
}

}  // namespace
}  // namespace tapml::tir
