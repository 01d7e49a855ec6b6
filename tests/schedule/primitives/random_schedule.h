// Random sequences of primitives: refused ones are skipped, legal ones must stay correct.
#pragma once

#include "programs.h"
#include "tir/visit.h"

namespace tapml::testing {

struct Example {
  const char* name;
  const char* source;
  std::vector<Sizes> sizes;
  // Sums of the values are exact in any order; otherwise a tolerance is given.
  bool integral = true;
  double tolerance = 0;
};

inline std::vector<Example> examples() {
  std::vector<Sizes> rows, both;
  for (int64_t n : {0, 1, 3, 4, 9}) rows.push_back({{"n", n}});
  for (auto [n, m] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 5}, {5, 0}, {1, 1}, {3, 8}, {4, 7}, {5, 17}}) {
    both.push_back({{"n", n}, {"m", m}});
  }
  std::vector<Sizes> widths;
  for (int64_t h : {0, 1, 4, 7, 16}) widths.push_back({{"h", h}});
  return {{"elementwise", kElementwise, rows},
          {"sum", kSum, both},
          {"matmul", kMatmul, rows},
          {"softmax", kSoftmax, both, false, 1e-5},
          {"conv", kConv, widths},
          {"attention", kAttention, both}};
}

// The program with the iterations of marked loops in reverse order: independent iterations give the
// same results.
inline tir::PrimFuncRef reversed(const tir::PrimFuncRef& func) {
  tir::Stmt body = tir::rewrite(func->body, {}, [](const tir::Stmt& s) -> tir::Stmt {
    if (s->kind != tir::StmtKind::kFor) return nullptr;
    const auto& loop = tir::as<tir::ForNode>(s);
    if (loop.for_kind == tir::ForKind::kSerial || loop.for_kind == tir::ForKind::kUnrolled) {
      return nullptr;
    }
    VarMap mirror = {{loop.var.get(), loop.extent - 1 - loop.var}};
    return tir::make_for(loop.var, loop.extent, tir::substitute(loop.body, mirror), loop.for_kind);
  });
  return schedule::with_body(*func, body);
}

class RandomSchedule {
 public:
  RandomSchedule(tir::PrimFuncRef func, uint64_t seed)
      : schedule(std::move(func)), stream_(seed, "schedule") {}

  // Tries one primitive; returns its name if it was legal, otherwise an empty string.
  std::string step() {
    try {
      return attempt();
    } catch (const CompilerException& exception) {
      EXPECT_EQ(exception.error().kind, ErrorKind::kUser)
          << exception.error().to_string() << "\n"
          << text::print(*schedule.func(), "k") << schedule.trace().print();
      EXPECT_FALSE(exception.error().hint.empty()) << exception.error().to_string();
      return "";
    }
  }

  schedule::Schedule schedule;
  bool gpu = false;  // also try bind

 private:
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[stream_.below(static_cast<uint32_t>(list.size()))];
  }
  schedule::Block a_block() { return schedule.block(pick(schedule.blocks()).name); }
  // A loop of a block; throws like a UserError if the block has none, so that nothing is tried.
  schedule::Loop a_loop(const schedule::Block& block) {
    auto loops = schedule.loops(block);
    if (loops.empty()) throw_user("no loops", "", "", "", "none");
    return pick(loops);
  }
  std::string a_buffer(const schedule::Block& block) {
    std::vector<std::string> names;
    for (const schedule::Site& leaf : schedule::leaves(*schedule.func())) {
      if (!leaf.is_block() || leaf.block().name != block.name) continue;
      for (const tir::Region& region : leaf.block().reads) names.push_back(region.buffer->name);
    }
    return names.empty() ? "none" : pick(names);
  }

  std::string attempt() {
    schedule::Block block = a_block();
    switch (stream_.below(gpu ? 20 : 18)) {
      case 0:
      case 1:
      case 2: {
        schedule::Factors factors = {std::nullopt, stream_.between(1, 5)};
        if (stream_.chance(0.3)) factors.insert(factors.begin() + 1, stream_.between(1, 3));
        if (stream_.chance(0.2)) factors = {4, 8};
        if (stream_.chance(0.2)) std::swap(factors[0], factors[1]);
        schedule.split(a_loop(block), factors);
        return "split";
      }
      case 3: {
        auto loops = schedule.loops(block);
        if (loops.size() < 2) return "";
        size_t at = stream_.below(static_cast<uint32_t>(loops.size() - 1));
        schedule.fuse(loops[at], loops[at + 1]);
        return "fuse";
      }
      case 4:
      case 5: {
        auto loops = schedule.loops(block);
        if (loops.size() < 2) return "";
        for (size_t i = loops.size(); i-- > 1;) {
          std::swap(loops[i], loops[stream_.below(static_cast<uint32_t>(i + 1))]);
        }
        while (loops.size() > 2 && stream_.chance(0.5)) loops.pop_back();
        schedule.reorder(loops);
        return "reorder";
      }
      case 6:
        if (stream_.chance(0.5)) return "";
        schedule.parallel(a_loop(block));
        return "parallel";
      case 7:
        if (stream_.chance(0.5)) return "";
        schedule.vectorize(a_loop(block));
        return "vectorize";
      case 8:
        if (stream_.chance(0.5)) return "";
        schedule.unroll(a_loop(block));
        return "unroll";
      case 9:
        schedule.cache_read(block, a_buffer(block));
        return "cache_read";
      case 10:
        schedule.cache_write(block);
        return "cache_write";
      case 11:
        schedule.compute_at(block, a_loop(a_block()));
        return "compute_at";
      case 12:
        schedule.reverse_compute_at(block, a_loop(a_block()));
        return "reverse_compute_at";
      case 13:
        if (stream_.chance(0.5)) {
          schedule.inline_block(block);
          return "inline";
        }
        schedule.reverse_inline(block);
        return "reverse_inline";
      case 14:
        schedule.rfactor(block, a_loop(block));
        return "rfactor";
      case 15:
        schedule.decompose_reduction(block, a_loop(block));
        return "decompose_reduction";
      case 16:
        schedule.store_at(block, a_loop(block), "local");
        return "store_at";
      case 17:
        schedule.storage_align(block, stream_.between(0, 1), stream_.between(2, 8),
                               stream_.between(0, 1));
        return "storage_align";
      default:
        schedule.bind(a_loop(block), stream_.chance(0.5) ? "workgroup" : "thread");
        return "bind";
    }
  }

  RandomStream stream_;
};

}  // namespace tapml::testing
