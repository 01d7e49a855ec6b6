#include "tir/builder.h"

#include "tir/visit.h"

namespace tapml::tir {

namespace {

const char* const kSpatialNames[] = {"i", "j", "k", "l", "m", "o"};
const char* const kReduceNames[] = {"r", "s", "t", "u"};

std::string iter_name(const char* const* names, size_t count, size_t index) {
  return index < count ? names[index] : std::string(names[0]) + std::to_string(index);
}

struct Nest {
  std::vector<BlockIter> iters;
  std::vector<Var> spatial, reduction;
  std::vector<Var> loops;

  void add(const PrimExpr& extent, IterType type) {
    bool is_spatial = type == IterType::kSpatial;
    auto& own = is_spatial ? spatial : reduction;
    std::string name = is_spatial ? iter_name(kSpatialNames, 6, own.size())
                                  : iter_name(kReduceNames, 4, own.size());
    Var loop = make_var(name);
    Var iter = make_var("v" + name);
    iters.push_back({iter, extent, type, loop});
    own.push_back(iter);
    loops.push_back(loop);
  }

  Stmt wrap(const std::string& name, Stmt init, Stmt body) {
    auto block = std::make_shared<BlockNode>();
    block->name = name;
    block->iters = iters;
    block->init = std::move(init);
    block->body = std::move(body);
    infer_regions(*block);
    Stmt stmt = block;
    for (size_t i = loops.size(); i-- > 0;) stmt = make_for(loops[i], iters[i].extent, stmt);
    return stmt;
  }
};

}  // namespace

Stmt compute(const std::string& name, const Buffer& out,
             const std::function<PrimExpr(const std::vector<Var>&)>& value) {
  Nest nest;
  for (const PrimExpr& dim : out->shape) nest.add(dim, IterType::kSpatial);
  return nest.wrap(name, nullptr, make_store(out, nest.spatial, value(nest.spatial)));
}

Stmt reduce(const std::string& name, const Buffer& out, const Dims& reduce_extents, PrimExpr init,
            const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine,
            const std::function<PrimExpr(const std::vector<Var>&, const std::vector<Var>&)>& term) {
  Nest nest;
  for (const PrimExpr& dim : out->shape) nest.add(dim, IterType::kSpatial);
  for (const PrimExpr& dim : reduce_extents) nest.add(dim, IterType::kReduce);
  PrimExpr value = combine(load(out, nest.spatial), term(nest.spatial, nest.reduction));
  return nest.wrap(name, make_store(out, nest.spatial, std::move(init)),
                   make_store(out, nest.spatial, std::move(value)));
}

Stmt block(const std::string& name, const Dims& extents,
           const std::function<Stmt(const std::vector<Var>&)>& body) {
  Nest nest;
  for (const PrimExpr& dim : extents) nest.add(dim, IterType::kSpatial);
  return nest.wrap(name, nullptr, body(nest.spatial));
}

}  // namespace tapml::tir
