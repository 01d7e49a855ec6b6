#include "topdown/kernels/custom_kernels.h"

#include <algorithm>
#include <filesystem>

#include "arith/analyzer.h"
#include "arith/scalar_program.h"
#include "base/log.h"
#include "base/strings.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::topdown {

namespace {

// Whether the header's parameters match the kernel's, by position; names may differ.
bool same_signature(const CustomSource& source, const tir::PrimFunc& kernel) {
  std::vector<tir::Param> params = source.tensors();
  std::erase_if(params,
                [](const tir::Param& param) { return param.mode == AccessMode::kWorkspace; });
  const std::vector<Var>& scalars = source.signature->scalars;
  if (params.size() != kernel.params.size() || scalars.size() != kernel.scalars.size()) {
    return false;
  }
  VarMap renamed;
  for (size_t i = 0; i < scalars.size(); ++i) renamed[scalars[i].get()] = kernel.scalars[i];
  arith::Analyzer analyzer;
  for (size_t i = 0; i < params.size(); ++i) {
    const tir::Buffer &mine = params[i].buffer, &its = kernel.params[i].buffer;
    if (params[i].mode != kernel.params[i].mode || mine->dtype != its->dtype ||
        mine->shape.size() != its->shape.size()) {
      return false;
    }
    for (size_t d = 0; d < mine->shape.size(); ++d) {
      if (!analyzer.prove_equal(substitute(mine->shape[d], renamed), its->shape[d])) return false;
    }
  }
  return true;
}

void warn_of_no_kernel(const CustomSource& source, const std::vector<std::string>& names) {
  std::string text = source.where(source.line) + ": no kernel is called " + source.name + " or " +
                     source.name + "_<8 hex>; this source is not used";
  const std::string closest = kernel_suggestion(source.name, names);
  log_warning(closest.empty() ? text : text + " (" + closest + ")");
}

}  // namespace

std::string custom_source_ending(const target::Target& target) {
  const target::Description& platform = target.description;
  if (!platform.kernel_language.ending.empty()) return platform.kernel_language.ending;
  std::string taken;
  for (const target::Platform& known : target::platforms()) {
    const target::Description& one = known.description;
    if (one.kernel_language.ending.empty()) continue;
    taken += (taken.empty() ? "" : ", ") + one.platform + " (" + one.kernel_language.language + ")";
  }
  throw_user("platform " + platform.platform + " does not support custom kernels", target.text,
             "one of " + taken, platform.platform);
}

std::vector<CustomSource> read_custom_sources(const std::string& folder,
                                              const target::Target& target) {
  const std::string ending = custom_source_ending(target);
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ending) files.push_back(it->path().string());
  }
  if (error) {
    throw_user("cannot read the folder of kernels", folder, "a folder with sources",
               error.message());
  }
  std::sort(files.begin(), files.end());
  std::vector<CustomSource> sources;
  for (const std::string& file : files) {
    sources.push_back(parse_custom_source(file, unwrap(read_text_file(file))));
  }
  if (sources.empty()) log_warning(folder + " has no file *" + ending + ": no kernel is replaced");
  return sources;
}

bool names_kernel(const CustomSource& source, const std::string& kernel) {
  return source.name == kernel || source.name == operators_in(kernel);
}

CustomKernels::CustomKernels(std::vector<CustomSource> sources, const Module& fixed)
    : sources_(std::move(sources)) {
  const std::vector<std::string> names = kernel_names(fixed);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const CustomSource& source = sources_[i];
    std::vector<std::string> named, fits;
    for (const std::string& name : names) {
      if (!names_kernel(source, name)) continue;
      named.push_back(name);
      if (same_signature(source, passes::kernel_implementation(fixed, name))) fits.push_back(name);
    }
    if (named.empty()) {
      warn_of_no_kernel(source, names);
      continue;
    }
    if (fits.empty()) {
      const std::string expected = join(
          named,
          [&](const std::string& name) {
            return name + signature_text(passes::kernel_implementation(fixed, name));
          },
          ", or ");
      throw_user("the signature in the header is not that of the kernel", source.where(source.line),
                 expected, source.name + signature_text(*source.signature),
                 "`tapml kernel skeleton SUITE " + named[0] + " --target T` prints the right one");
    }
    for (const std::string& name : fits) {
      auto [known, fresh] = kernels_.emplace(name, i);
      if (fresh) continue;
      const bool exact = source.name == name, was_exact = sources_[known->second].name == name;
      if (exact == was_exact) {
        throw_user("two sources fit kernel " + name, source.where(source.line), "one source",
                   sources_[known->second].file + " and " + source.file,
                   "remove one, or put the kernel's whole name, with the hash, into one header");
      }
      if (exact) known->second = i;
    }
  }
}

