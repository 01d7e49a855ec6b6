#include "topdown/kernels/plant.h"

#include <cmath>
#include <cstring>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "schedule/rules.h"
#include "tir/visit.h"

namespace tapml::topdown {

using namespace tir;  // NOLINT: this file is about tir alone

const std::vector<std::pair<PlantKind, const char*>>& plant_kinds() {
  static const std::vector<std::pair<PlantKind, const char*>> kKinds = {
      {PlantKind::kWrongConstant, "wrong-constant"},
      {PlantKind::kOffByOne, "off-by-one"},
      {PlantKind::kDroppedTail, "dropped-tail"},
      {PlantKind::kSwappedOperands, "swapped-operands"},
      {PlantKind::kMissingInit, "missing-init"},
      {PlantKind::kWrongAccumulation, "wrong-accumulation"},
      {PlantKind::kCrash, "crash"},
      {PlantKind::kEndlessLoop, "endless-loop"}};
  return kKinds;
}

const char* plant_kind_name(PlantKind kind) {
  for (const auto& [known, name] : plant_kinds()) {
    if (known == kind) return name;
  }
  return "";
}

bool ends_process(PlantKind kind) {
  return kind == PlantKind::kCrash || kind == PlantKind::kEndlessLoop;
}

std::pair<std::string, PlantKind> parse_plant(const std::string& text) {
  std::string known;
  size_t colon = text.rfind(':');
  std::string wanted = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const auto& [kind, name] : plant_kinds()) {
    if (wanted == name) return {text.substr(0, colon), kind};
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw_user("unknown kind of planted bug", "--plant " + text, "KERNEL:KIND, KIND one of " + known,
             wanted.empty() ? "no kind" : wanted);
}

namespace {

// Rewrites the `wanted`-th place that a predicate accepts; counts them all.
class SiteEditor {
 public:
  SiteEditor(const PrimFunc& func, int wanted) : func_(func), wanted_(wanted) {}

  using ExprEdit = std::function<PrimExpr(const PrimExpr&)>;  // null: not a site
  using StmtEdit = std::function<Stmt(const Stmt&)>;

  PrimFuncRef run(const ExprEdit& on_expr, const StmtEdit& on_stmt) {
    auto result = std::make_shared<PrimFunc>(func_);
    auto exprs = [&](const PrimExpr& root) {
      return rewrite_expr(root, [&](const PrimExpr& e) { return at_site(on_expr(e)); });
    };
    auto stmts = [&](const Stmt& s) { return at_site(on_stmt(s)); };
    result->body =
        rewrite(func_.body, on_expr ? std::function<PrimExpr(const PrimExpr&)>(exprs) : nullptr,
                on_stmt ? std::function<Stmt(const Stmt&)>(stmts) : nullptr);
    return hit_ ? result : nullptr;
  }

 private:
  template <class T>
  T at_site(T edited) {
    if (!edited) return T();
    if (count_++ != wanted_) return T();
    hit_ = true;
    return edited;
  }

