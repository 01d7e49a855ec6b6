// The JSON fields of a profile. Internal to results/.
#pragma once

#include "topdown/profile/profile.h"
#include "topdown/results/json_archive.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, Ceilings& x) {
  a("flops_per_s", x.flops_per_s);
  a("bytes_per_s", x.bytes_per_s);
}

template <class A>
void fields(A& a, KernelProfile& x) {
  a("kernel", x.name);
  a("functions", x.functions);
  a("calls", x.calls);
  a("seconds", x.seconds);
  a("flops", x.work.flops);
  a("bytes", x.work.bytes);
  a("exact", x.work.exact);
  a("layers", x.origin.layers);
  a("lines", x.origin.lines);
}

template <class A>
void fields(A& a, Profiled& x) {
  a("target", x.target);
  a("seconds", x.seconds);
  a("ceilings", x.ceilings);
  a.items("kernels", x.kernels, [&](auto& item, KernelProfile& kernel) {
    fields(item, kernel);
    item.derived("share_of_ceiling", [&] {
      const double share = kernel.share(x.ceilings);
      return share > 0 ? real(share) : Json::null();
    });
  });
}

}  // namespace tapml::topdown
