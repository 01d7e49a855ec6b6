#include "topdown/suite/check_suite.h"

#include <set>

#include "analysis/verifier.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "text/parser.h"
#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

namespace {

using relax::Annotation;
using tir::Param;

class KernelCheck {
 public:
  // The limit for a parameter of a group's call.
  static constexpr int64_t kMostBytes = int64_t{1} << 33;

  KernelCheck(const SuiteKernel& kernel, const std::string& file)
      : kernel_(kernel), where_(file + ", kernel " + kernel.name) {}

  void run() {
    module_ = text::parse(kernel_.spec, "spec of " + kernel_.name);
    analysis::verify_input(module_, where_);
    const auto* spec = relax::as_relax_function(module_.find(kernel_.name));
    const std::string name = passes::is_kernel(spec) ? spec->facts.implementation : "";
    program_ = tir::as_prim_func(module_.find(name));
    if (!program_ || name != kernel_.name + "_impl" ||
        module_.functions.size() != passes::kernel_alone(module_, kernel_.name).functions.size() ||
        !calls_programs(*spec)) {
      wrong("a kernel's text does not hold its spec and implementation",
            "@" + kernel_.name + " and @" + kernel_.name + "_impl", "");
    }
    check_signature();
    check_results(*spec);
  }

  // Checks the tensors that the call itself names.
  void check_call(const SuiteCall& call, const std::map<std::string, HostTensor>& tensors) const {
    if (call.scalars.size() != program_->scalars.size()) {
      wrong("a call does not fit its kernel", std::to_string(program_->scalars.size()) + " scalars",
            std::to_string(call.scalars.size()));
    }
    for (size_t i = 0; i < program_->params.size(); ++i) {
      for (const auto* hashes : {&call.before, &call.after}) {
        if (!(*hashes)[i].empty()) check_tensor(call, i, tensors.at((*hashes)[i]));
      }
    }
  }

  void check_tensor(const SuiteCall& call, size_t index, const HostTensor& tensor) const {
    const Param& param = program_->params[index];
    const Shape shape = shape_of(call, index);
    if (tensor.dtype() == param.buffer->dtype && tensor.shape() == shape) return;
    wrong("a carved tensor does not fit parameter " + param.buffer->name,
          std::string(dtype_name(param.buffer->dtype)) + shape_to_string(shape),
          std::string(dtype_name(tensor.dtype())) + shape_to_string(tensor.shape()));
  }

  // Checks tensors that no tensor of the suite bounds: they are allocated when the group runs.
  void check_sizes(const SuiteCall& call) const {
    for (size_t i = 0; i < program_->params.size(); ++i) {
      const Shape shape = shape_of(call, i);
      const auto bytes = checked_byte_count(dtype_of(i), shape);
      if (bytes && *bytes <= kMostBytes) continue;
      wrong("a tensor of a group is too large: parameter " + program_->params[i].buffer->name,
            std::to_string(kMostBytes) + " bytes at most",
            std::string(dtype_name(dtype_of(i))) + shape_to_string(shape));
    }
  }

  // Checks a parameter of this kernel that reads the output of another call.
  void check_link(const SuiteCall& call, size_t index, const KernelCheck& writer,
                  const SuiteCall& written, size_t source) const {
    const DType dtype = dtype_of(index), found = writer.dtype_of(source);
    const Shape shape = shape_of(call, index), other = writer.shape_of(written, source);
    const auto elements = checked_element_count(shape), others = checked_element_count(other);
    if (dtype == found && elements && others && *elements == *others) return;
    wrong("a link of a group does not fit parameter " + program_->params[index].buffer->name,
          "as many elements as " + std::string(dtype_name(dtype)) + shape_to_string(shape),
          std::string(dtype_name(found)) + shape_to_string(other));
  }

 private:
  [[noreturn]] void wrong(const std::string& message, const std::string& expected,
                          const std::string& found) const {
    throw_user(message, where_, expected, found, "carve the suite again");
  }

  // Whether a spec calls, beside operators, only tensor programs and never its own implementation.
  bool calls_programs(const relax::Function& spec) const {
    for (const std::string& name : passes::programs_of(spec)) {
      const auto* called = tir::as_prim_func(module_.find(name));
      if (!called || !called->facts.spec.empty()) return false;
    }
    return true;
  }

