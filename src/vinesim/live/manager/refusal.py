"""Why a call is not carried out."""


class Refusal(Exception):
    """A call cannot be served: the kind says whether to try again."""

    def __init__(self, kind: str, why: str):
        super().__init__(why)
        self.kind = kind
