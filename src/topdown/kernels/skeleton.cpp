#include "topdown/kernels/skeleton.h"

#include <algorithm>
#include <set>

#include "codegen/code_generators.h"
#include "codegen/custom/custom_kernels.h"
#include "codegen/lower/index_signs.h"
#include "codegen/lower/name_coordinates.h"
#include "codegen/lower/narrow_index.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/kernels/custom_kernels.h"

namespace tapml::topdown {

namespace {

constexpr const char* kComment = "// ";

std::string commented(const std::string& text, const std::string& indent) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    result += line.empty() ? "//\n" : kComment + indent + line + "\n";
    begin = end + 1;
  }
  return result;
}

// The parameters of `lowered`, with names for workspaces that no other tensor has.
std::vector<tir::Param> named_tensors(const tir::PrimFunc& func,
                                      const codegen::LoweredKernel& lowered) {
  std::vector<tir::Param> tensors = func.params;
  std::set<std::string> taken;
  for (const tir::Param& param : func.params) taken.insert(param.buffer->name);
  for (const Var& scalar : func.scalars) taken.insert(scalar->name);
  for (const tir::Buffer& workspace : lowered.workspaces) {
    std::string name = workspace->name;
    for (int i = 1; !taken.insert(name).second; ++i) {
      name = workspace->name + "_" + std::to_string(i);
    }
    tensors.push_back(
        {tir::make_buffer(name, workspace->dtype, workspace->shape), AccessMode::kWorkspace});
  }
  return tensors;
}

// `func`'s signature as text, and the names of tensors and scalars in it, which are unique in one
// text.
struct Header {
  std::string text;  // up to its closing parenthesis
  std::vector<std::string> tensors;
  std::vector<Var> scalars;
  VarMap values;  // of the function's scalars
};

Header header_of(const tir::PrimFunc& func, const std::string& name,
                 const std::vector<tir::Param>& tensors) {
  tir::PrimFunc signature = func;
  signature.params = tensors;
  signature.facts = {};
  signature.attrs.clear();
  signature.body = tir::make_seq({});
  Header header;
  header.text = text::print(signature, name);
  const Module read = text::parse("module\n" + header.text, name);
  const tir::PrimFunc& named = *tir::as_prim_func(read.functions.at(name).get());
  for (const tir::Param& param : named.params) header.tensors.push_back(param.buffer->name);
  for (size_t i = 0; i < func.scalars.size(); ++i) {
    header.scalars.push_back(named.scalars.at(i));
    header.values[func.scalars[i].get()] = named.scalars.at(i);
  }
  header.text.erase(header.text.rfind(')') + 1);
  return header;
}

std::string launch_line(const codegen::DeviceFunc& launch, const Header& header) {
  std::string names;
  for (int32_t index : launch.buffer_indices) {
    names += (names.empty() ? "" : ", ") + header.tensors.at(static_cast<size_t>(index));
  }
  for (int32_t index : launch.scalar_indices) {
    names +=
        (names.empty() ? "" : ", ") + text::print(header.scalars.at(static_cast<size_t>(index)));
  }
  return "launch " + launch.entry + "(" + names + ") over " +
         text::print(substitute(launch.invocations(), header.values)) + " in groups of " +
         std::to_string(launch.workgroup_threads);
}

// A kernel's loops, ready for an emitter.
struct Plain {
  std::vector<codegen::DeviceFunc> launches;
  std::string header;
};

Plain plain_launches(const tir::PrimFunc& func, const std::string& name,
                     const target::Target& target, tir::PrimFuncRef scheduled) {
  const codegen::CodeGenerator& generator = codegen::generator_of(target);
  if (!codegen::custom_kernels_of(target).calls_functions()) {
    scheduled = passes::lower_math(*scheduled);
  }
  codegen::LoweredKernel lowered = codegen::lower_prim_func(*scheduled, name);
  Plain plain;
  const Header header = header_of(func, name, named_tensors(func, lowered));
  plain.header = header.text + "\n";
  for (codegen::DeviceFunc& launch : lowered.launches) {
    if (!launch.grid.empty() || !launch.shared.empty()) {
      throw_user("kernel " + name +
                     " has a grid of several dimensions, or shared memory whose size "
                     "depends on its scalars",
                 "", "a kernel that a custom kernel can replace", launch.entry,
                 "fuse its work-group loops, and give its shared buffers a constant shape");
    }
    if (generator.needs_narrow_index()) {
      const bool wide = target.description.features.compute_dtypes.contains(DType::kI64);
      // Narrow scalars are not the scalars of the extent.
      const codegen::IndexSigns signs(launch);
      std::vector<size_t> positive;
      for (size_t i = 0; i < launch.scalars.size(); ++i) {
        if (signs.positive(launch.scalars[i])) positive.push_back(i);
      }
      codegen::narrow_index(launch, wide, "kernel " + name + " on " + target.text, true);
      for (size_t i : positive) launch.positive.push_back(launch.scalars.at(i));
    }
    codegen::name_coordinates(launch);
    plain.header += launch_line(launch, header) + "\n";
    plain.launches.push_back(std::move(launch));
  }
  return plain;
}

}  // namespace

std::string kernel_skeleton(const Module& fixed, const std::string& name,
                            const target::Target& target) {
  custom_source_ending(target);  // throws if it has no language
  const tir::PrimFunc& func = passes::kernel_implementation(fixed, name);
  const target::Description& description = target.description;
  const Plain plain = plain_launches(func, name, target, schedule::fallback(func, target).func);
  Module spec = passes::kernel_alone(fixed, name);
  spec.functions.erase(passes::kernel_spec(fixed, name).facts.implementation);
  std::string computes = text::print(spec);
  computes.erase(0, computes.find_first_not_of('\n', std::string("module").size()));
  std::string body = codegen::custom_kernels_of(target).skeleton(plain.launches, target);
  body.erase(0, body.find_first_not_of('\n'));
  return commented(
             "Kernel " + name + " for " + description.platform + ", in " +
                 description.kernel_language.language +
                 ". tapml reads the lines from `prim def` to the\nlast `launch`: the signature and "
                 "the launches. The name may omit its hash (docs/custom-kernels.md).\n\n",
             "") +
         commented(plain.header, "") +
         commented("\nWhat it computes, in the text format (docs/text-format.md):\n\n", "") +
         commented(computes, "  ") +
         commented(
             "\nThe loops below are the compiler's plainest: right, and slow. Replace them.\n",
             "") +
         "\n" + body;
}

}  // namespace tapml::topdown
