// Asynchronous copies (tir/async_copy.h): the data arrives at the wait that covers it. Until then
// the box holds NaN (or -1), so that reads without a wait become visible.
#include "tir/async_copy.h"

#include <cmath>
#include <cstring>

#include "interp/tir_code.h"
#include "ir/exceptions.h"

namespace tapml::interp {

namespace {

// A box in a buffer.
struct BoxCode {
  // Offsets of the elements, in row-major order.
  std::vector<int64_t> elements(Frame& frame) const {
    const BufferSlot& buffer = frame.buffers[slot];
    std::vector<int64_t> offsets = {0};
    for (size_t d = 0; d < begins.size(); ++d) {
      const int64_t begin = begins[d]->run(frame), extent = extents[d]->run(frame);
      const int64_t dim = buffer.dims[d];
      if (begin < 0 || extent < 0 || begin > dim || extent > dim - begin) {
        throw_internal("a copy of elements " + std::to_string(begin) + " to " +
                       std::to_string(begin + extent - 1) + " is outside dimension " +
                       std::to_string(d) + " of buffer " + name + ", which has extent " +
                       std::to_string(dim));
      }
      std::vector<int64_t> next;
      next.reserve(offsets.size() * static_cast<size_t>(extent));
      for (int64_t offset : offsets) {
        for (int64_t i = begin; i < begin + extent; ++i) {
          next.push_back(buffer.strides.empty() ? offset * dim + i
                                                : offset + i * buffer.strides[d]);
        }
      }
      offsets = std::move(next);
    }
    return offsets;
  }
  size_t slot = 0;
  std::string name;
  std::vector<IntPtr> begins, extents;
};

std::byte* element(const PendingCopy& copy, const BufferSlot& buffer, int64_t at) {
  return buffer.data + at * static_cast<int64_t>(dtype_bytes(copy.dtype));
}

struct CopyCode final : StmtCode {
  void run(Frame& frame) const override {
    PendingCopy copy;
    copy.dtype = dtype;
    copy.to = frame.buffers[to.slot];
    copy.from = frame.buffers[from.slot];
    copy.to_elements = to.elements(frame);
    copy.from_elements = from.elements(frame);
    copy.in_doubt = frame.doubtful > 0 || (doubt && doubt->run(frame));
    if (copy.to_elements.size() != copy.from_elements.size()) {
      throw_internal("a copy to buffer " + to.name + " of a box of another size");
    }
    for (int64_t at : copy.to_elements) {
      if (copy.to.shadows) copy.to.shadows[at] = Shadow::unknown(std::nan(""));
      if (frame.skipping == 0) std::memset(element(copy, copy.to, at), 0xff, dtype_bytes(dtype));
    }
    if (frame.skipping == 0) frame.copies.uncommitted.push_back(std::move(copy));
  }
  DType dtype = DType::kF32;
  BoxCode to, from;
  DoubtPtr doubt;  // about where the boxes are
};

struct CommitCode final : StmtCode {
  void run(Frame& frame) const override {
    if (frame.skipping > 0) return;
    frame.copies.groups.push_back(std::move(frame.copies.uncommitted));
    frame.copies.uncommitted.clear();
  }
};

struct WaitCode final : StmtCode {
  void run(Frame& frame) const override {
    if (frame.skipping > 0) return;
    auto& groups = frame.copies.groups;
    for (; groups.size() > outstanding; groups.pop_front()) {
      for (const PendingCopy& copy : groups.front()) arrive(copy);
    }
  }
  static void arrive(const PendingCopy& copy) {
    for (size_t i = 0; i < copy.to_elements.size(); ++i) {
      const int64_t to = copy.to_elements[i], from = copy.from_elements[i];
      std::memcpy(element(copy, copy.to, to), element(copy, copy.from, from),
                  dtype_bytes(copy.dtype));
      if (!copy.to.shadows) continue;
      const Shadow& shadow = copy.from.shadows[from];
      copy.to.shadows[to] = copy.in_doubt ? Shadow::unknown(shadow.value) : shadow;
    }
  }
  size_t outstanding = 0;
};

BoxCode compile_box(ExprCompiler& compiler, const tir::Region& region) {
  BoxCode box;
  box.slot = compiler.buffer_slot(region.buffer);
  box.name = region.buffer->name;
  for (const PrimExpr& begin : region.begins) box.begins.push_back(compiler.integer(begin));
  for (const PrimExpr& extent : region.extents) box.extents.push_back(compiler.integer(extent));
  return box;
}

}  // namespace

StmtPtr compile_async(ExprCompiler& compiler, const tir::Stmt& stmt) {
  if (stmt->kind == tir::StmtKind::kCommitCopies) return std::make_unique<CommitCode>();
  if (stmt->kind == tir::StmtKind::kWaitCopies) {
    auto code = std::make_unique<WaitCode>();
    code->outstanding = static_cast<size_t>(tir::as<tir::WaitCopiesNode>(stmt).outstanding);
    return code;
  }
  const auto& node = tir::as<tir::CopyAsyncNode>(stmt);
  auto code = std::make_unique<CopyCode>();
  code->dtype = node.to.buffer->dtype;
  code->to = compile_box(compiler, node.to);
  code->from = compile_box(compiler, node.from);
  if (compiler.with_bounds) {
    std::vector<PrimExpr> decided = node.to.begins;
    decided.insert(decided.end(), node.from.begins.begin(), node.from.begins.end());
    // One doubt covers all of them.
    code->doubt = compile_doubt(compiler, make_node(ExprKind::kAdd, DType::kI64, decided));
  }
  return code;
}

void check_copies(const Frame& frame, const BufferSlot& ending, const std::string& name) {
  auto check = [&](const std::vector<PendingCopy>& copies) {
    for (const PendingCopy& copy : copies) {
      if (copy.to.data != ending.data && copy.from.data != ending.data) continue;
      throw_internal("the memory of buffer " + name + " ends before a wait for a copy of it");
    }
  };
  check(frame.copies.uncommitted);
  for (const std::vector<PendingCopy>& group : frame.copies.groups) check(group);
}

}  // namespace tapml::interp
