// cache_read: see primitives.h.
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/builder.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

Buffer read_buffer(const Site& site, const std::string& name) {
  Buffer found;
  bool several = false;
  visit(site.stmt(), {}, [&](const PrimExpr& root) {
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() != tapml::ExprKind::kLoad || load_buffer(e)->name != name) return;
      several |= found && found != load_buffer(e);
      found = load_buffer(e);
    });
  });
  const std::string subject = "block " + site.block().name;
  if (!found) {
    refuse("cache_read", subject, "it reads no buffer named " + name,
           "name a buffer that it loads from");
  }
  if (several) {
    refuse("cache_read", subject, "it reads several buffers named " + name,
           "give the buffers different names");
  }
  return found;
}

}  // namespace

NewBlock cache_read(const PrimFunc& func, const std::string& name, const std::string& buffer_name) {
  Site site = find_block(func, name);
  Buffer buffer = read_buffer(site, buffer_name);
  const Stmt nest = nest_of(site);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("cache_read", "block " + name, reason, hint);
  };
  for (const Site& leaf : leaves(func, nest)) {
    if (!stored_buffers(leaf.stmt()).contains(buffer.get())) continue;
    no(leaf.describe() + " writes " + buffer->name +
           " in the same nest, so a copy made before it would be stale",
       "cache a buffer that the nest only reads");
  }
  Site alloc = find_alloc(func, buffer.get());
  if (!alloc.path.empty() && alloc.is_inside(nest)) {
    no("buffer " + buffer->name + " is allocated inside the nest",
       "cache a buffer that is allocated around it");
  }
  Buffer copy = make_buffer(buffer->name + "_cache", buffer->dtype, buffer->shape);
  std::string copy_name = fresh_block_name(func, buffer->name + "_cache");
  Stmt copying = compute(copy_name, copy, [&](const std::vector<Var>& at) {
    return load(buffer, std::vector<PrimExpr>(at.begin(), at.end()));
  });
  Stmt reading = replace_buffers(site.stmt(), BufferMap{{buffer.get(), copy}});
  Stmt changed = nest == site.stmt() ? reading : replace(nest, site.stmt(), reading);
  Stmt body = replace(func.body, nest, make_seq({copying, changed}));
  return {with_body(func, add_workspace(copy, body)), copy_name};
}

}  // namespace tapml::schedule::primitives
