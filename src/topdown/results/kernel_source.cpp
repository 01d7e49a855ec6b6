#include "topdown/results/kernel_source.h"

namespace tapml::topdown {

std::string KernelSource::file_name() const {
  if (language == "assembly") return "kernel.s";
  return language == "opencl-c" ? "kernel.cl" : language == "glsl" ? "kernel.comp" : "kernel.c";
}

}  // namespace tapml::topdown
