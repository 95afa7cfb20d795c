// How long "who served" takes on a node whose ledger holds a million records.
//
//   bench_who_served FOLDER [RECORDS [QUESTIONS]]
//
// The folder gets a real data directory. Its governance is real: every record of moves,
// qualifications and hours of service goes through apply. Between them stand fillers, which are
// rows of a record about some other thing, written without apply, so that a million take seconds;
// their hashes chain nothing, and no question reads them but for their stamps.

#include "src/ledger/service.hpp"
#include "src/ledger/who_served.hpp"
#include "src/store/state_store.hpp"
#include "src/store/stored_chronicle.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <random>
#include <string>

namespace assay {

namespace {

using namespace ledger;

constexpr std::uint64_t map_bytes = 8ULL << 30;
constexpr std::uint64_t promotions = 500;
constexpr std::uint64_t denied_each = 10; ///< Moves that came to nothing, between two promotions.
constexpr std::int64_t step_ms = 400; ///< Between two records: a promotion each quarter of an hour.
constexpr std::uint64_t qualified_every = 5;
constexpr std::size_t rows_at_once = 100'000;
const model_id route{"m"};
const implementation_id implementations[] = {{"m/cpu/a"}, {"m/cpu/b"}};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_who_served: %s\n", why.c_str());
  std::exit(1);
}

class no_history : public history {
  std::optional<record_id_row> find(const uuid&) const override { return {}; }
};

/// Rows into the state environment, a great many at once.
class writer {
public:
  writer(store::state_store& to, store::state_store::mark at) : to_{to}, at_{std::move(at)} {}
  ~writer() { flush(); }

  void put(table t, const std::string& key, std::optional<std::string> value) {
    rows_.insert_or_assign(store::row_key(t, key), std::move(value));
    if (rows_.size() >= rows_at_once)
      flush();
  }
  void flush() {
    if (to_.write(rows_, at_.index, at_.term))
      give_up("the rows cannot be written; is the disk full?");
    rows_.clear();
  }

private:
  store::state_store& to_;
  store::state_store::mark at_;
  store::state_store::row_changes rows_;
};

/// The same bytes each time, but for two numbers.
class stamped_template {
public:
  stamped_template() {
    record_row row;
    row.stamp.seq = seq_mark;
    row.stamp.stamped_at = {stamp_mark};
    row.stamp.proposer = "local";
    row.stamp.record = sha256("filler");
    row.stamp.previous_chain = sha256("before");
    row.stamp.chain = sha256("behind");
    row.canonical = wire::encode(make_record(
      make_uuid7(1, {}), key_revoked{{"filler"}, std::string(200, 'x')}, {"bench"}, {"bench", {}}
    ));
    bytes_ = wire::encode_row(row);
    seq_at_ = place_of(seq_mark);
    stamp_at_ = place_of(static_cast<std::uint64_t>(stamp_mark));
  }

  std::string with(std::uint64_t seq, wall_ms at) const {
    auto bytes = bytes_;
    std::memcpy(bytes.data() + seq_at_, &seq, sizeof seq);
    std::memcpy(bytes.data() + stamp_at_, &at.value, sizeof at.value);
    return bytes;
  }

private:
  static constexpr std::uint64_t seq_mark = 0x1122334455667788;
  static constexpr std::int64_t stamp_mark = 0x1021324354657687;

  std::size_t place_of(std::uint64_t number) const {
    auto at = bytes_.find(std::string_view{reinterpret_cast<const char*>(&number), sizeof number});
    if (at == std::string::npos)
      give_up("the encoding of a row changed; the bench does not know it any more");
    return at;
  }

  std::string bytes_;
  std::size_t seq_at_ = 0, stamp_at_ = 0;
};

/// Grows a ledger on disk: real records by `say`, others by `fill`.
class generator {
public:
  generator(store::state_store& to, store::state_store::mark at, std::uint64_t records)
    : rows_{to, at}, target_{records}, applied_index_{at.index}, applied_term_{at.term} {}

