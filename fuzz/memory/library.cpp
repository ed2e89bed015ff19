// SPDX-License-Identifier: BSD-3-Clause
// What targets take from libc++'s compiled part, compiled with MemorySanitizer: a string that code without it has written counts as
// uninitialized. A program's own definitions go before those of a shared library.
#include <array>
#include <charconv>
#include <string>

// Its members are declared extern in <string>, as is this sum.
template class std::basic_string<char>;
template std::string std::operator+
    <char, std::char_traits<char>, std::allocator<char>>(const char*, const std::string&);

namespace {
template <class Integer> std::string decimal(Integer value) {
    std::array<char, 24> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}
}  // namespace

_LIBCPP_BEGIN_NAMESPACE_STD
string to_string(int value) { return decimal(value); }
string to_string(unsigned value) { return decimal(value); }
string to_string(long value) { return decimal(value); }
string to_string(unsigned long value) { return decimal(value); }
string to_string(long long value) { return decimal(value); }
string to_string(unsigned long long value) { return decimal(value); }
_LIBCPP_END_NAMESPACE_STD
