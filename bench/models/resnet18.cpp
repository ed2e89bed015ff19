// ResNet-18, ready to be timed.
#include "resnet18.hpp"

#include "timed_model_of.hpp"

static_assert(models::trained_parameters<models::resnet18> == 11'689'512,
              "not the structure of torchvision's resnet18");

std::unique_ptr<models::timed_model> models::make_resnet18() { return std::make_unique<timed_model_of<resnet18>>(); }