  void check_signature() const {
    if (program_->params.size() != kernel_.params.size()) {
      wrong("the signature of a kernel does not fit its spec",
            std::to_string(program_->params.size()) + " parameters",
            std::to_string(kernel_.params.size()));
    }
    bool writes = false;
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      AccessMode mode = program_->params[i].mode;
      bool known =
          mode == AccessMode::kIn || mode == AccessMode::kOut || mode == AccessMode::kInOut;
      if (!known || mode != kernel_.modes[i]) {
        wrong("the signature of a kernel does not fit its spec",
              kernel_.params[i] + " of mode " + access_mode_name(mode),
              access_mode_name(kernel_.modes[i]));
      }
      writes |= mode != AccessMode::kIn;
    }
    if (!writes) wrong("a kernel writes nothing", "an out or inout parameter", "");
  }

  static bool fits(const Annotation& annotation, const tir::Buffer& buffer) {
    const auto* tensor = relax::as_tensor(annotation);
    return tensor && tensor->shape && tensor->shape->size() == buffer->shape.size() &&
           tensor->dtype == buffer->dtype;
  }

  // Arguments and results of the spec are the program's parameters, each used once.
  void check_results(const relax::Function& spec) const {
    std::vector<const Param*> read, fresh;
    for (const Param& param : program_->params) {
      (param.mode == AccessMode::kOut ? fresh : read).push_back(&param);
    }
    bool good = spec.params.size() >= read.size() && spec.params.size() <= read.size() + 1;
    for (size_t i = 0; good && i < read.size(); ++i) {
      good = fits(spec.params[i]->annotation, read[i]->buffer);
    }
    if (good && spec.params.size() > read.size()) {
      good = relax::as_shape(spec.params.back()->annotation) != nullptr;
    }
    std::vector<Annotation> results = {spec.result};
    if (const auto* tuple = relax::as_tuple(spec.result)) results = tuple->fields;
    const std::vector<int64_t>& inout = spec.facts.inout_indices;
    std::set<const Param*> written;
    size_t next = 0;
    for (size_t j = 0; good && j < results.size(); ++j) {
      int64_t source = j < inout.size() ? inout[j] : -1;
      const Param* param = nullptr;
      if (source < 0) {
        param = next < fresh.size() ? fresh[next++] : nullptr;
      } else if (source < static_cast<int64_t>(read.size()) &&
                 read[static_cast<size_t>(source)]->mode == AccessMode::kInOut) {
        param = read[static_cast<size_t>(source)];
      }
      good = param && fits(results[j], param->buffer) && written.insert(param).second;
    }
    for (const Param& param : program_->params) {
      good = good && (param.mode == AccessMode::kIn) != written.contains(&param);
    }
    if (!good) wrong("the spec of a kernel does not fit its implementation", "", "");
  }

  DType dtype_of(size_t index) const { return program_->params[index].buffer->dtype; }

  Shape shape_of(const SuiteCall& call, size_t index) const {
    const Param& param = program_->params[index];
    std::optional<Shape> shape = parameter_shape(param, scalar_values(*program_, call.scalars));
    if (!shape) wrong("a dimension of " + param.buffer->name + " has no value", "0 or more", "");
    return *std::move(shape);
  }

  const SuiteKernel& kernel_;
  std::string where_;
  Module module_;
  const tir::PrimFunc* program_ = nullptr;
};

void check_group(const SuiteGroup& group, const std::vector<KernelCheck>& checks,
                 const std::map<std::string, HostTensor>& tensors) {
  auto call_at = [&](const CallParameter& place) -> const SuiteCall& {
    return group.calls[place.call];
  };
  auto check_at = [&](const CallParameter& place) -> const KernelCheck& {
    return checks[static_cast<size_t>(call_at(place).kernel)];
  };
  for (const SuiteCall& call : group.calls) {
    checks[static_cast<size_t>(call.kernel)].check_call(call, tensors);
    checks[static_cast<size_t>(call.kernel)].check_sizes(call);
  }
  for (const auto& [from, to] : group.links) {
    check_at(to).check_link(call_at(to), to.param, check_at(from), call_at(from), from.param);
  }
  for (const auto* values : {&group.inputs, &group.outputs}) {
    for (const GroupValue& value : *values) {
      const CallParameter& place = value.place;
      check_at(place).check_tensor(call_at(place), place.param, tensors.at(value.hash));
    }
  }
}

}  // namespace

Status check_suite(const Suite& suite, const std::string& file) {
  return guard([&] {
    std::set<std::string> names;
    std::vector<KernelCheck> checks;
    for (const SuiteKernel& kernel : suite.kernels) {
      if (!names.insert(kernel.name).second) {
        throw_user("two kernels of the suite have the same name", file, "", kernel.name);
      }
      checks.emplace_back(kernel, file).run();
    }
    for (const SuiteCall& call : suite.calls) {
      checks[static_cast<size_t>(call.kernel)].check_call(call, suite.tensors);
    }
    for (const SuiteGroup& group : suite.groups) check_group(group, checks, suite.tensors);
  });
}

}  // namespace tapml::topdown
