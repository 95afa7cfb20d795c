#pragma once
// A whole cluster from one seed: coordinators, the network between them, clients that ask and ask
// again, somebody who changes the membership, and everything that goes wrong. First chaos, then
// calm: once the faults stop all must agree within a bound, and every promise is checked.

#include "tests/simulation/coordinator.hpp"
#include "tests/simulation/network.hpp"

namespace assay::simulation {

struct verdict {
  std::uint64_t seed = 0;
  std::string failure;     ///< Empty: everything held.
  std::uint64_t trace = 0; ///< Equal for equal seeds and profiles.
  std::uint64_t acknowledged = 0;
  std::uint64_t reads = 0;
  std::uint64_t terms = 0;
  std::uint64_t entries = 0;
  std::uint64_t crashes = 0;
  std::uint64_t fetches = 0;
  std::uint64_t changes = 0; ///< Of the membership, carried out.
  std::uint64_t virtual_ms = 0;
  interruptions suffered;
  std::uint64_t longest_calm_ms = 0; ///< Until all agreed after the last fault.
};

class cluster {
public:
  cluster(std::uint64_t seed, const profile& how);
  verdict run();

private:
  struct client {
    std::uint64_t question = 0; ///< 0: idle.
    std::string proposal;
    bool is_read = false;
    std::uint64_t must_see = 0;
    std::uint64_t attempt = 0;
    std::uint64_t target = 1;
  };
  struct wish {
    consensus::membership_change how;
  };

  void storm();
  void calm();

  // -- the machines
  void found(unsigned members);
  coordinator& add_machine(std::uint64_t id);
  void restart_later(std::uint64_t id, std::uint64_t ms);
  coordinator* leader();
  coordinator& somebody();

  // -- those who ask
  void founder_asks();
  void client_thinks(std::size_t which);
  void ask(std::size_t which);
  void again(std::size_t which, std::uint64_t attempt);
  void answered(std::size_t which, std::uint64_t attempt, const reply& said);
  void was_read(std::size_t which, std::uint64_t attempt, std::optional<std::uint64_t> saw);
  std::string next_proposal();
  void check_belief(std::uint64_t id, std::uint64_t of, std::uint64_t up_to);

  // -- those who change the group
  void administrator_looks();
  bool is_done(const wish& what, const coordinator& leads) const;
  void carried_out();
  void wish_something();

  // -- what goes wrong
  void next_fault();
  void crash_one();
  void crash_all();
  void cut();
  void hurt_a_disk();
  void pause_one();
  void hand_over();
  void deafen_later();
  void swap_later();
  void begins(std::uint64_t id, stage what);
  coordinator* another(const coordinator& than);
  void hand_over_behind();
  void forge(consensus::message& what);
  void calm_down();

  // -- the end
  bool has_converged();
  void judge_the_end();
  std::string standing() const;

  const std::uint64_t seed_;
  const profile how_;
  timeline time_;
  chance luck_;
  oracle judge_;
  network network_;
  surroundings in_;
  std::map<std::uint64_t, std::unique_ptr<disk>> disks_;
  std::map<std::uint64_t, std::unique_ptr<coordinator>> machines_;
  std::set<std::uint64_t> removed_;
  std::vector<client> clients_;
  std::uint64_t questions_ = 0;
  std::uint64_t attempts_ = 0;
  std::optional<wish> wish_;
  std::uint64_t next_id_ = 1;
  bool is_founded_ = false;
  bool is_calm_ = false;
  unsigned round_ = 1;
  verdict out_;
};

} // namespace assay::simulation
