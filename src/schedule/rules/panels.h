// Sums of products in register tiles over packed panels. Private to schedule/.
#pragma once

#include <functional>
#include <optional>

#include "schedule/emit.h"
#include "target/processor.h"

namespace tapml::schedule {

inline constexpr int64_t kFewRows = 8;  // with fewer rows, packing for a single call does not pay
                                        // off

inline constexpr int64_t kFewElements = 4096;  // smaller weights are not worth a packed copy

// out[...] += left * right, where only right depends on the lane (the last spatial iterator). Rows
// are the iterators that only left depends on.
struct Product {
  PrimExpr left, right;
  std::vector<tir::BlockIter> rows, outer;
  tir::BlockIter lane;
  // Of rows that are not all, or not in the order of their iterators: how many there are, at most
  // the product of the extents, the iterators of the one at a place, and whether there is a `right`
  // at all. These depend on the outer iterators. Null: all rows in order, which have one.
  PrimExpr row_count, exists;
  std::function<VarMap(const PrimExpr& place)> row_at;
};
std::optional<Product> find_product(const Stage& stage);

// Tile sizes. The layout of a panel (lanes, steps, inner) does not depend on the rows.
struct Tiling {
  int64_t lanes;      // of a panel: a few vectors
  int64_t rows;       // of a register tile
  int64_t block;      // rows whose sums an item keeps; a multiple of `rows`
  int64_t steps;      // of the outermost reduction loop in a panel
  int64_t inner = 1;  // reduction steps inside each of these
  int64_t side;       // of the square tiles that are transposed
};
// nullopt if the stage's dtype or extents do not suit panels, or if it has fewer than `least_rows`.
std::optional<Tiling> find_tiling(const Stage& stage, const Product& product,
                                  const PrimExpr& row_count, const target::VectorRegisters& vectors,
                                  int64_t least_rows);

// One item computes a block of rows by a panel of lanes. The panel of `right` is packed in pieces
// of the reduction, or was packed earlier; register tiles multiply each piece with all rows of the
// block.
class Panels {
 public:
  // `packed`: null, or the result of packed_buffer().
  Panels(const Stage& stage, const Product& product, const Tiling& tiling,
         tir::Buffer packed = nullptr);

  // A buffer for all panels: [panels, steps, inner steps..., lanes], with elements of `right` or of
  // the value that it widens. Lane and reduction have constant extents.
  static tir::Buffer packed_buffer(const Stage& stage, const Product& product,
                                   const Tiling& tiling);

  PrimExpr item_count() const { return schedule::product(items_); }
  tir::Stmt body(const Var& item);
  // The same for items of a single row: sums stay in registers, over panels that were packed
  // earlier, or over a `right` that can be read up to the end of its last panel.
  tir::Stmt single_row(const Var& item);
  // The launch that fills `packed`.
  tir::Stmt pack_all();

 private:
  void start(const Var& item);
  tir::Stmt lanes(const PrimExpr& extent, const std::function<tir::Stmt(const Var&)>& body) const;
  tir::Stmt steps(VarMap& values, const std::function<tir::Stmt(std::vector<PrimExpr> index)>& body,
                  const std::function<tir::Stmt(tir::Stmt inner)>& group = {}) const;
  // right = group * element, where `group` is the same for all steps inside one step of the
  // outermost reduction loop; null: 1.
  struct Factors {
    PrimExpr group, element;
  };
  Factors factors_of_right() const;
  PrimExpr at_lane(const PrimExpr& expr, VarMap values, const PrimExpr& lane) const;
  tir::Stmt clear() const;
  PrimExpr packed_value(const VarMap& values, const PrimExpr& lane, bool whole) const;
  std::vector<PrimExpr> packed_index(const std::vector<PrimExpr>& index) const;
  tir::Stmt put(const std::vector<PrimExpr>& index, const PrimExpr& value) const;
  PrimExpr get(const std::vector<PrimExpr>& index) const;
  tir::Stmt pack_along_lanes(bool whole) const;
  tir::Stmt pack_along_steps(bool whole) const;
  bool runs_along_steps() const;
  tir::Stmt pack() const;
  tir::Stmt unpack() const;
  tir::Stmt multiply() const;
  tir::Stmt write() const;
  VarMap at_row(VarMap values, const PrimExpr& row, bool clamped) const;
  // `values` with the row iterators set to those of one of several rows.
  using RowValues = std::function<VarMap(VarMap values, int64_t row)>;
  tir::Stmt with_rows(int64_t count, const PrimExpr& first, bool clamped,
                      const std::function<tir::Stmt(const RowValues& at)>& body) const;

  const Stage& stage_;
  const Product& product_;
  Tiling t_;
  PrimExpr most_rows_, rows_;
  std::vector<tir::BlockIter> items_;
  tir::Buffer panel_, sums_, packed_;
  bool filling_ = false;  // packing writes to `packed_`
  VarMap at_;
  PrimExpr panel_number_, first_lane_, first_row_, first_step_, panel_rows_, panel_steps_, tiles_;
};

}  // namespace tapml::schedule
