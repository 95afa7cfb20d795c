#pragma once
// What agent actors ask of the world, as interfaces: tests hand in fakes, main the real thing.
//
// No call here blocks. An answer comes later from another thread, and only to an actor that still
// lives.

#include "node-agent/families/news.hpp"
#include "node-agent/runtime/life.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/wire/fabric_messages.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace assay::agent {

using deed_answer = std::function<void(life::event)>;

/// One replica's deeds.
class replica_deeds {
public:
  virtual ~replica_deeds() = default;
  virtual void launch(deed_answer answer) = 0;
  virtual void look(bool serving, deed_answer answer) = 0;
  virtual void prove(deed_answer answer) = 0;
  virtual void stop() = 0;

  /// Its end was reported.
  virtual void forget() = 0;
  virtual fabric::replica_report describe() const = 0;
  /// That of the report, for who looks twice a second whether it changed.
  virtual std::string engine_version() const = 0;
  virtual const life::rules& rules() const = 0;
};

using order = std::variant<fabric::start_replica, fabric::adopt_replica>;
using artifact_answer = std::function<void(fabric::artifact_report)>;

/// The host, as UPLINK uses it.
class host_deeds {
public:
  virtual ~host_deeds() = default;

  /// A replica for the order, or why there can be none.
  virtual result<std::shared_ptr<replica_deeds>, problem>
  make_replica(const order& what, artifact_answer answer) = 0;

  virtual result<std::shared_ptr<replica_deeds>, problem>
  take_over(const std::string& directory, artifact_answer answer) = 0;

  /// What happened to devices before is no reason any more to keep them from work.
  virtual void forgive(wall_ms before) = 0;

  virtual void verify(const fabric::artifact_manifest& artifact, artifact_answer answer) = 0;

  /// False when no session took it.
  virtual bool send(const fabric::agent_message& message) = 0;
};

/// One device family.
class family_deeds {
public:
  virtual ~family_deeds() = default;
  virtual catalog::family family() const = 0;
  virtual void sample(std::function<void(family_news)> answer) = 0;
  virtual void discover(std::function<void(fabric::inventory)> answer) = 0;
};

} // namespace assay::agent
