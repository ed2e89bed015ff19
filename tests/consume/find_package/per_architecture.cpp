// SPDX-License-Identifier: BSD-3-Clause
// Compiled once an architecture.
#include <zeropoint/kernel/machine/machine.hpp>

#include "many_machines.hpp"

template <class Arch> int double_of::operator()(Arch, int x) const { return 2 * x; }
template int double_of::operator()(zp::default_architecture, int) const;
