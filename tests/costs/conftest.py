"""The devices and models that the cost tests price."""

import pytest

from specsim.inputs.checkpoints.model import ModelConfig
from specsim.inputs.models.hardware import Device
from specsim.inputs.read.scenario import read_device, read_model


@pytest.fixture(scope="session")
def h100() -> Device:
    return read_device("h100-sxm")


@pytest.fixture(scope="session")
def a100() -> Device:
    return read_device("a100-sxm-80gb")


@pytest.fixture(scope="session")
def llama_8b() -> ModelConfig:
    return read_model("llama-3.1-8b")


@pytest.fixture(scope="session")
def llama_70b() -> ModelConfig:
    return read_model("llama-3.1-70b")