  tables run(const public_key& key) {
    found(key);
    for (std::uint64_t i = 0; i < promotions; ++i) {
      fill((target_ * i) / promotions);
      if (i % qualified_every == 0)
        for (const auto& id : implementations)
          qualify(id);
      for (std::uint64_t n = 0; n < denied_each; ++n)
        deny(implementations[i % 2]);
      promote(implementations[i % 2]);
      count(implementations[i % 2]);
    }
    fill(target_);
    tables_.head.applied_index = applied_index_;
    tables_.head.applied_term = applied_term_;
    row head = tables_.head;
    rows_.put(table::head, key_of(head), wire::encode_row(head));
    rows_.flush();
    return tables_;
  }

private:
  void say(record r) {
    auto entry = wire::make_entry(r);
    batch b{1, now_, "local", {entry}, {}};
    auto outcome = apply(tables_, b, ++tables_.head.applied_index + 1, no_history{});
    if (auto* no = std::get_if<refusal>(&outcome.verdicts.front()))
      give_up("a record was refused: " + no->text);
    for (auto& change : outcome.rows)
      rows_.put(
        change.table,
        change.key,
        change.row ? std::optional{wire::encode_row(*change.row)} : std::nullopt
      );
    now_.value += step_ms;
  }
  void say(payload p) {
    std::array<std::uint8_t, 10> chance{};
    auto number = ++ids_;
    for (unsigned i = 0; i < 7; ++i)
      chance[3 + i] = static_cast<std::uint8_t>(number >> (8 * i));
    say(make_record(make_uuid7(1, chance), std::move(p), {"bench"}, {"bench", {}}, trust::measured)
    );
  }

