#include "src/http/upstream_pool.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::http {

std::unique_ptr<upstream_link>
upstream_pool::take(const pool::endpoint_counters& endpoint, steady_time now) {
  auto found = kept_.find(&endpoint);
  if (found == kept_.end())
    return nullptr;
  auto& links = found->second.links;
  while (!links.empty()) {
    auto link = std::move(links.back());
    links.pop_back();
    if (now - link->idle_since <= idle_ && !is_stale(link->socket)) {
      link->reused = true;
      return link;
    }
  }
  return nullptr;
}

void upstream_pool::keep(
  const std::shared_ptr<pool::endpoint_counters>& endpoint,
  std::unique_ptr<upstream_link> link,
  steady_time now
) {
  auto& shelf = kept_[endpoint.get()];
  if (!shelf.endpoint)
    shelf.endpoint = endpoint;
  if (shelf.links.size() >= limits::upstream_idle_per_endpoint)
    return;
  link->idle_since = now;
  shelf.links.push_back(std::move(link));
}

std::size_t upstream_pool::sweep(steady_time now) {
  std::size_t kept = 0;
  for (auto at = kept_.begin(); at != kept_.end();) {
    auto& links = at->second.links;
    auto fresh = std::find_if(links.begin(), links.end(), [&](const auto& link) {
      return now - link->idle_since <= idle_;
    });
    links.erase(links.begin(), fresh);
    kept += links.size();
    at = links.empty() ? kept_.erase(at) : std::next(at);
  }
  return kept;
}

} // namespace assay::http
