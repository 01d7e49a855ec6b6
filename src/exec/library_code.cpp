#include "exec/library_code.h"

#include "exec/fields.h"
#include "exec/validate_function.h"

namespace tapml {

template <class A>
void fields(A& a, LibraryTensor& x) {
  a.choice(x.dtype, DType::kF64);
  a(x.dims);
}

template <class A>
void fields(A& a, LibraryCode& x) {
  a(x.entry);
  a(x.library);
  a(x.routine);
  a(x.parameters);
  a(x.inputs);
  a(x.outputs);
}

ModuleBlob write_library_module(const std::string& platform, const std::vector<LibraryCode>& code) {
  ModuleBlob blob;
  blob.platform = platform;
  blob.format = kLibraryFormat;
  for (const LibraryCode& one : code) blob.entries.push_back(one.entry);
  ByteWriter writer;
  writer(code);
  blob.bytes = writer.take();
  return blob;
}

Result<std::vector<LibraryCode>> read_library_module(const ModuleBlob& module) {
  std::vector<LibraryCode> code;
  ByteReader reader(module.bytes);
  reader(code);
  TAPML_TRY(reader.finish("module of library calls"));
  return code;
}

Status check_library_launch(const std::vector<LibraryCode>& code, const LaunchInfo& launch,
                            const std::string& where) {
  const LibraryCode* found = nullptr;
  for (const LibraryCode& one : code) {
    if (one.entry == launch.entry) found = &one;
  }
  if (!found) return fail(refused(where, "its module has no library call of this entry"));
  if (launch.buffers.size() != found->inputs.size() + found->outputs.size()) {
    return fail(refused(where, "its buffers are not those of the library call"));
  }
  for (const auto* list : {&found->inputs, &found->outputs}) {
    for (const LibraryTensor& tensor : *list) {
      if (tensor.dims.size() > kMaxRank) {
        return fail(refused(where, "a tensor has too many dimensions"));
      }
      for (const ScalarProgram& dim : tensor.dims) {
        TAPML_TRY(check_program(dim, launch.scalars.size(), where + ", " + found->routine));
      }
    }
  }
  return {};
}

}  // namespace tapml
