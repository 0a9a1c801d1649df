"""`make golden`: write down what the code does now. The difference is to be read before it is committed."""

import torch

from tests.golden.measure import RUNS, golden_file, write_golden

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in RUNS:
        write_golden(name)
        print(golden_file(name))
