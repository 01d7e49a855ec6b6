#include "fuzz/oracles/null_calls.h"

#include <algorithm>

#include "arith/evaluate.h"
#include "fuzz/oracles/vm_values.h"
#include "ir/exceptions.h"
#include "passes/memory/report.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "runtime/counting_device.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::fuzz {

namespace {

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

std::vector<runtime::Value> machine_arguments(const Program& program, runtime::Session& session,
                                              const Executable& executable) {
  std::vector<runtime::Value> args;
  for (const interp::Value& argument : program.arguments) {
    args.push_back(to_machine(session, executable, argument));
  }
  return args;
}

}  // namespace

target::Target null_target() {
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
  const auto executable = pipeline::implement(formed, null_target(), options);
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
  const auto args = machine_arguments(program, *counted, *executable);
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

std::string bound_difference(const Module& formed, const Program& program, const std::string& name,
                             runtime::Session& session) {
  const auto extents = extents_of(program.module, program.arguments);
  const auto extent = extents.find(name);
  if (extent == extents.end() || extent->second == 0) return "";
  pipeline::ImplementOptions options;
  options.threads = 1;
  options.memory.bounds[name] = extent->second - 1;
  const auto executable = pipeline::implement(formed, null_target(), options);
  const auto vm = unwrap(runtime::LocalVirtualMachine::create(
      session, executable, machine_functions(*executable, packed_functions())));
  const auto result = vm->call("main", machine_arguments(program, session, *executable));
  const std::string bound = name + " <= " + std::to_string(extent->second - 1);
  if (result) return "an argument above the bound " + bound + " is accepted";
  const std::string text = result.error().to_string();
  if (result.error().kind != ErrorKind::kUser) {
    return "an argument above the bound " + bound + " is no error of the user: " + text;
  }
  for (const std::string& part : {std::string("bound"), std::string("main"), bound}) {
    if (text.find(part) == std::string::npos) {
      return "the diagnostic of an argument above its bound lacks '" + part + "': " + text;
    }
  }
  return "";
}

}  // namespace tapml::fuzz