  const PrimFunc& func_;
  int wanted_;
  int count_ = 0;
  bool hit_ = false;
};

bool is_local(const Buffer& buffer) { return buffer->scope == Scope::kLocal; }

bool reads(const PrimExpr& expr, const Buffer& buffer) {
  bool found = false;
  visit_expr(expr, [&](const PrimExpr& e) {
    found |= e.kind() == ExprKind::kLoad && load_buffer(e) == buffer;
  });
  return found;
}

PrimExpr wrong_constant(const PrimExpr& e) {
  if (e.kind() != ExprKind::kFloat) return {};
  double value = e->float_value;
  if (!std::isfinite(value)) return {};
  return make_float(value == 0 ? 0.25 : value * 1.25, e.dtype());
}

Stmt shorter_loop(const Stmt& s, bool items) {
  if (s->kind != StmtKind::kFor) return nullptr;
  auto node = std::make_shared<ForNode>(as<ForNode>(s));
  if (node->extent.is_int() && node->extent->int_value == 0) return nullptr;
  bool is_items = node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kWorkgroup;
  if (is_items != items) return nullptr;
  PrimExpr dropped = items ? max(PrimExpr(1), floordiv(node->extent, 8)) : PrimExpr(1);
  node->extent = max(PrimExpr(0), node->extent - dropped);
  return node;
}

PrimExpr swapped(const PrimExpr& e) {
  if (e.kind() == ExprKind::kSub || e.kind() == ExprKind::kDiv) {
    if (!is_float(e.dtype())) return {};
    return make_node(e.kind(), e.dtype(), {e.operand(1), e.operand(0)});
  }
  if (e.kind() == ExprKind::kSelect && is_float(e.dtype())) {
    // Guards of loads stay: a swapped guard could leave its buffer.
    bool loads = false;
    visit_expr(e, [&](const PrimExpr& part) { loads |= part.kind() == ExprKind::kLoad; });
    if (loads) return {};
    return make_node(ExprKind::kSelect, e.dtype(), {e.operand(0), e.operand(2), e.operand(1)});
  }
  return {};
}

// Two inputs of the same dtype and shape change places.
PrimFuncRef swapped_inputs(const PrimFunc& func, int wanted) {
  for (size_t i = 0; i < func.params.size(); ++i) {
    for (size_t j = i + 1; j < func.params.size(); ++j) {
      const Param &a = func.params[i], &b = func.params[j];
      bool same = a.mode == AccessMode::kIn && b.mode == AccessMode::kIn &&
                  a.buffer->dtype == b.buffer->dtype &&
                  a.buffer->shape.size() == b.buffer->shape.size();
      for (size_t d = 0; same && d < a.buffer->shape.size(); ++d) {
        same = same_expr(a.buffer->shape[d], b.buffer->shape[d]);
      }
      if (!same || wanted-- > 0) continue;
      auto result = std::make_shared<PrimFunc>(func);
      std::swap(result->params[i], result->params[j]);
      return result;
    }
  }
  return nullptr;
}

// The start of an accumulator becomes what a register may hold.
Stmt missing_init(const Stmt& s) {
  if (s->kind != StmtKind::kStore) return nullptr;
  const auto& store = as<StoreNode>(s);
  if (!is_local(store.buffer) || !is_float(store.buffer->dtype) ||
      reads(store.value, store.buffer)) {
    return nullptr;
  }
  return make_store(store.buffer, store.indices, make_float(0.75, store.buffer->dtype));
}

Stmt wrong_accumulation(const Stmt& s) {
  if (s->kind != StmtKind::kStore) return nullptr;
  const auto& store = as<StoreNode>(s);
  if (!is_local(store.buffer) || store.buffer->dtype != DType::kF32 ||
      store.value.kind() != ExprKind::kAdd || !reads(store.value, store.buffer)) {
    return nullptr;
  }
  return make_store(store.buffer, store.indices,
                    cast(DType::kF32, cast(DType::kBF16, store.value)));
}

// Far behind everything that a process has.
constexpr int64_t kFarAway = int64_t{1} << 42;

Stmt crash(const Stmt& s) {
  if (s->kind != StmtKind::kStore) return nullptr;
  const auto& store = as<StoreNode>(s);
  if (store.buffer->scope != Scope::kGlobal || store.indices.empty()) return nullptr;
  std::vector<PrimExpr> indices = store.indices;
  indices[0] = indices[0] + PrimExpr(kFarAway);
  return make_store(store.buffer, std::move(indices), store.value);
}

// Whatever a compiler knows of loops, it has to compute each turn from the one before.
Stmt endless_loop(const Stmt& s) {
  if (s->kind != StmtKind::kStore) return nullptr;
  const auto& store = as<StoreNode>(s);
  const DType dtype = store.buffer->dtype;
  if (store.buffer->scope != Scope::kGlobal || dtype == DType::kBool) return nullptr;
  PrimExpr old = load(store.buffer, store.indices);
  PrimExpr turn = is_float(dtype) ? old * make_float(0.5, dtype) + store.value
                                  : old * make_int(3, dtype) + store.value;
  Stmt body = make_store(store.buffer, store.indices, turn);
  constexpr int64_t kTurns = int64_t{1} << 30;
  for (const char* name : {"again", "and_again"}) {
    body = make_for(make_var(name, DType::kI64), PrimExpr(kTurns), body);
  }
  return body;
}

// Accumulators of a register tile make one site together: all statements that `edit` accepts.
PrimFuncRef everywhere(const PrimFunc& func, const std::function<Stmt(const Stmt&)>& edit) {
  bool hit = false;
  auto result = std::make_shared<PrimFunc>(func);
  result->body = rewrite(func.body, {}, [&](const Stmt& s) {
    Stmt edited = edit(s);
    hit |= edited != nullptr;
    return edited;
  });
  return hit ? result : nullptr;
}

PrimFuncRef variant(const PrimFunc& func, PlantKind kind, int site) {
  SiteEditor editor(func, site);
  switch (kind) {
    case PlantKind::kWrongConstant:
      return editor.run(wrong_constant, nullptr);
    case PlantKind::kOffByOne:
      return editor.run(nullptr, [](const Stmt& s) { return shorter_loop(s, false); });
    case PlantKind::kDroppedTail:
      return editor.run(nullptr, [](const Stmt& s) { return shorter_loop(s, true); });
    case PlantKind::kSwappedOperands:
      if (PrimFuncRef result = editor.run(swapped, nullptr)) return result;
      break;
    case PlantKind::kMissingInit:
      return editor.run(nullptr, missing_init);
    case PlantKind::kWrongAccumulation:
      return site == 0 ? everywhere(func, wrong_accumulation) : nullptr;
    case PlantKind::kCrash:
      return editor.run(nullptr, crash);
    case PlantKind::kEndlessLoop:
      return editor.run(nullptr, endless_loop);
  }
  return nullptr;
}

}  // namespace

std::vector<PrimFuncRef> plant_variants(const PrimFunc& scheduled, PlantKind kind) {
  std::vector<PrimFuncRef> variants;
  for (int site = 0;; ++site) {
    PrimFuncRef one = variant(scheduled, kind, site);
    if (!one) break;
    variants.push_back(one);
  }
  if (kind == PlantKind::kSwappedOperands) {
    for (int pair = 0;; ++pair) {
      PrimFuncRef one = swapped_inputs(scheduled, pair);
      if (!one) break;
      variants.push_back(one);
    }
  }
  return variants;
}

namespace {

constexpr size_t kMostSites = 24;

std::string resolve_kernel(const Suite& suite, const std::string& wanted) {
  std::vector<std::string> matches;
  std::string known;
  for (const SuiteKernel& kernel : suite.kernels) {
    if (kernel.name == wanted) return wanted;
    if (kernel.name.starts_with(wanted)) matches.push_back(kernel.name);
    known += (known.empty() ? "" : ", ") + kernel.name;
  }
  if (matches.size() == 1) return matches[0];
  throw_user(matches.empty() ? "no such kernel" : "several kernels begin like this",
             "kernel \"" + wanted + "\"", "one of " + known,
             matches.empty() ? "" : std::to_string(matches.size()) + " matches");
}

// Outputs of all carved calls of one kernel, from an executable that holds only this kernel.
class KernelOutputs {
 public:
  KernelOutputs(const Suite& suite, const Module& kernels, const std::string& kernel,
                Sandbox& sandbox)
      : suite_(suite), kernel_(kernel), sandbox_(sandbox) {
    alone_ = passes::kernel_alone(kernels, kernel);
    alone_.attrs = kernels.attrs;
  }

