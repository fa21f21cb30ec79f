"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A test asserts behaviour, never seconds: a busy machine must not fail it.
settings.register_profile("augury", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("augury")
