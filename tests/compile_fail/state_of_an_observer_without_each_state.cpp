// expect: an observer that is not trivially copyable needs a member template
// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <zeropoint/observe/state_bytes.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct my_observer {
    std::vector<float>* values;
    my_observer(const my_observer&) {}
};
#else
struct my_observer {
    std::vector<float> values;
    template <class Visitor> void each_state(Visitor&& visit) { visit(values); }
};
#endif

std::vector<std::byte> sent(my_observer& observer) { return zp::state_bytes(observer); }
