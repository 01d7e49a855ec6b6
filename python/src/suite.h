// Carved tests as Python holds them.
#pragma once

#include <memory>
#include <string>

#include "binding.h"
#include "topdown/suite/suite.h"

namespace tapml::python {

struct CarvedSuite {
  std::shared_ptr<const topdown::Suite> suite;
  std::string folder;  // that it was read from; empty for a fresh one
};

// Its tests, as Python shows them.
py::tuple calls_of(const CarvedSuite& suite);
py::tuple groups_of(const CarvedSuite& suite);

}  // namespace tapml::python
