#pragma once
// One assayd, whole: opens what must not be lost, starts what runs, ties it together, and takes it
// down in order.
//
//   data directory -> ledger engine -> blobs -> actors -> fabric -> ingress -> listeners ->
//   (standalone: the agent)
//
// This is the only place that knows every part; nothing here decides anything.

#include "src/app/place.hpp"
#include "src/app/settings.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <memory>

namespace assay::app {

class node {
public:
  /// Everything runs when it returns.
  static result<std::unique_ptr<node>, problem> start(settings how, std::optional<place> where);

  /// Drains the ingress, stops actors and threads, and leaves the ledger durable. The agent and its
  /// replicas go on.
  ~node();

private:
  struct whole;
  explicit node(std::unique_ptr<whole> all);
  std::unique_ptr<whole> whole_;
};

} // namespace assay::app
