#pragma once
// Up to three engines with the product's state machine, joined by lines. `group` founds the first
// one and lets the others join as the product does: added as a spare, then promoted.

#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"
#include "tests/unit/store/lines.hpp"
#include "tests/unit/store/notes.hpp"

#include <atomic>

namespace assay::store::test {

inline const ledger::author somebody{"root", ledger::authentication::socket};

/// What `change` or `transfer` answered.
template <class What>
result<void, problem> decide(ledger_engine& engine, What what) {
  auto promise = std::make_shared<std::promise<result<void, problem>>>();
  auto done = [promise](result<void, problem> r) { promise->set_value(std::move(r)); };
  if constexpr (std::is_integral_v<What>)
    engine.transfer(what, done);
  else
    engine.change(what, done);
  return promise->get_future().get();
}

class group {
public:
  explicit group(std::uint32_t trailing = 0) : trailing_{trailing} {
    for (std::uint64_t id = 1; id <= 3; ++id)
      members_.emplace(id, std::make_unique<member>());
    auto& first = *members_.at(1);
    REQUIRE(ledger_engine::bootstrap(first.directory, options(1)));
    start(1);
    put(ledger::make_record(
      ledger::cluster_created{*parse_uuid("01890a5d-ac96-774b-bcce-b302099a8057"), "lab"}, somebody
    ));
    ledger::membership names;
    for (const auto& [id, m] : members_)
      names.members.push_back({id, std::to_string(id), std::to_string(id), m->key(id), true});
    put(ledger::make_record(names, somebody));
  }
  ~group() {
    for (std::uint64_t id = 1; id <= 3; ++id)
      stop(id);
  }

  void grow_to(std::uint64_t count) {
    for (std::uint64_t id = 2; id <= count; ++id) {
      REQUIRE(ledger_engine::prepare_to_join(members_.at(id)->directory, options(id)));
      start(id);
      change_until(
        [&](std::uint64_t) {
          return consensus::add_spare{{id, std::to_string(id)}};
        },
        [&](const engine_status& now) { return now.members.size() == id; }
      );
      change_until(
        [&](std::uint64_t) { return consensus::promote{id}; },
        [&](const engine_status& now) {
          return consensus::voters_of(now.members) == id && now.is_membership_settled;
        }
      );
    }
  }

  void join_as_standby(std::uint64_t id) {
    REQUIRE(ledger_engine::prepare_to_join(members_.at(id)->directory, options(id)));
    start(id);
    change_until(
      [&](std::uint64_t) {
        return consensus::add_standby{{id, std::to_string(id)}};
      },
      [&](const engine_status& now) {
        return now.members.size() == id && now.is_membership_settled;
      }
    );
  }

  /// Asks whoever leads for the change until the group is as it should be: it may be too early.
  template <class Change, class Condition>
  void change_until(Change how, Condition is_so) {
    for (;;) {
      const auto leads = leader();
      auto& asked = engine(leads);
      const auto before = asked.status();
      if (before.is_leader && is_so(before))
        return;
      if (!decide(asked, consensus::membership_change{how(leads)}))
        continue;
      wait_until([&] {
        const auto now = asked.status();
        return !now.is_leader || is_so(now) || !now.promotion_problem.empty();
      });
    }
  }

  void start(std::uint64_t id) {
    auto& m = *members_.at(id);
    auto opened = ledger_engine::open(
      m.directory, std::make_unique<ledger_machine>(seed_of(id), std::to_string(id)), options(id)
    );
    if (!opened)
      FAIL(to_text(opened.error()));
    m.engine = *std::move(opened);
    heal(id);
  }
  void stop(std::uint64_t id) {
    cut(id);
    members_.at(id)->engine.reset();
  }
  void cut(std::uint64_t id) {
    lines_.cut(id);
    members_.at(id)->is_cut = true;
  }
  void heal(std::uint64_t id) {
    lines_.connect(id, engine(id));
    members_.at(id)->is_cut = false;
  }

  ledger_engine& engine(std::uint64_t id) { return *members_.at(id)->engine; }
  const data_directory& directory(std::uint64_t id) { return members_.at(id)->directory; }

  /// Its disk has no room for more of its state; 0: nobody's.
  void fill_disk_of(std::uint64_t id) { full_ = id; }

  template <class Condition>
  void wait_until(Condition is_so) {
    lines_.wait_until(is_so);
  }

  void inspect_pages(std::function<bool(state_page&)> by) { lines_.inspect_pages(std::move(by)); }

  /// Waits until what this member has applied is on its disk.
  void wait_for_disk(std::uint64_t id) {
    const auto applied = engine(id).status().applied_index;
    wait_until([&] { return engine(id).status().durable_index >= applied; });
  }

  /// Who leads, of those that can be reached; 0: nobody.
  std::uint64_t leader_now() {
    std::uint64_t out = 0, newest = 0;
    for (const auto& [id, m] : members_) {
      if (!m->engine || m->is_cut)
        continue;
      const auto now = m->engine->status();
      if (now.is_leader && now.term > newest) {
        newest = now.term;
        out = id;
      }
    }
    return out;
  }

  /// Waits until somebody does.
  std::uint64_t leader() {
    std::uint64_t out = 0;
    wait_until([&] { return (out = leader_now()) != 0; });
    return out;
  }

  /// Until somebody acknowledges it.
  receipt put(const ledger::record& what) {
    for (;;) {
      auto got = ask(engine(leader()), wire::encode_proposal(what)).get();
      if (got)
        return *got;
      if (got.error().kind != problem_kind::unavailable)
        FAIL(to_text(got.error()));
    }
  }

  static ledger::record identity(const std::string& host) {
    auto hash = to_text(sha256(host));
    return ledger::make_record(
      ledger::identity_added{host, ledger::identity_role::host, hash.substr(0, 40), {}, {}},
      somebody
    );
  }

  /// What the member shows once it has applied that record.
  std::shared_ptr<const ledger::tables> tables_at(std::uint64_t id, std::uint64_t seq) {
    wait_until([&] { return engine(id).current()->seq >= seq; });
    return tables_of(engine(id).current());
  }

private:
  struct member {
    scratch place;
    data_directory directory = open_directory(place.path());
    std::unique_ptr<ledger_engine> engine;
    bool is_cut = true;

    static std::string key(std::uint64_t id) {
      return ledger::to_text(ledger::signing_key{seed_of(id)}.public_part());
    }
  };

  static ledger::signing_key::seed seed_of(std::uint64_t id) {
    ledger::signing_key::seed out{};
    out.fill(static_cast<std::uint8_t>(id));
    return out;
  }

  engine_options options(std::uint64_t id) {
    engine_options out;
    out.server_id = id;
    out.address = std::to_string(id);
    out.map_bytes = 256 << 20;
    out.trailing = trailing_;
    out.peers = lines_.from(id);
    out.election_timeout = std::chrono::milliseconds{600};
    out.heartbeat = std::chrono::milliseconds{60};
    out.room = [this, id](commit_point where, std::uint64_t) {
      return where != commit_point::state || full_ != id;
    };
    out.on_view = [this](const view_ptr&) { lines_.something_happened(); };
    return out;
  }

  lines lines_;
  std::atomic<std::uint64_t> full_ = 0;
  const std::uint32_t trailing_;
  std::map<std::uint64_t, std::unique_ptr<member>> members_;
};

} // namespace assay::store::test
