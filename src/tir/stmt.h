// Statements of tensor programs. Nodes are immutable and shared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/attributes.h"
#include "tir/buffer.h"

namespace tapml::tir {

enum class StmtKind : uint8_t {
  kFor,
  kSeq,
  kStore,
  kIf,
  kAlloc,
  kBlock,
  kBarrier,
  kMatrix,     // tir/matrix.h
  kCopyAsync,  // tir/async_copy.h, and the next two
  kCommitCopies,
  kWaitCopies,
};

struct StmtNode {
  explicit StmtNode(StmtKind kind) : kind(kind) {}
  virtual ~StmtNode() = default;
  StmtKind kind;
};
using Stmt = std::shared_ptr<const StmtNode>;

enum class ForKind : uint8_t {
  kSerial,
  kParallel,    // iterations are independent; the outermost one is the launch extent: split over
                // threads on cpu, grid-stride over all invocations on GPU-like platforms
  kVectorized,  // iterations may run as lanes; a float sum over it may be reassociated
  kUnrolled,    // constant extent
  kWorkgroup,   // GPU: the work-group index; independent groups. Up to three of them, each directly
                // inside the one before, are the dimensions of the grid
  kThread,      // GPU: the invocation inside its work group; constant extent <= workgroup_threads
};
// Work-group loops that may be nested.
inline constexpr int kGridDimensions = 3;
const char* for_kind_name(ForKind kind);  // "serial", "parallel", ...

// for var in [0, extent): body
struct ForNode : StmtNode {
  ForNode() : StmtNode(StmtKind::kFor) {}
  Var var;
  PrimExpr extent;
  ForKind for_kind = ForKind::kSerial;
  Stmt body;
};

struct SeqNode : StmtNode {
  SeqNode() : StmtNode(StmtKind::kSeq) {}
  std::vector<Stmt> stmts;
};

// buffer[indices] = value (value has the buffer's dtype)
struct StoreNode : StmtNode {
  StoreNode() : StmtNode(StmtKind::kStore) {}
  Buffer buffer;
  std::vector<PrimExpr> indices;
  PrimExpr value;
};

struct IfNode : StmtNode {
  IfNode() : StmtNode(StmtKind::kIf) {}
  PrimExpr condition;
  Stmt then_body;
  Stmt else_body;  // may be null
};

// Memory that lives for `body`. At the top of a PrimFunc, global scope is a workspace.
struct AllocNode : StmtNode {
  AllocNode() : StmtNode(StmtKind::kAlloc) {}
  Buffer buffer;
  Stmt body;
};

// All invocations of a work group arrive before any continues.
struct BarrierNode : StmtNode {
  BarrierNode() : StmtNode(StmtKind::kBarrier) {}
};

enum class IterType : uint8_t { kSpatial, kReduce };

// A block iterator: `var` takes the value `binding` (over the loop variables around the block) and
// ranges over [0, extent).
struct BlockIter {
  Var var;
  PrimExpr extent;
  IterType type = IterType::kSpatial;
  PrimExpr binding;
};

// A box of elements: per dimension a start and a length.
struct Region {
  Buffer buffer;
  std::vector<PrimExpr> begins;
  std::vector<PrimExpr> extents;
};

// One computation, opaque to loop transformations: it declares its iterators and, in terms of them,
// what it reads and writes. `init` runs before the first reduction step of each spatial point;
// `predicate` excludes points past the extent that a split adds.
struct BlockNode : StmtNode {
  BlockNode() : StmtNode(StmtKind::kBlock) {}
  std::string name;
  std::vector<BlockIter> iters;
  PrimExpr predicate;  // null: always
  std::vector<Region> reads;
  std::vector<Region> writes;
  Stmt init;  // null if there is no reduction
  Stmt body;
};

Stmt make_for(Var var, PrimExpr extent, Stmt body, ForKind kind = ForKind::kSerial);
Stmt make_seq(std::vector<Stmt> stmts);  // flattens; returns a single statement unchanged
Stmt make_store(Buffer buffer, std::vector<PrimExpr> indices, PrimExpr value);
Stmt make_if(PrimExpr condition, Stmt then_body, Stmt else_body = nullptr);
Stmt make_alloc(Buffer buffer, Stmt body);
Stmt make_barrier();

// The node as its type; the kind must match.
template <class T>
const T& as(const Stmt& stmt) {
  return static_cast<const T&>(*stmt);
}

}  // namespace tapml::tir
