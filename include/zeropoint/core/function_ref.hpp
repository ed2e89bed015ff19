// SPDX-License-Identifier: BSD-3-Clause
// A callable that is passed on without a template: one function serves all callers, where each would have an instance.
#pragma once

#include <memory>
#include <type_traits>

namespace zp::inline v0 {

template <class Signature> class function_ref;

/// Calls the object that it was made of, which must outlive it: for parameters of functions. C++26 has std::function_ref.
template <class Result, class... Arguments> class function_ref<Result(Arguments...)> {
public:
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref>)
    function_ref(Callable&& callable)  // NOLINT(bugprone-forwarding-reference-overload): as it says
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Arguments... arguments) -> Result {
              auto& called = *static_cast<std::remove_reference_t<Callable>*>(object);
              return static_cast<Result>(called(static_cast<Arguments>(arguments)...));
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, static_cast<Arguments>(arguments)...); }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace zp::inline v0
