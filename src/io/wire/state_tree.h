#pragma once

// ank_base.CompleteState <-> Tree: the state as people address it, whole or in parts. Objects in a tree (workloads,
// execution states, agent attributes) are written as they are, without becoming maps first.
//
// Presence: a map or object that stands in the tree is a set message, also when it is empty; what is not in the tree
// is unset. With Empties::kKeep the collections that people never see when they are empty (tags, dependencies, files,
// configs, access rules) are set as well.

#include "ank_base.pb.h"
#include "io/wire/kept.h"
#include "model/tree.h"

namespace tiphys::wire {

void to_wire(const Tree& complete_state, Empties empties, ank_base::CompleteState& wire);

// The state of an update. Collections that are unset or empty have no key; the tags of an agent have one when they
// are set, because an update that carries no tags leaves an agent's tags alone. Numbers of enumerations that nobody
// knows stand in the tree as numbers, a config item without a value as null: whoever reads the tree says so.
Tree update_from_wire(const ank_base::CompleteState& wire);

// The state of an answer, and whether it shows its empty collections. Workloads become trees when somebody looks into
// them: a state may hold very many, and most readers want a field or two of each. Until then the tree keeps the message.
struct Answer {
  Tree complete_state;
  Empties empties;
};
Answer answer_from_wire(const Kept<ank_base::CompleteState>& wire);

}  // namespace tiphys::wire
