#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "tir/builder.h"
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
