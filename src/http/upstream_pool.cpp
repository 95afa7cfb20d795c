#include "src/http/upstream_pool.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::http {

void upstream_link::on_news() {
  if (kept_by_)
    kept_by_->drop(*this);
}

std::unique_ptr<upstream_link>
upstream_pool::take(const pool::endpoint_counters& endpoint, steady_time now) {
  auto found = kept_.find(&endpoint);
  if (found == kept_.end() || found->second.links.empty())
    return nullptr;
  auto& links = found->second.links;
  if (now - links.back()->idle_since_ > idle_) {
    links.clear(); // The rest is older.
    return nullptr;
  }
  auto link = std::move(links.back());
  links.pop_back();
  link->kept_by_ = nullptr;
  link->reused = true;
  return link;
}

void upstream_pool::keep(
  const std::shared_ptr<pool::endpoint_counters>& endpoint,
  std::unique_ptr<upstream_link> link,
  steady_time now
) {
  auto& shelf = kept_[endpoint.get()];
  if (!shelf.endpoint)
    shelf.endpoint = endpoint;
  if (link->may_read() || shelf.links.size() >= limits::upstream_idle_per_endpoint)
    return;
  link->kept_by_ = this;
  link->endpoint_ = endpoint.get();
  link->idle_since_ = now;
  shelf.links.push_back(std::move(link));
}

void upstream_pool::drop(const upstream_link& link) {
  auto& links = kept_.at(link.endpoint_).links;
  std::erase_if(links, [&](const auto& kept) { return kept.get() == &link; });
}

std::size_t upstream_pool::sweep(steady_time now) {
  std::size_t kept = 0;
  for (auto at = kept_.begin(); at != kept_.end();) {
    auto& links = at->second.links;
    auto fresh = std::find_if(links.begin(), links.end(), [&](const auto& link) {
      return now - link->idle_since_ <= idle_;
    });
    links.erase(links.begin(), fresh);
    kept += links.size();
    at = links.empty() ? kept_.erase(at) : std::next(at);
  }
  return kept;
}

} // namespace assay::http
