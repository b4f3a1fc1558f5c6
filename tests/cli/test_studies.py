"""Study files on the command line: their schema and their check."""

import json
from pathlib import Path

from vinesim.formats.study.file import study_schema

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_validate_tells_studies_from_scenarios(vinesim):
    done = vinesim("validate", EXAMPLES / "study.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("study.yaml is valid: policy (2) x arrivals (3); 6 points of 5 replications: 30 runs\n")
    assert "content id" in vinesim("validate", EXAMPLES / "quickstart.yaml").out


def test_validate_names_the_points_that_are_wrong(vinesim, tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(f"scenario: {EXAMPLES / 'quickstart.yaml'}\naxes: {{policy: [high, hihg]}}\n")
    done = vinesim("validate", file)
    assert done.code == 2
    assert "\n  policy=hihg: policy: expected one of flat, high" in done.err
    file.write_text(
        f"scenario: {EXAMPLES / 'quickstart.yaml'}\nuntil: {{ci_width: 0.1, of: makespan_us, at_most: 7}}\n"
    )
    assert vinesim("validate", file).out.endswith("no axes; 1 points of 1 to 7 replications: 1 runs or more\n")


def test_the_schema_of_studies(vinesim):
    assert json.loads(vinesim("schema", "--study").out) == json.loads(json.dumps(study_schema()))
    assert json.loads(vinesim("schema").out)["title"] == "VineSim scenario"
