// C17 for the CPU's compiler: for skeletons of kernels, and as a base of languages similar to C,
// which override the differences. The cpu platform's own code comes from LLVM.
#pragma once

#include <string>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// A kernel is a function `void entry(void* const* buffers, const int64_t* scalars, int64_t begin,
// int64_t end)`, without work groups.
class HostC : public Dialect {
 public:
  std::string prelude(const std::string& functions) const override;
  std::string type_name(DType dtype) const override;
  std::string int_literal(int64_t value, DType dtype) const override;
  std::string float_literal(double value, DType dtype) const override;

  std::string begin_kernel(const DeviceFunc& function, const KernelNames& names) const override;
  std::string end_kernel() const override;

  std::string load(const std::string& buffer, const std::string& index, DType dtype) const override;
  std::string store(const std::string& buffer, const std::string& index, DType dtype,
                    const std::string& value) const override;
  std::string vector_type(DType dtype) const override;
  std::string load_vector(const std::string& buffer, const std::string& index,
                          DType) const override;
  std::string store_vector(const std::string& buffer, const std::string& index, DType,
                           const std::string& value) const override;
  std::string make_vector(const std::string& type,
                          const std::vector<std::string>& parts) const override;

  std::string shared_declaration(const std::string& name, DType, int64_t) const override;
  std::string sized_shared(const std::string& name, DType, size_t) const override;
  LoopText group_loop(const std::string&, const std::string&, int, DType) const override;
  std::string barrier() const override;
  std::string thread_index(int64_t) const override;

  std::string wrapped(const std::string& text, DType dtype) const override;
  std::string wrapping(const std::string& a, const char* op, const std::string& b,
                       DType dtype) const override;
  std::string shift(const std::string& a, const std::string& n, DType dtype,
                    bool left) const override;
  std::string shift_fits(const std::string& n, DType dtype) const override;
  std::string remainder(const std::string& a, const std::string& b, DType) const override;

  std::string convert(const std::string& text, DType from, DType to) const override;
  std::string reinterpret(const std::string& text, DType from, DType to) const override;

  std::string intrinsic(const std::string& name, const std::vector<std::string>& args,
                        DType dtype) const override;

  std::string round_narrow(const std::string& text, DType dtype) const override;

 private:
  static std::string conversion(DType from, DType to);
  std::string conversion_text(DType from, DType to) const;
  std::string memory_type(DType dtype) const;
};

}  // namespace tapml::codegen
