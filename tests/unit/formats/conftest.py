import re

import pytest

from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve


@pytest.fixture
def scenario(tmp_path):
    def read(text, *overrides):
        file = tmp_path / "s.yaml"
        file.write_text(text)
        return read_scenario(file, overrides, check_policy=resolve)

    return read


@pytest.fixture
def problems(scenario):
    def read(text, *overrides):
        with pytest.raises(InputError) as error:
            scenario(text, *overrides)
        return [re.sub(r"^\S*/s\.yaml", "s.yaml", str(p)) for p in error.value.problems]

    return read
