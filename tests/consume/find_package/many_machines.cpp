// SPDX-License-Identifier: BSD-3-Clause
// A program for many machines, as a consumer of the installed package writes it.
#include "many_machines.hpp"

#include <zeropoint/kernel/machine/machine.hpp>

int main() { return zp::dispatched<double_of>()(21) == 42 ? 0 : 1; }
