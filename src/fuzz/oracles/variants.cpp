#include "fuzz/oracles/variants.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "arith/evaluate.h"
#include "base/strings.h"
#include "fuzz/oracles/vm_values.h"
#include "ir/exceptions.h"
#include "op/generate.h"
#include "passes/memory/report.h"
#include "passes/specialize.h"
#include "pipeline/compile.h"
#include "pipeline/preconditions.h"
#include "relax/visit.h"
#include "runtime/counting_device.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kStatic = "static shapes";
constexpr const char* kWithout = "without ";
constexpr const char* kOrder = "order ";
// Passes of an order, some of which change nothing.
constexpr int kMostPasses = 16;

std::vector<std::string> passes_to_leave_out() {
  std::vector<std::string> names;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (pass.is_common() && pass.without) names.emplace_back(pass.name);
  }
  return names;
}

std::vector<const pipeline::PassInfo*> passes_to_shuffle() {
  std::vector<const pipeline::PassInfo*> passes;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (pass.run && (pass.is_common() || pass.is_by_name_only())) passes.push_back(&pass);
  }
  return passes;
}

// An order whose passes find their requirements met. A pass that fails ends it.
std::string draw_order(const Module& input, RandomStream& rng) {
  static const auto kPasses = passes_to_shuffle();
  Module module = input;
  std::vector<std::string> order;
  for (int i = 0; i < kMostPasses; ++i) {
    const pipeline::PassInfo& pass = *op::pick(kPasses, rng);
    if (!guard([&] { pipeline::check_precondition(module, pass); })) continue;
    order.emplace_back(pass.name);
    if (!guard([&] { module = pass.run(module); })) break;
  }
  return order.empty() ? "" : kOrder + join(order, ",");
}

// Whether a call's peak may be less than that of its module, or more: packed functions allocate
// what they return.
struct Calls {
  bool ifs = false, packed = false;
};

Calls calls_of(const Module& module) {
  Calls found;
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph) continue;
    relax::visit(graph->body, [&](const relax::Expr& part) {
      found.ifs |= relax::as<relax::IfNode>(part) != nullptr;
      const auto* call = relax::as<relax::CallNode>(part);
      found.packed |= call && relax::as<relax::ExternFuncNode>(call->callee);
    });
  }
  return found;
}

}  // namespace

std::string draw_variant(const Program& program, RandomStream& rng) {
  static const auto kLeftOut = passes_to_leave_out();
  switch (rng.below(4)) {
    case 0:
      return extents_of(program.module, program.arguments).empty() ? "" : kStatic;
    case 1:
      return kWithout + op::pick(kLeftOut, rng);
    case 2:
      return draw_order(program.module, rng);
    default:
      return kMemoryVariant;
  }
}

std::string variant_kind(const std::string& variant) {
  return variant.starts_with(kOrder) ? "shuffled" : variant;
}

Module formed_as(const std::string& variant, const Program& program,
                 const pipeline::Instruments& instruments) {
  Module module = program.module;
  pipeline::Instruments own = instruments;
  if (variant == kStatic) {
    module = passes::specialize(module, "main", extents_of(module, program.arguments));
    if (own.after) own.after("specialize", module);
  } else if (variant.starts_with(kWithout)) {
    own.skip.push_back(variant.substr(std::string(kWithout).size()));
  } else if (variant.starts_with(kOrder)) {
    std::istringstream order(variant.substr(std::string(kOrder).size()));
    int number = 0;
    for (std::string pass; std::getline(order, pass, ',');) {
      module = pipeline::run_by_name(module, pass, nullptr, own, number);
    }
    return module;
  }
  return pipeline::form_kernels(module, own);
}

target::Target counting_target() {
  for (const target::Platform& platform : target::platforms()) {
    if (!platform.description.computes) return target::parse_target(platform.description.platform);
  }
  throw_internal("there is no platform that computes nothing");
}

std::string memory_difference(const Module& formed, const Program& program,
                              std::shared_ptr<runtime::Session> session) {
  const Calls calls = calls_of(formed);
  if (calls.packed) return "";
  pipeline::ImplementOptions options;
  options.threads = 1;
  Module planned;
  options.planned = &planned;
  const auto executable = pipeline::implement(formed, counting_target(), options);
  const passes::MemoryReport report = passes::memory_report(planned);
  const auto main = std::ranges::find(report.functions, "main", &passes::FunctionMemory::name);
  if (main == report.functions.end() || !main->peak) return "";
  const auto extents = extents_of(program.module, program.arguments);
  arith::Values values;
  for (const Var& variable : free_vars(main->peak)) {
    const auto extent = extents.find(variable->name);
    if (extent == extents.end()) return "";
    values[variable.get()] = extent->second;
  }
  const auto predicted = arith::evaluate(main->peak, values);
  if (!predicted) return "";

  auto& local = dynamic_cast<runtime::LocalSession&>(*session);
  const auto device = std::make_shared<runtime::CountingDevice>(
      std::shared_ptr<runtime::Device>(session, &local.device()));
  const auto counted = unwrap(runtime::LocalSession::create(device));
  std::vector<runtime::Value> args;
  for (const interp::Value& argument : program.arguments) {
    args.push_back(to_machine(*counted, *executable, argument));
  }
  const int64_t before = device->counts().live_bytes;
  const auto vm = unwrap(runtime::LocalVirtualMachine::create(
      *counted, executable, machine_functions(*executable, packed_functions())));
  // Nothing is computed on this device, so control flow and shapes may be others than those of the
  // program.
  if (!vm->call("main", args)) return "";
  const int64_t measured = device->counts().peak_bytes - before;
  // A call reaches an exact peak if it takes the branches that need most.
  const bool equal = main->exact && !calls.ifs;
  if (equal ? measured == *predicted : measured <= *predicted) return "";
  return "a call allocates " + std::to_string(measured) + " bytes, " + (equal ? "" : "at most ") +
         std::to_string(*predicted) + " are predicted";
}

}  // namespace tapml::fuzz
