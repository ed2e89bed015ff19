// SPDX-License-Identifier: BSD-3-Clause
// A call that is compiled once an architecture.
#pragma once

struct double_of {
    template <class Arch> int operator()(Arch, int x) const;
};
