"""Every error hmem raises on purpose.

    HMemError
    ├── ConfigError             a setting is unknown, or does not fit the others
    ├── DataError               input that cannot be read as a graph
    ├── DownloadError           a dataset that could not be fetched, or is not what it should be
    ├── UnknownNameError        an entity or relation that is not in the graph
    ├── EmptyNeighborhoodError  a question about an entity that has no facts
    ├── StiffnessError          a Harmony function without a maximum
    ├── NonFiniteError          NaN where a score or a loss should be
    ├── CheckpointError         a model folder that cannot be used
    └── StoreError              a knowledge base file that cannot be used

A message says what was received, what was expected and what to try. The command line prints it as one line on
standard error and leaves with `exit_code`; nothing else in the package prints or exits.
"""


class HMemError(Exception):
    exit_code = 1


class ConfigError(HMemError):
    exit_code = 2


class DataError(HMemError):
    pass


class DownloadError(HMemError):
    pass


class UnknownNameError(HMemError):
    pass


class EmptyNeighborhoodError(HMemError):
    pass


class StiffnessError(HMemError):
    pass


class NonFiniteError(HMemError):
    pass


class CheckpointError(HMemError):
    pass


class StoreError(HMemError):
    pass


class NumericalWarning(UserWarning):
    """Numerical trouble that is survivable; filter it with the standard `warnings` module."""