std::map<std::string, const CustomSource*> CustomKernels::kernels() const& {
  std::map<std::string, const CustomSource*> result;
  for (const auto& [kernel, source] : kernels_) result[kernel] = &sources_[source];
  return result;
}

std::map<std::string, pipeline::ForeignKernel> CustomKernels::compile(
    const Module& fixed, const target::Target& target,
    const std::function<bool()>& cancelled) const {
  if (kernels_.empty()) return {};
  const codegen::CustomKernels& language = codegen::custom_kernels_of(target);
  std::map<size_t, ModuleBlob> modules;  // by source
  std::map<std::string, pipeline::ForeignKernel> code;
  for (const auto& [kernel, number] : kernels_) {
    if (!fixed.functions.contains(kernel)) continue;
    const CustomSource& source = sources_[number];
    if (!modules.contains(number)) {
      modules[number] = codegen::compile_custom_module(source, target, cancelled);
    }
    pipeline::ForeignKernel& foreign = code[kernel];
    foreign.module = modules[number];
    Implementation& implementation = foreign.implementation;
    implementation.provider = "user:" + source.file;
    const std::vector<Var>& scalars = source.signature->scalars;
    for (const tir::Param& param : source.tensors()) {
      if (param.mode != AccessMode::kWorkspace) continue;
      ParamInfo info;
      info.name = param.buffer->name;
      info.dtype = param.buffer->dtype;
      info.mode = AccessMode::kWorkspace;
      for (const PrimExpr& dim : param.buffer->shape) {
        info.dims.push_back(arith::compile_scalar(dim, scalars));
      }
      implementation.workspaces.push_back(std::move(info));
    }
    for (size_t i = 0; i < source.launches.size(); ++i) {
      const codegen::CustomLaunch& launch = source.launches[i];
      LaunchInfo info;
      info.entry = language.entry(source, i);
      info.extent = arith::compile_scalar(launch.extent, scalars);
      info.workgroup_threads = launch.group;
      info.buffers = launch.buffers;
      info.scalars = launch.scalars;
      implementation.launches.push_back(std::move(info));
    }
  }
  return code;
}

void CustomKernels::check(const std::map<std::string, pipeline::ForeignKernel>& code,
                          const target::Target& target, runtime::Session& session) const {
  for (const auto& [kernel, foreign] : code) {
    const CustomSource& source = sources_[kernels_.at(kernel)];
    const ModuleBlob& module = foreign.module;
    const runtime::ModuleId id{session.new_handle()};
    auto done = [&](const Status& status, const std::string& entry) {
      Status result = status;
      if (result) result = session.synchronize(runtime::kDefaultStream);
      if (result) return;
      Error error = result.error();
      if (error.kind != ErrorKind::kInternal) throw_error(std::move(error));
      if (!entry.empty()) {
        throw_user("this source has no kernel " + entry, source.where(source.line),
                   "a function " + entry + ", as the header's launch says", error.message);
      }
      codegen::refuse_custom_source(source, target,
                                    error.found.empty() ? error.message : error.found);
    };
    done(session.load_module(id, module), "");
    for (const std::string& entry : module.entries) {
      const runtime::KernelId kernel{session.new_handle()};
      done(session.get_kernel(kernel, id, entry), entry);
      session.release_kernel(kernel);
    }
    session.unload_module(id);
  }
}

}  // namespace tapml::topdown