  void fill(std::uint64_t to) {
    for (auto& seq = tables_.head.seq; seq < to;) {
      ++seq;
      now_.value += step_ms;
      tables_.head.stamped_at = now_;
      rows_.put(table::records, record_key(seq), filler_.with(seq, now_));
      subject_row about{sha256("filler " + std::to_string(seq % 1'000)), seq, "filler"};
      rows_.put(table::subjects, key_of(about), filler_subject_);
    }
  }

  void found(const public_key& key) {
    say(cluster_created{make_uuid7(1, {}), "bench"});
    say(membership{{{1, "local", "local", to_text(key), true}}});
    say(declared{catalog::pool{.name = {"cpu"}}});
    say(declared{catalog::profile_document{{"p"}, "text", sha256("text")}});
    say(declared{catalog::suite_document{{"s"}, "items", sha256("items")}});
    say(declared{catalog::policy{
      .name = {"lenient"}, .suite = {"s"}, .score_at_least_ppm = 400'000, .items_at_least = 20}});
    say(declared{catalog::model{.id = route, .name = "m", .evaluation_policy = {"lenient"}}});
    catalog::artifact artifact{
      .id = {"m/a"},
      .model = route,
      .files = {{"model.gguf", 10, sha256("bytes")}},
      .profile = profile_id{"p"}};
    say(declared{artifact});
    for (const auto& id : implementations)
      say(declared{
        catalog::implementation{.id = id, .model = route, .pool = {"cpu"}, .artifact = {"m/a"}}});
    auto manifest = manifest_digest(artifact);
    say(artifact_changed{{"m/a"}, manifest, artifact_state::present, {"h"}, ""});
    say(artifact_changed{{"m/a"}, manifest, artifact_state::verified, {"h"}, ""});
    say(stack_seen{{"h"}, {"cpu"}, sha256("stack"), {{"kernel", "6.1"}}});
  }

  void qualify(const implementation_id& id) {
    qualification_id q{"q" + std::to_string(++names_)};
    say(qualification_opened{q, id, {"lenient"}});
    say(qualification_changed{q, qualification::event::start, {}, ""});
    const auto& row = tables_.qualifications->at(q);
    eval_run run;
    run.id = "run of " + q.value;
    run.qualification = q;
    run.implementation = id;
    run.suite = row.suite;
    run.manifest = row.manifest;
    run.profile = row.profile;
    run.fingerprint = sha256("stack");
    run.items = 20;
    run.passed = 13;
    run.failed = 7;
    run.distinct_answers = 12;
    run.score_ppm = 650'000;
    run.score_lower_ppm = 441'000;
    run.confidence_ppm = 950'000;
    say(run);
    qualification_decided verdict{
      .id = q, .verdict = qualification::event::pass, .runs = {run.id}, .predicates = {}};
    verdict.predicates = {{"score", 441'000, 400'000, "ppm", predicate_outcome::pass}};
    say(verdict);
    auto& old = current_[id];
    if (!old.value.empty())
      say(qualification_changed{old, qualification::event::supersede, q, ""});
    old = q;
  }

  move_proposed plan(const implementation_id& to) {
    std::vector shares{moves::share{to, moves::standing::production, 10'000, 10'000}};
    auto* row = find(tables_.routes, route);
    move_proposed p;
    p.id = {"m" + std::to_string(++names_)};
    p.model = route;
    p.expected_generation = row ? row->route.generation : 0;
    p.before = row ? row->route.carried : moves::vectors{};
    p.after = {shares, shares};
    p.steps = {{p.after, 0}};
    p.inverse.target = p.before;
    return p;
  }

  void deny(const implementation_id& to) {
    auto p = plan(to);
    say(p);
    say(move_changed{p.id, moves::event::deny, observation::none, "no"});
  }

  void promote(const implementation_id& to) {
    auto p = plan(to);
    auto generation = p.expected_generation + 1;
    say(p);
    say(move_authorised{p.id, {current_.at(to)}, {}});
    say(move_acked{p.id, moves::event::stage, {}});
    say(move_route_changed{p.id, moves::event::step, 0, generation, p.after, observation::none, ""}
    );
    say(move_acked{p.id, moves::event::acked, {{"gate", generation}}});
    say(move_changed{p.id, moves::event::bake_over, observation::none, ""});
    say(move_changed{p.id, moves::event::confirm, observation::none, ""});
  }

  void count(const implementation_id& to) {
    say(record_of({
      .ingress = "gate",
      .boot = ++names_,
      .hour = hour_of(now_),
      .route = route,
      .implementation = to,
      .interactive = 5,
      .served = 5,
      .decisions = sha256("ring"),
    }));
  }

  tables tables_;
  writer rows_;
  std::uint64_t target_, applied_index_, applied_term_;
  std::uint64_t ids_ = 0, names_ = 0;
  wall_ms now_{1'700'000'000'000};
  std::map<implementation_id, qualification_id> current_;
  stamped_template filler_;
  std::string filler_subject_ = wire::encode_row(subject_row{sha256("filler"), 1, "filler"});
};

double ms_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
    .count();
}

/// Of this thread: what a question costs where others are at work, too.
double cpu_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

void print(const char* what, std::vector<double> ms, double aim) {
  std::ranges::sort(ms);
  auto at = [&](double share) {
    return ms[static_cast<std::size_t>(share * double(ms.size() - 1))];
  };
  std::printf(
    "%-34s p50 %.3f ms, p99 %.3f ms, worst %.3f ms\n", what, at(0.5), at(0.99), ms.back()
  );
  if (aim > 0)
    std::printf(
      "aim who_served_ms %.3f ms <= %.0f %s\n", at(0.99), aim, at(0.99) <= aim ? "met" : "short"
    );
}

double resident_mb(const char* field) {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field))
      return std::atof(line.c_str() + std::strlen(field) + 1) / 1024;
  return 0;
}

std::shared_ptr<const tables> read_now(store::ledger_engine& engine) {
  std::promise<result<store::view_ptr, problem>> seen;
  engine.read_barrier([&](result<store::view_ptr, problem> view) {
    seen.set_value(std::move(view));
  });
  auto view = seen.get_future().get();
  if (!view)
    give_up(to_text(view.error()));
  return store::tables_of(*view);
}

/// Questions about instants drawn over the whole ledger.
void ask(store::ledger_engine& engine, std::size_t questions) {
  std::mt19937_64 chance{42};
  auto head = read_now(engine)->head;
  store::stored_chronicle whole{engine, read_now(engine)};
  auto first = whole.stamped_at(1).value();
  std::vector<double> asked, on_cpu, with_barrier, newest, newest_on_cpu;
  std::size_t answered = 0;
  for (std::size_t i = 0; i < questions; ++i) {
    auto span = static_cast<std::uint64_t>(head.stamped_at.value - first.value);
    wall_ms at{first.value + static_cast<std::int64_t>(chance() % span)};
    auto begun = std::chrono::steady_clock::now();
    auto tables = read_now(engine);
    auto from_here = std::chrono::steady_clock::now();
    auto cpu_from_here = cpu_ms();
    store::stored_chronicle c{engine, tables};
    auto found = who_served(c, route, at);
    auto lines = found ? lines_of(*found).size() : 0;
    asked.push_back(ms_since(from_here));
    on_cpu.push_back(cpu_ms() - cpu_from_here);
    with_barrier.push_back(ms_since(begun));
    answered += lines > 0;
    from_here = std::chrono::steady_clock::now();
    cpu_from_here = cpu_ms();
    if (!who_served(c, route, head.stamped_at))
      give_up("the newest instant has no answer");
    newest.push_back(ms_since(from_here));
    newest_on_cpu.push_back(cpu_ms() - cpu_from_here);
  }
  std::printf("%zu of %zu instants had an answer\n", answered, questions);
  print("any instant, from disk and tables", asked, 5);
  print("the same, on the CPU", on_cpu, 0);
  print("the same with a linearizable read", with_barrier, 0);
  print("the newest instant", newest, 0);
  print("the same, on the CPU", newest_on_cpu, 0);
}

int run(const std::string& folder, std::uint64_t records, std::size_t questions) {
  auto directory = store::data_directory::open(folder);
  if (!directory)
    give_up(to_text(directory.error()));
  signing_key::seed seed{3};
  store::engine_options options;
  options.map_bytes = map_bytes;
  auto begun = std::chrono::steady_clock::now();
  if (!store::ledger_engine::is_bootstrapped(*directory)) {
    if (auto done = store::ledger_engine::bootstrap(*directory, options); !done)
      give_up(to_text(done.error()));
    auto state = store::state_store::open(directory->ledger(), map_bytes);
    if (!state)
      give_up(to_text(state.error()));
    auto mark = (*state)->load_mark();
    if (!mark)
      give_up(to_text(mark.error()));
    generator{**state, *mark, records}.run(signing_key{seed}.public_part());
    std::printf("made in %.1f s\n", ms_since(begun) / 1000);
  }
  begun = std::chrono::steady_clock::now();
  auto engine = store::ledger_engine::open(
    *directory, std::make_unique<store::ledger_machine>(seed, "local"), options
  );
  if (!engine)
    give_up(to_text(engine.error()));
  auto head = read_now(**engine)->head;
  std::printf(
    "%llu records, ready in %.2f s\n",
    static_cast<unsigned long long>(head.seq),
    ms_since(begun) / 1000
  );
  ask(**engine, questions);
  std::printf(
    "RssAnon %.0f MB, RssFile %.0f MB\n", resident_mb("RssAnon:"), resident_mb("RssFile:")
  );
  return 0;
}

} // namespace

} // namespace assay

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_who_served FOLDER [RECORDS [QUESTIONS]]\n");
    return 2;
  }
  auto records = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  auto questions = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 2'000;
  return assay::run(argv[1], records, questions);
}
