#include "src/app/proposing.hpp"

#include "src/base/limits.hpp"
#include "src/wire/record_codec.hpp"

#include <future>

namespace assay::app {

namespace {

template <class T>
result<T, problem> wait_for(std::future<result<T, problem>> answer) {
  if (answer.wait_for(limits::proposal_patience) == std::future_status::ready)
    return answer.get();
  return unexpected{problem{
    problem_kind::unavailable,
    "the ledger did not answer in time",
    {},
    "try again with the same record id"}};
}

} // namespace

std::vector<result<store::receipt, problem>>
propose_all(store::ledger_engine& engine, const std::vector<ledger::record>& records) {
  std::vector<std::future<store::answer>> waiting;
  for (const auto& record : records) {
    auto promise = std::make_shared<std::promise<store::answer>>();
    waiting.push_back(promise->get_future());
    engine.propose({wire::encode_proposal(record)}, [promise](store::answer answer) {
      promise->set_value(std::move(answer));
    });
  }
  std::vector<result<store::receipt, problem>> answers;
  for (auto& one : waiting)
    answers.push_back(wait_for(std::move(one)));
  return answers;
}

result<store::receipt, problem>
propose_now(store::ledger_engine& engine, const ledger::record& what) {
  auto promise = std::make_shared<std::promise<store::answer>>();
  engine.propose({wire::encode_proposal(what)}, [promise](store::answer answer) {
    promise->set_value(std::move(answer));
  });
  return wait_for(promise->get_future());
}

result<read_tables, problem> read_now(store::ledger_engine& engine) {
  auto promise = std::make_shared<std::promise<result<store::view_ptr, problem>>>();
  engine.read_barrier([promise](result<store::view_ptr, problem> view) {
    promise->set_value(std::move(view));
  });
  auto view = wait_for(promise->get_future());
  if (!view)
    return unexpected{view.error()};
  return read_tables{tables_of(**view), (*view)->seq};
}

std::shared_ptr<const ledger::tables> tables_of(const store::view& view) {
  return std::static_pointer_cast<const ledger::tables>(view.tables);
}

} // namespace assay::app