  // None: it crashed.
  std::optional<std::vector<HostTensor>> of(const PrimFuncRef& implementation) {
    pipeline::ImplementOptions options;
    options.rewrite = [&](const std::string&, PrimFuncRef scheduled) {
      return implementation ? implementation : scheduled;
    };
    sandbox_.load(pipeline::implement(alone_, sandbox_.target(), options));
    std::vector<HostTensor> all;
    for (size_t c = 0; c < suite_.calls.size(); ++c) {
      if (suite_.kernels[static_cast<size_t>(suite_.calls[c].kernel)].name != kernel_) continue;
      auto outputs = run_call(suite_, c, sandbox_.runner());
      if (!outputs && sandbox_.contains(outputs.error())) {
        sandbox_.restart();
        return std::nullopt;
      }
      for (HostTensor& output : unwrap(std::move(outputs))) all.push_back(std::move(output));
    }
    return all;
  }

 private:
  const Suite& suite_;
  std::string kernel_;
  Sandbox& sandbox_;
  Module alone_;
};

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].bytes().data(), b[i].bytes().data(), a[i].byte_size()) != 0) return false;
  }
  return true;
}

}  // namespace

PlantedKernel plant(const Suite& suite, Judge& judge, const std::string& kernel, PlantKind kind,
                    Sandbox& sandbox, const std::function<bool()>& cancelled) {
  std::string name = resolve_kernel(suite, kernel);
  if (ends_process(kind) && !sandbox.isolated()) {
    throw_user("a bug of this kind ends the process that runs the kernel",
               "--plant " + name + ":" + plant_kind_name(kind), "a process of its own for it", "",
               "leave --in-process out");
  }
  const PrimFunc& loops = passes::kernel_implementation(judge.module(), name);
  PrimFuncRef scheduled = schedule::schedule_for(loops, sandbox.target()).func;
  if (kind == PlantKind::kEndlessLoop) {
    std::vector<PrimFuncRef> variants = plant_variants(*scheduled, kind);
    if (!variants.empty()) return {name, kind, variants[0], 0};
  }
  KernelOutputs outputs(suite, judge.module(), name, sandbox);
  const std::optional<std::vector<HostTensor>> clean = outputs.of(nullptr);
  auto bites = [&](const PrimFuncRef& implementation) {
    auto changed = outputs.of(implementation);
    return clean && (!changed || !same_bits(*clean, *changed));
  };
  auto first_bite = [&](PlantKind one) -> std::optional<PlantedKernel> {
    std::vector<PrimFuncRef> variants = plant_variants(*scheduled, one);
    for (size_t site = 0; site < variants.size() && site < kMostSites; ++site) {
      if (cancelled && cancelled()) throw_platform(PlatformFault::kCancelled, "interrupted");
      if (bites(variants[site])) {
        return PlantedKernel{name, one, variants[site], static_cast<int>(site)};
      }
    }
    return std::nullopt;
  };
  if (auto planted = first_bite(kind)) return *planted;
  std::string biting;
  for (const auto& [other, other_name] : plant_kinds()) {
    if (other != kind && !ends_process(other) && first_bite(other)) {
      biting += (biting.empty() ? "" : ", ") + std::string(other_name);
    }
  }
  throw_user("no site of this kind changes an output of the kernel on the carved inputs",
             "--plant " + name + ":" + plant_kind_name(kind),
             biting.empty() ? "another kernel" : "a kind that does: " + biting);
}

}  // namespace tapml::topdown
