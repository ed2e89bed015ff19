// A call that is compiled once an architecture.
#pragma once

struct double_of {
    template <class Arch> int operator()(Arch, int x) const;
};
