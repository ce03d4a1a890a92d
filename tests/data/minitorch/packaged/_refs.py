"""Python kernels of minitorch."""


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
