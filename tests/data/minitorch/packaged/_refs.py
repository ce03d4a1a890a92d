"""Python kernels of minitorch."""

meta_lib = torch.library.Library("aten", "IMPL", "Meta")


def registers(op):
    def wrap(function):
        return function

    return wrap


@registers("blend")
@registers(
    "blend_again"
)
def blend_meta(self, other):
    return self


halve = lambda x: x
