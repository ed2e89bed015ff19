// MobileNetV2, ready to be timed.
#include "mobilenet_v2.hpp"

#include "timed_model_of.hpp"

static_assert(models::trained_parameters<models::mobilenet_v2> == 3'504'872,
              "not the structure of torchvision's mobilenet_v2");

std::unique_ptr<models::timed_model> models::make_mobilenet_v2() {
    return std::make_unique<timed_model_of<mobilenet_v2>>();
}
