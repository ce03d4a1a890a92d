"""Functions with planted graph breaks. A comment names what is at its line; each function is compiled and called."""

import torch
from torch import nn


@torch.compile(backend="eager")
def whole(x):
    return torch.relu(x) + 1


@torch.compile(backend="eager")
def prints(x):
    y = x * 2
    print("in between")  # break prints
    return y + 1


@torch.compile(backend="eager")
def branches(x):
    y = x.sin()
    if y.sum() > 0:  # break branches
        return y + 1
    return y - 1


@torch.compile(backend="eager")
def reads_item(x):
    n = x.sum().item()  # break reads_item
    return x * n


def helper(x):
    torch._dynamo.graph_break()  # break helper
    return x + 3


@torch.compile(backend="eager")
def calls_helper(x):
    y = x * 2
    y = helper(y)
    return y.cos()


@torch.compile(backend="eager")
def many(x):
    x = x + 1
    print("one")  # break many 1
    x = x + 2
    print("two")  # break many 2
    x = x + 3
    print("three")  # break many 3
    return x + 4


@torch.compile(backend="eager")
def opens(x):
    y = x + 1
    with open("/dev/null") as file:  # break opens
        file.read()
    return y * 2


@torch.compiler.disable
def left_alone(x):
    return x.tan()


@torch.compile(backend="eager")
def calls_disabled(x):
    y = x + 1
    y = left_alone(y)  # break calls_disabled
    return y * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        print("in forward")  # break Net.forward
        return y.relu()


@torch.compile(backend="eager")
def loops(x):
    for number in range(3):
        x = x + number
        print("in a loop")  # skip loops
    return x


def main():
    x = torch.ones(3, 3)
    for function in (whole, prints, branches, reads_item, calls_helper, many, opens, calls_disabled, loops):
        function(x)
    net = torch.compile(Net(), backend="eager")
    net(x)
    net(x)
    prints(x)


main()
