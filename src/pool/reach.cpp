#include "src/pool/reach.hpp"

#include "src/base/loopback.hpp"

namespace assay::pool {

reach reach_of(const replica_view& r, bool plaintext_accepted, std::string_view here) {
  if (r.loopback.empty() || here.empty() || r.loopback == here)
    return reach::reached;
  if (!plaintext_accepted)
    return reach::plaintext_refused;
  auto ip = r.address.substr(0, r.address.rfind(':'));
  return is_loopback_address(ip) ? reach::loopback_elsewhere : reach::reached;
}

std::string_view why_unreached(reach r) {
  switch (r) {
  case reach::reached:
    return {};
  case reach::plaintext_refused:
    return "this ingress is on another host, and the pool does not say `plaintext: accepted`: only "
           "an ingress on the replica's own host serves it";
  case reach::loopback_elsewhere:
    return "it listens on the loopback of its host, and this ingress is on another one: give its "
           "agent an `address` that other hosts reach, and start its replicas anew";
  }
  return {};
}

} // namespace assay::pool
