// Bounds the recursion of a renderer. Internal to the component.
#pragma once

#include "template/renderer.h"

namespace tapml::jinja {

class Renderer::Depth {
 public:
  explicit Depth(Renderer& renderer);
  ~Depth();
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

  Status check() const;

 private:
  Renderer& renderer_;
};

}  // namespace tapml::jinja
